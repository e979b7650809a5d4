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

bool look_up(original_function& one) noexcept {
    void* found = one.version != nullptr ? dlvsym(RTLD_NEXT, one.name, one.version) : nullptr;
    if (found == nullptr) found = dlsym(RTLD_NEXT, one.name);
    one.found.store(found, std::memory_order_relaxed);
    return found != nullptr;
}

// The entry of this library's own function in its table of names.
ElfW(Sym) * own_symbol(const original_function& one) noexcept {
    Dl_info where{};
    void* symbol = nullptr;
    if (dladdr1(one.in_front, &where, &symbol, RTLD_DL_SYMENT) == 0 || where.dli_sname == nullptr ||
        std::strcmp(where.dli_sname, one.name) != 0)
        return nullptr;
    return static_cast<ElfW(Sym)*>(symbol);
}

// The linker passes over a name that is undefined here.
void hide(original_function* const* names, std::size_t count) noexcept {
    const auto size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    std::uintptr_t first = UINTPTR_MAX;
    std::uintptr_t end = 0;
    for (std::size_t k = 0; k < count; ++k) {
        const auto at = reinterpret_cast<std::uintptr_t>(own_symbol(*names[k]));
        if (at == 0) continue;
        if (at < first) first = at;
        if (at + sizeof(ElfW(Sym)) > end) end = at + sizeof(ElfW(Sym));
    }
    if (end == 0) return;
    first -= first % size;
    auto* pages = reinterpret_cast<void*>(first);
    if (mprotect(pages, end - first, PROT_READ | PROT_WRITE) != 0) return;
    for (std::size_t k = 0; k < count; ++k)
        if (ElfW(Sym)* symbol = own_symbol(*names[k]); symbol != nullptr) {
            symbol->st_shndx = SHN_UNDEF;
            symbol->st_value = 0;
        }
    mprotect(pages, end - first, PROT_READ);
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
    constexpr std::size_t most = 256;
    original_function* missing[most];
    std::size_t count = 0;
    for (auto* one = __start_tauto_originals; one != __stop_tauto_originals; ++one)
        if (!look_up(*one) && one->in_front != nullptr && count < most) missing[count++] = one;
    hide(missing, count);
}

}  // namespace tauto::balance
