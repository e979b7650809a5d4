#pragma once
// What the linker has loaded: the program and its libraries, with the tables that they were linked by.

#include <elf.h>
#include <link.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>

namespace tauto::balance {

#if defined(__x86_64__)
inline constexpr unsigned of_a_call = R_X86_64_JUMP_SLOT;
inline constexpr unsigned of_an_address = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
inline constexpr unsigned of_a_call = R_AARCH64_JUMP_SLOT;
inline constexpr unsigned of_an_address = R_AARCH64_GLOB_DAT;
#else
#error "the relocations of this kind of machine"
#endif

using address = std::uintptr_t;

// The kernel is asked to add 0 to it, which fails where it is read-only. Where it cannot be asked, it may be
// written.
inline bool can_be_written(std::atomic<address>& slot) noexcept {
    const int add_nothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0);
    return syscall(SYS_futex, &slot, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, &slot, add_nothing) >= 0 ||
           errno != EFAULT;
}

// What the linker loaded: a program or a library, with the tables that it was linked by.
class loaded_object {
  public:
    explicit loaded_object(const dl_phdr_info& of)
        : base_(of.dlpi_addr),
          segments_(of.dlpi_phdr, of.dlpi_phnum),
          path_(of.dlpi_name != nullptr ? of.dlpi_name : "") {
        const auto found = std::ranges::find(segments_, ElfW(Word){PT_DYNAMIC}, &ElfW(Phdr)::p_type);
        if (found == segments_.end()) return;
        const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(base_ + found->p_vaddr);
        for (; entry->d_tag != DT_NULL; ++entry) read(*entry);
    }

    // Without its folder; empty for the program itself.
    std::string_view name() const {
        std::string_view found = path_;
        found.remove_prefix(path_.rfind('/') + 1);
        return found;
    }

    // One that came with the system.
    bool is_of_system() const {
        constexpr std::string_view folders[] = {"/lib/",     "/lib32/",     "/lib64/",
                                                "/usr/lib/", "/usr/lib32/", "/usr/lib64/"};
        return std::ranges::any_of(folders, [&](std::string_view one) { return path_.starts_with(one); });
    }

    // Memory of its own for each thread.
    bool has_thread_memory() const {
        return std::ranges::any_of(segments_, [](const ElfW(Phdr) & one) { return one.p_type == PT_TLS; });
    }

    // `is` is asked for each name that others have to define; false where none of them is.
    template <class Is>
    bool needs_any(Is is) const {
        if (symbols_ == nullptr || names_ == nullptr) return false;
        for (const auto& table : {calls_, addresses_})
            for (const ElfW(Rela) & one : table) {
                const ElfW(Sym)& symbol = symbols_[ELF64_R_SYM(one.r_info)];
                if (ELF64_R_SYM(one.r_info) != 0 && symbol.st_shndx == SHN_UNDEF &&
                    is(std::string_view(names_ + symbol.st_name), ELF64_ST_TYPE(symbol.st_info)))
                    return true;
            }
        return false;
    }

    bool has(address at) const {
        return std::ranges::any_of(segments_, [&](const ElfW(Phdr) & one) {
            return one.p_type == PT_LOAD && at - base_ - one.p_vaddr < one.p_memsz;
        });
    }

    // Its own function of this name; 0: none.
    address function(std::string_view name) const {
        for (const ElfW(Sym) & one : own_symbols())
            if (one.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(one.st_info) == STT_FUNC &&
                name == names_ + one.st_name)
                return base_ + one.st_value;
        return 0;
    }

    // `what` gets the name and the place of each address of another's function that this one has.
    template <class What>
    void for_each_slot(What what) const {
        if (symbols_ == nullptr || names_ == nullptr) return;
        for (const auto& table : {calls_, addresses_})
            for (const ElfW(Rela) & one : table) {
                const auto kind = ELF64_R_TYPE(one.r_info);
                if (kind != of_a_call && kind != of_an_address) continue;
                const char* const name = names_ + symbols_[ELF64_R_SYM(one.r_info)].st_name;
                what(name, *reinterpret_cast<std::atomic<address>*>(base_ + one.r_offset));
            }
    }

    // Also where the linker has made the table read-only. One that it will make so is left alone: it is not
    // done with it, and would find it read-only too early.
    void write(std::atomic<address>& slot, address value) const {
        const auto at = reinterpret_cast<address>(&slot);
        const auto size = static_cast<address>(sysconf(_SC_PAGESIZE));
        const auto sealed = std::ranges::find_if(segments_, [&](const ElfW(Phdr) & one) {
            const address end = (base_ + one.p_vaddr + one.p_memsz) / size * size;
            return one.p_type == PT_GNU_RELRO && at >= base_ + one.p_vaddr && at < end;
        });
        if (sealed == segments_.end()) return slot.store(value, std::memory_order_release);
        auto* const page = reinterpret_cast<void*>(at / size * size);
        if (can_be_written(slot) || mprotect(page, size, PROT_READ | PROT_WRITE) != 0) return;
        slot.store(value, std::memory_order_release);
        mprotect(page, size, PROT_READ);
    }

  private:
    template <class Part>
    const Part* at(const ElfW(Dyn) & entry) const {
        const address found = entry.d_un.d_ptr;  // glibc has made most of them addresses
        return reinterpret_cast<const Part*>(found < base_ ? base_ + found : found);
    }

    void read(const ElfW(Dyn) & entry) {
        const std::size_t count = entry.d_un.d_val / sizeof(ElfW(Rela));
        switch (entry.d_tag) {
            case DT_SYMTAB:
                symbols_ = at<ElfW(Sym)>(entry);
                break;
            case DT_STRTAB:
                names_ = at<char>(entry);
                break;
            case DT_GNU_HASH:
                hashes_ = at<std::uint32_t>(entry);
                break;
            case DT_JMPREL:
                calls_ = {at<ElfW(Rela)>(entry), calls_.size()};
                break;
            case DT_PLTRELSZ:
                calls_ = {calls_.data(), count};
                break;
            case DT_RELA:
                addresses_ = {at<ElfW(Rela)>(entry), addresses_.size()};
                break;
            case DT_RELASZ:
                addresses_ = {addresses_.data(), count};
                break;
            default:
                break;
        }
    }

    // Those that others can be bound to: their hashes say how many there are.
    std::span<const ElfW(Sym)> own_symbols() const {
        if (symbols_ == nullptr || names_ == nullptr || hashes_ == nullptr) return {};
        const std::uint32_t lists = hashes_[0];
        const std::uint32_t first = hashes_[1];
        const std::uint32_t* const heads = hashes_ + 4 + hashes_[2] * (sizeof(ElfW(Addr)) / 4);
        const std::uint32_t* const chain = heads + lists;
        std::uint32_t last = 0;
        for (std::uint32_t k = 0; k < lists; ++k) last = std::max(last, heads[k]);
        if (last < first) return {};
        while ((chain[last - first] & 1U) == 0) ++last;
        return {symbols_ + first, symbols_ + last + 1};
    }

    address base_;
    std::span<const ElfW(Phdr)> segments_;
    std::string_view path_;
    const ElfW(Sym) * symbols_ = nullptr;
    const char* names_ = nullptr;
    const std::uint32_t* hashes_ = nullptr;
    std::span<const ElfW(Rela)> calls_;
    std::span<const ElfW(Rela)> addresses_;
};

template <class What>
void for_each_loaded(What what) noexcept {
    dl_iterate_phdr(
        [](dl_phdr_info* one, std::size_t, void* data) {
            (*static_cast<What*>(data))(loaded_object(*one), one->dlpi_adds);
            return 0;
        },
        &what);
}

}  // namespace tauto::balance
