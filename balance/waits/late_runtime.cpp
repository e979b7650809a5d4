// A runtime that a program loads after its start, as all of Python's packages do.
//
// Its callers were bound past this library, each to the copy that the linker chose. A copy is known by the
// threads that it starts. What is bound to one of its functions is then bound to this library's instead, in
// the tables of all that is loaded, so a call still goes to the copy that the linker chose. One copy is taken
// up: what stands in front of a function has one original. Callers that are loaded later are found when it
// starts threads again; until then they wait unmarked, as those of other copies do.
//
// No lock of the linker is needed but the one under which it lists what is loaded: the caller may be inside
// `dlopen`, or somebody inside `dlopen` may wait for it.

#include <elf.h>
#include <link.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>

#include "balance/waits/originals.hpp"

namespace tauto::balance {

namespace {

constexpr std::size_t most_callers = 16;

#if defined(__x86_64__)
constexpr unsigned of_a_call = R_X86_64_JUMP_SLOT;
constexpr unsigned of_an_address = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr unsigned of_a_call = R_AARCH64_JUMP_SLOT;
constexpr unsigned of_an_address = R_AARCH64_GLOB_DAT;
#else
#error "the relocations of this kind of machine"
#endif

using address = std::uintptr_t;

// The kernel is asked to add 0 to it, which fails where it is read-only. Where it cannot be asked, it may be
// written.
bool can_be_written(std::atomic<address>& slot) noexcept {
    const int add_nothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0);
    return syscall(SYS_futex, &slot, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0, &slot, add_nothing) >= 0 ||
           errno != EFAULT;
}

// What the linker loaded: a program or a library, with the tables that it was linked by.
class loaded_object {
  public:
    explicit loaded_object(const dl_phdr_info& of)
        : base_(of.dlpi_addr), segments_(of.dlpi_phdr, of.dlpi_phnum) {
        const auto found = std::ranges::find(segments_, ElfW(Word){PT_DYNAMIC}, &ElfW(Phdr)::p_type);
        if (found == segments_.end()) return;
        const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(base_ + found->p_vaddr);
        for (; entry->d_tag != DT_NULL; ++entry) read(*entry);
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
    const ElfW(Sym) * symbols_ = nullptr;
    const char* names_ = nullptr;
    const std::uint32_t* hashes_ = nullptr;
    std::span<const ElfW(Rela)> calls_;
    std::span<const ElfW(Rela)> addresses_;
};

std::span<original_function* const> missing;

// Those of the copy that was taken up; whoever has `busy` reads and writes them.
std::atomic<bool> busy{false};
address taken = 0;  // a place inside of it; 0: none yet
std::uint64_t loaded_then = 0;
std::array<std::atomic<const void*>, most_callers> others;  // that start threads, and are no runtime

bool is_known(const void* caller) noexcept {
    return std::ranges::any_of(
        others, [&](const auto& one) { return one.load(std::memory_order_relaxed) == caller; });
}

void remember(const void* caller) noexcept {
    for (auto& one : others)
        if (one.load(std::memory_order_relaxed) == nullptr)
            return one.store(caller, std::memory_order_relaxed);
}

template <class What>
void for_each_loaded(What what) noexcept {
    dl_iterate_phdr(
        [](dl_phdr_info* one, std::size_t, void* data) {
            (*static_cast<What*>(data))(loaded_object(*one), one->dlpi_adds);
            return 0;
        },
        &what);
}

// True where it has one of the functions that regions begin with, and nothing stands in front of another
// copy's. Their originals are known then.
bool take_up(const loaded_object& runtime) noexcept {
    const bool has_regions = std::ranges::any_of(missing, [&](const original_function* one) {
        const std::string_view name = one->name;
        return (name == "GOMP_parallel" || name == "__kmpc_fork_call") && runtime.function(name) != 0;
    });
    if (!has_regions) return false;
    for (original_function* one : missing)
        one->found.store(reinterpret_cast<void*>(runtime.function(one->name)), std::memory_order_release);
    return true;
}

const original_function* original_at(address function) noexcept {
    const auto found = std::ranges::find_if(missing, [&](const original_function* one) {
        return function != 0 &&
               reinterpret_cast<address>(one->found.load(std::memory_order_relaxed)) == function;
    });
    return found == missing.end() ? nullptr : *found;
}

// A name that is not bound yet, because nobody has called it, would be bound to the copy that others of the
// same object are bound to.
const original_function* original_called(std::string_view name) noexcept {
    const auto found = std::ranges::find_if(missing, [&](const original_function* one) {
        return one->found.load(std::memory_order_relaxed) != nullptr && name == one->name;
    });
    return found == missing.end() ? nullptr : *found;
}

void bind_anew(const loaded_object& user) noexcept {
    bool is_bound = false;
    const auto bind = [&](std::atomic<address>& slot, const original_function* to) {
        if (to != nullptr) user.write(slot, reinterpret_cast<address>(to->in_front));
        return to != nullptr;
    };
    user.for_each_slot([&](const char*, std::atomic<address>& slot) {
        is_bound |= bind(slot, original_at(slot.load(std::memory_order_relaxed)));
    });
    if (!is_bound) return;
    user.for_each_slot([&](const char* name, std::atomic<address>& slot) {
        if (user.has(slot.load(std::memory_order_relaxed))) bind(slot, original_called(name));
    });
}

}  // namespace

void expect_late_runtime(original_function* const* functions, std::size_t count) noexcept {
    missing = {functions, count};
}

void take_up_runtime_of(const void* caller) noexcept {
    if (missing.empty() || is_known(caller) || busy.exchange(true, std::memory_order_acquire)) return;
    const int error = errno;
    const auto place = reinterpret_cast<address>(caller);
    bool starts_them = false;
    std::uint64_t loaded = 0;
    for_each_loaded([&](const loaded_object& one, std::uint64_t loads) {
        loaded = loads;
        if (!one.has(place)) return;
        starts_them = taken == 0 ? take_up(one) : one.has(taken);
        if (starts_them && taken == 0) taken = place;
    });
    if (!starts_them) {
        remember(caller);
    } else if (loaded != loaded_then) {
        loaded_then = loaded;
        for_each_loaded([&](const loaded_object& one, std::uint64_t) {
            if (!one.has(taken) && !one.has(reinterpret_cast<address>(&take_up_runtime_of))) bind_anew(one);
        });
    }
    errno = error;
    busy.store(false, std::memory_order_release);
}

}  // namespace tauto::balance
