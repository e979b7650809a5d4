#pragma once
// What the explorer knows of memory: which stores a load may return, and which accesses race.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace explorer {

inline constexpr int most_threads = 12;

// A moment of each thread; what a thread did until then.
struct moments {
    std::array<std::uint32_t, most_threads> of{};

    void join(const moments& other) noexcept {
        for (std::size_t i = 0; i < of.size(); ++i) of[i] = std::max(of[i], other.of[i]);
    }
};

// What a thread knows. `happened`: what happens before its next step. `visible`: of the atomic stores and
// loads, also what earlier seq_cst fences and the kernel's locks force it to see: a load returns nothing
// older, but no plain access is ordered by it.
struct view {
    moments happened;
    moments visible;

    void join(const view& other) noexcept {
        happened.join(other.happened);
        visible.join(other.visible);
    }
};

struct written {
    std::uint64_t value = 0;
    view released;                                 // what a load with acquire gets to know
    std::array<std::uint32_t, most_threads> seen;  // when each thread first knew of this store

    bool known_to(const moments& known) const noexcept {
        for (std::size_t i = 0; i < seen.size(); ++i) {
            if (seen[i] <= known.of[i]) return true;
        }
        return false;
    }
};
inline constexpr std::uint32_t never = ~0U;

// An atomic variable and all that was ever stored there.
struct variable {
    std::uintptr_t address = 0;
    const char* name = "";
    int owner = -1;
    std::vector<written> stores;
    std::size_t count = 0;  // of them
    moments in_kernel;      // what the sleeps and wakes on it have seen

    written& append() {
        if (count == stores.size()) stores.emplace_back();
        written& fresh = stores[count++];
        fresh.released = {};
        fresh.seen.fill(never);
        return fresh;
    }
    [[nodiscard]] written& last() noexcept { return stores[count - 1]; }
};

// The accesses to memory in one execution, in cells of 8 bytes. Of each byte: the last write, and the last
// read of each thread since.
class accesses {
  public:
    accesses() : cells_(1U << 14), pages_(4096) {}

    void begin_execution() noexcept {
        ++execution_;
        used_ = 0;
        variables_used_ = 0;
    }

    // An access by a thread that knows `happened`. False: it races with another one.
    bool note(std::uintptr_t address, std::size_t size, int thread, const moments& happened, bool write,
              bool atomic) {
        bool fine = true;
        each(address, size, [&](std::uintptr_t key, std::uint8_t bytes) {
            cell& at = find_or_make(key);
            if (!atomic && write) drop_variables(at, bytes);
            const access now{happened.of[static_cast<std::size_t>(thread)], static_cast<std::uint8_t>(thread),
                             bytes, write, atomic};
            std::size_t kept = 0;
            for (std::size_t i = 0; i < at.count; ++i) {
                const access& old = at.past[i];
                const bool other = old.thread != now.thread;
                if (other && (old.bytes & bytes) != 0 && (old.write || write) && !(old.atomic && atomic) &&
                    old.time > happened.of[old.thread])
                    fine = false;
                const bool covered = (old.bytes & ~bytes) == 0 && (write || (!other && !old.write)) &&
                                     (!other || !(old.atomic && atomic));
                if (!covered) at.past[kept++] = old;
            }
            if (kept == at.past.size()) {
                std::move(at.past.begin() + 1, at.past.end(), at.past.begin());
                --kept;
            }
            at.past[kept++] = now;
            at.count = static_cast<std::uint8_t>(kept);
        });
        return fine;
    }

    // Memory that is given back: as a write, where anybody has been.
    bool note_freed(std::uintptr_t address, std::size_t size, int thread, const moments& happened) {
        bool fine = true;
        each(address, size, [&](std::uintptr_t key, std::uint8_t) {
            if (const cell* at = find(key); at != nullptr && at->count > 0)
                fine = note(key << 3, 8, thread, happened, true, false) && fine;
        });
        return fine;
    }

    // Memory that is new: what was there before is another object.
    void forget(std::uintptr_t address, std::size_t size) {
        each(address, size, [&](std::uintptr_t key, std::uint8_t bytes) {
            cell* at = find(key);
            if (at == nullptr) return;
            drop_variables(*at, bytes);
            for (std::size_t i = 0; i < at->count; ++i)
                at->past[i].bytes &= static_cast<std::uint8_t>(~bytes);
        });
    }

    // The atomic variable there, which begins with `value`, known to all.
    variable& at(std::uintptr_t address, std::uint64_t value) {
        cell& here = find_or_make(address >> 3);
        for (std::size_t i = 0; i < here.variables; ++i) {
            if (variables_[here.variable[i]].address == address) return variables_[here.variable[i]];
        }
        if (here.variables == here.variable.size()) here.variables = 0;
        if (variables_used_ == variables_.size()) variables_.emplace_back();
        here.variable[here.variables++] = static_cast<std::uint32_t>(variables_used_);
        variable& fresh = variables_[variables_used_++];
        fresh.address = address;
        fresh.name = "";
        fresh.owner = -1;
        fresh.count = 0;
        fresh.in_kernel = {};
        written& first = fresh.append();
        first.value = value;
        first.seen.fill(0);
        return fresh;
    }

  private:
    struct access {
        std::uint32_t time;
        std::uint8_t thread;
        std::uint8_t bytes;  // a bit each
        bool write;
        bool atomic;
    };
    struct cell {
        std::uintptr_t key = 0;
        std::uint32_t execution = 0;
        std::uint8_t count = 0;
        std::uint8_t variables = 0;
        std::array<access, most_threads> past;
        std::array<std::uint32_t, 4> variable;
    };

    template <class Use>
    void each(std::uintptr_t address, std::size_t size, Use&& use) {
        const std::uintptr_t end = address + size;
        for (std::uintptr_t key = address >> 3; key << 3 < end; ++key) {
            const std::uintptr_t begin = key << 3;
            unsigned bytes = 0xff;
            if (begin < address) bytes &= 0xffU << (address - begin);
            if (begin + 8 > end) bytes &= 0xffU >> (begin + 8 - end);
            use(key, static_cast<std::uint8_t>(bytes));
        }
    }
    [[nodiscard]] std::size_t place(std::uintptr_t key) const noexcept {
        return (key * 0x9e3779b97f4a7c15U >> 32) & (cells_.size() - 1);
    }
    std::uint32_t& page_of(std::uintptr_t key) noexcept { return pages_[(key >> 9) & (pages_.size() - 1)]; }
    cell* find(std::uintptr_t key) noexcept {
        if (page_of(key) != execution_) return nullptr;
        for (std::size_t i = place(key);; i = (i + 1) & (cells_.size() - 1)) {
            if (cells_[i].execution != execution_) return nullptr;
            if (cells_[i].key == key) return &cells_[i];
        }
    }
    cell& find_or_make(std::uintptr_t key) {
        page_of(key) = execution_;
        std::size_t i = place(key);
        for (; cells_[i].execution == execution_; i = (i + 1) & (cells_.size() - 1)) {
            if (cells_[i].key == key) return cells_[i];
        }
        if (2 * ++used_ > cells_.size()) {
            grow();
            return find_or_make(key);
        }
        cells_[i].key = key;
        cells_[i].execution = execution_;
        cells_[i].count = 0;
        cells_[i].variables = 0;
        return cells_[i];
    }
    void grow() {
        std::vector<cell> old(2 * cells_.size());
        old.swap(cells_);
        used_ = 0;
        for (const cell& one : old) {
            if (one.execution == execution_) find_or_make(one.key) = one;
        }
    }
    void drop_variables(cell& at, std::uint8_t bytes) noexcept {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < at.variables; ++i) {
            if ((bytes >> (variables_[at.variable[i]].address & 7) & 1) == 0)
                at.variable[kept++] = at.variable[i];
        }
        at.variables = static_cast<std::uint8_t>(kept);
    }

    std::vector<cell> cells_;
    std::vector<std::uint32_t> pages_;  // the last execution with a cell there
    std::deque<variable> variables_;
    std::size_t variables_used_ = 0;
    std::size_t used_ = 0;
    std::uint32_t execution_ = 0;
};

}  // namespace explorer
