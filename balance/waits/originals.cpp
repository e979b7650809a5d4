#include "balance/waits/originals.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

extern "C" {
[[gnu::visibility("hidden")]] extern tauto::balance::original_function __start_tauto_originals[];
[[gnu::visibility("hidden")]] extern tauto::balance::original_function __stop_tauto_originals[];
}

namespace tauto::balance {

namespace {

constexpr std::size_t most_functions = 256;

bool look_up(original_function& one) noexcept {
    void* found = one.version != nullptr ? dlvsym(RTLD_NEXT, one.name, one.version) : nullptr;
    if (found == nullptr) found = dlsym(RTLD_NEXT, one.name);
    one.found.store(found, std::memory_order_relaxed);
    return found != nullptr;
}

// Of a runtime one function that all its versions have: a name that is not found costs a microsecond.
const char* one_of_its_runtime(const char* name) noexcept {
    switch (name[0]) {
        case 'G':
            return "GOMP_parallel";
        case '_':
        case 'k':
            return "__kmpc_fork_call";
        case 'o':
            return "omp_get_thread_num";
        case 'M':
            return "MPI_Barrier";
        default:
            return "mpi_barrier_";
    }
}

class runtimes {
  public:
    bool has(const char* name) noexcept {
        signed char& known = known_[static_cast<unsigned char>(name[0])];
        if (known == 0) known = dlsym(RTLD_NEXT, one_of_its_runtime(name)) != nullptr ? 1 : -1;
        return known > 0;
    }

  private:
    signed char known_[256] = {};
};

// This library's own table of names; null where the linker keeps it otherwise than glibc's does.
ElfW(Sym) * own_names() noexcept {
    for (const ElfW(Dyn)* entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry)
        if (entry->d_tag == DT_SYMTAB) return reinterpret_cast<ElfW(Sym)*>(entry->d_un.d_ptr);
    return nullptr;
}

// The entries of the functions that are missing; false where one cannot be found.
bool find_names(original_function* const* missing, std::size_t count, ElfW(Sym) * *entries) noexcept {
    constexpr std::size_t most_names = 1024;
    Dl_info own{};
    ElfW(Sym)* names = own_names();
    if (dladdr(missing[0]->in_front, &own) == 0 || reinterpret_cast<void*>(names) < own.dli_fbase)
        return false;
    const auto base = reinterpret_cast<std::uintptr_t>(own.dli_fbase);
    std::size_t found = 0;
    for (std::size_t at = 1; found < count && at < most_names; ++at)  // the first is none
        for (std::size_t k = 0; k < count; ++k)
            if (names[at].st_value + base == reinterpret_cast<std::uintptr_t>(missing[k]->in_front))
                entries[found++] = &names[at];
    return found == count;
}

// The linker passes over a name that is undefined here.
void hide(original_function* const* missing, std::size_t count) noexcept {
    ElfW(Sym) * entries[most_functions];
    if (count == 0 || !find_names(missing, count, entries)) return;
    const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    // In the order of the table.
    auto* first = reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(entries[0]) / size * size);
    const auto length = static_cast<std::size_t>(reinterpret_cast<char*>(entries[count - 1] + 1) - first);
    if (mprotect(first, length, PROT_READ | PROT_WRITE) != 0) return;
    for (std::size_t k = 0; k < count; ++k) {
        entries[k]->st_shndx = SHN_UNDEF;
        entries[k]->st_value = 0;
    }
    mprotect(first, length, PROT_READ);
}

}  // namespace

void* find(original_function& one) noexcept {
    if (look_up(one)) return one.found.load(std::memory_order_relaxed);
    const char* const words[] = {"libtauto-waits.so: symbol lookup error: undefined symbol: ", one.name,
                                 "\n"};
    for (const char* word : words) static_cast<void>(!write(STDERR_FILENO, word, std::strlen(word)));
    _exit(127);
}

void find_originals() noexcept {
    static original_function* missing[most_functions];
    std::size_t count = 0;
    runtimes loaded;
    for (auto* one = __start_tauto_originals; one != __stop_tauto_originals; ++one) {
        const bool is_there = (one->in_front == nullptr || loaded.has(one->name)) && look_up(*one);
        if (!is_there && one->in_front != nullptr && count < most_functions) missing[count++] = one;
    }
    hide(missing, count);
    expect_late_runtime(missing, count);
}

}  // namespace tauto::balance
