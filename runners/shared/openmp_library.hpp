#pragma once
// The OpenMP library that this process runs on. GCC builds a program against libgomp; with LLVM's libomp
// preloaded, which has GCC's entry points, the same binary runs on that one.
//
// Both libraries read their settings once, when they are loaded, so a program restarts itself with the
// settings that suit the library it finds, and without whatever was set outside. That also avoids a trap:
// with OMP_PROC_BIND set, libgomp's start-up code pins the main thread even when libomp is preloaded, libomp
// then sees one CPU and runs one thread. So libomp is never given OMP_PROC_BIND or OMP_PLACES, but
// KMP_AFFINITY, which libgomp does not read.

#include <dlfcn.h>
#include <omp.h>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include "runners/shared/cpus.hpp"
#include "runners/shared/environment.hpp"
#include "runners/shared/options.hpp"

namespace tauto::runner {

inline bool is_libomp() {
    return dlsym(RTLD_DEFAULT, "kmp_get_blocktime") != nullptr;
}

/// Neither library tells its version; the file's name does, and for LLVM the folder that Debian installs it
/// in.
inline std::string openmp_version() {
    Dl_info information{};
    std::filesystem::path file;
    if (dladdr(reinterpret_cast<void*>(&omp_get_num_threads), &information) != 0 &&
        information.dli_fname != nullptr) {
        std::error_code ignored;
        file = std::filesystem::canonical(information.dli_fname, ignored);
    }
    for (const auto& part : file)
        if (part.string().starts_with("llvm-")) return "LLVM " + part.string().substr(5);
    return file.filename().string();
}

/// Without its schedules.
inline description openmp_description() {
    description openmp;
    openmp.runtime = "openmp";
    openmp.library = is_libomp() ? "libomp" : "libgomp";
    openmp.library_version = openmp_version();
    openmp.wait_policies = {"default", "active", "passive"};
    return openmp;
}

/// One thread pinned to each of `cpus`, waiting as asked, and nothing of what was set outside.
inline environment_changes openmp_environment(std::span<const int> cpus, const std::string& wait) {
    environment_changes changes;
    for (const char* name : {"OMP_PLACES",        "OMP_PROC_BIND",         "OMP_NUM_THREADS",
                             "OMP_THREAD_LIMIT",  "OMP_DYNAMIC",           "OMP_SCHEDULE",
                             "OMP_WAIT_POLICY",   "OMP_MAX_ACTIVE_LEVELS", "OMP_NESTED",
                             "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT",        "KMP_AFFINITY",
                             "KMP_HW_SUBSET",     "KMP_PLACE_THREADS",     "KMP_BLOCKTIME",
                             "KMP_LIBRARY",       "KMP_ALL_THREADS",       "KMP_DEVICE_THREAD_LIMIT",
                             "KMP_SCHEDULE",      "KMP_DYNAMIC_MODE"})
        changes.emplace_back(name, std::nullopt);
    if (is_libomp()) {
        changes.emplace_back("KMP_AFFINITY", "granularity=fine,explicit,proclist=[" + cpus_text(cpus) + "]");
        if (wait == "active") changes.emplace_back("KMP_BLOCKTIME", "infinite");
        if (wait == "passive") changes.emplace_back("KMP_BLOCKTIME", "0");
    } else {
        changes.emplace_back("OMP_PLACES", "{" + cpus_text(cpus, "},{") + "}");
        changes.emplace_back("OMP_PROC_BIND", "true");
    }
    if (wait != "default") changes.emplace_back("OMP_WAIT_POLICY", wait);
    return changes;
}

inline void use_openmp_threads(int threads) {
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
}

/// What the adapters on OpenMP have in common.
class openmp_team {
  public:
    static environment_changes environment(const options& asked) {
        return openmp_environment(asked.cpus, asked.wait);
    }

    explicit openmp_team(const options& asked) { use_openmp_threads(asked.threads); }

    std::string diagnosis() const {
        return openmp_description().library + " sees " + std::to_string(omp_get_num_procs()) +
               " CPUs (omp_get_num_procs) and was told to use " + std::to_string(omp_get_max_threads()) +
               " threads (omp_get_max_threads); look for OMP_, GOMP_ and KMP_ variables set outside";
    }
};

}  // namespace tauto::runner
