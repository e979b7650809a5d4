#pragma once
// A list of CPUs as the system takes it, of any length.

#include <pthread.h>
#include <sched.h>
#include <sys/types.h>

#include <cstddef>
#include <span>
#include <vector>

#include <tauto/signed.hpp>

namespace tauto::detail {

class cpu_mask {
  public:
    cpu_mask() = default;
    explicit cpu_mask(std::span<const int> cpus) {
        for (const int cpu : cpus) {
            const std::size_t word = usize(cpu) / bits;
            if (word >= words_.size()) words_.resize(word + 1);
            words_[word] |= 1UL << usize(cpu) % bits;
        }
    }
    [[nodiscard]] bool empty() const noexcept { return words_.empty(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return words_.size() * sizeof(unsigned long); }
    // cpu_set_t is such words: 16 of them.
    [[nodiscard]] const cpu_set_t* set() const noexcept {
        return reinterpret_cast<const cpu_set_t*>(words_.data());
    }
    // Confines a thread to these CPUs, 0 being the calling one: 0, or the number of the failure.
    [[nodiscard]] int confine(pid_t thread) const noexcept;

  private:
    static constexpr std::size_t bits = 8 * sizeof(unsigned long);
    std::vector<unsigned long> words_;
};

}  // namespace tauto::detail
