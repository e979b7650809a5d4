#include "balance/waits/part_safety.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "balance/waits/loaded_object.hpp"

namespace tauto::balance {

namespace {

// Of the compiler and of this project, wherever they are.
constexpr std::string_view known_libraries[] = {"ld-linux",       "libatomic.so",      "libgcc_s.so",
                                                "libgfortran.so", "libgomp.so",        "libquadmath.so",
                                                "libstdc++.so",   "libtauto-waits.so", "linux-vdso"};

constexpr std::string_view tell_threads_apart[] = {"__emutls_get_address",
                                                   "__tls_get_addr",
                                                   "_tls_get_addr",
                                                   "gettid",
                                                   "pthread_getspecific",
                                                   "pthread_key_create",
                                                   "pthread_self",
                                                   "pthread_setaffinity_np",
                                                   "pthread_setspecific",
                                                   "sched_setaffinity",
                                                   "syscall",
                                                   "thrd_current",
                                                   "tss_create",
                                                   "tss_get"};

constexpr std::string_view answered_for_a_part[] = {
    "omp_destroy_lock",         "omp_get_dynamic",    "omp_get_max_threads", "omp_get_num_procs",
    "omp_get_num_threads",      "omp_get_thread_num", "omp_get_wtick",       "omp_get_wtime",
    "omp_in_parallel",          "omp_init_lock",      "omp_set_dynamic",     "omp_set_lock",
    "omp_set_num_threads",      "omp_test_lock",      "omp_unset_lock",      "omp_set_nested",
    "omp_set_max_active_levels"};

constexpr std::string_view variables[] = {"GOMP_STACKSIZE",        "OMP_CANCELLATION", "OMP_DYNAMIC",
                                          "OMP_MAX_ACTIVE_LEVELS", "OMP_NESTED",       "OMP_SCHEDULE",
                                          "OMP_STACKSIZE",         "OMP_THREAD_LIMIT"};

bool is_one_of(std::string_view name, std::span<const std::string_view> of) {
    return std::ranges::find(of, name) != of.end();
}

bool is_answered(std::string_view name) {
    if (name.starts_with("omp_")) {
        if (name.ends_with('_')) name.remove_suffix(1);  // Fortran's
        return is_one_of(name, answered_for_a_part);
    }
    if (!name.starts_with("GOMP_")) return true;
    name.remove_prefix(5);
    const auto has = [&](std::string_view word) { return name.find(word) != name.npos; };
    if (has("ordered") || has("doacross") || has("cancel")) return false;
    if (name.starts_with("loop_static") || name.starts_with("loop_ull_static")) return false;
    if (name.starts_with("loop_"))
        return name.ends_with("_next") || name.ends_with("_end") || name.ends_with("_end_nowait") ||
               (name.ends_with("_start") && name != "loop_start" && name != "loop_ull_start");
    return name == "parallel" || name.starts_with("parallel_loop_") || name == "parallel_sections" ||
           name.starts_with("sections_") || name == "barrier" || name == "single_start" ||
           name.starts_with("critical_") || name.starts_with("atomic_");
}

bool has_regions(const loaded_object& one) {
    return one.needs_any([](std::string_view needed, unsigned) {
        return needed.starts_with("GOMP_") || needed.starts_with("omp_");
    });
}

// What a library keeps for each thread that calls it is none of the program's business, unless it has regions
// of its own: a thread may call it any number of times.
bool is_library_for_all(const loaded_object& one) {
    const std::string_view name = one.name();
    return std::ranges::any_of(known_libraries,
                               [&](std::string_view known) { return name.starts_with(known); }) ||
           (one.is_of_system() && !has_regions(one));
}

bool is_safe(const loaded_object& one) {
    return is_library_for_all(one) ||
           (!one.has_thread_memory() && !one.needs_any([](std::string_view needed, unsigned kind) {
               return kind == STT_TLS || is_one_of(needed, tell_threads_apart) || !is_answered(needed);
           }));
}

struct changes {
    std::uint64_t loaded = 0;
    std::uint64_t unloaded = 0;
    bool operator==(const changes&) const = default;
};

changes now() {
    changes found;
    dl_iterate_phdr(
        [](dl_phdr_info* one, std::size_t, void* data) {
            *static_cast<changes*>(data) = {one->dlpi_adds, one->dlpi_subs};
            return 1;
        },
        &found);
    return found;
}

bool environment_allows() {
    return std::ranges::none_of(variables, [](std::string_view name) {
        const char* const value = std::getenv(name.data());
        return value != nullptr && *value != '\0' && std::string_view(value) != "false";
    });
}

changes seen;
bool safe = false;

}  // namespace

bool parts_can_share_a_thread() noexcept {
    if (const changes latest = now(); latest != seen) {
        seen = latest;
        safe = environment_allows();
        for_each_loaded([](const loaded_object& one, std::uint64_t) { safe = safe && is_safe(one); });
    }
    return safe;
}

}  // namespace tauto::balance
