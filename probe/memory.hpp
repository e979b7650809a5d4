#pragma once
// Memory that a probe reads and writes.

#include <cstddef>
#include <cstdint>
#include <span>

namespace tauto::probe {

inline constexpr std::int64_t mebibyte = 1 << 20;

// Anonymous memory that no page has been given yet: who touches it first decides where it lies.
class untouched_memory {
  public:
    // Throws tauto::error where the system gives none.
    explicit untouched_memory(std::int64_t bytes);
    ~untouched_memory();
    untouched_memory(const untouched_memory&) = delete;
    untouched_memory& operator=(const untouched_memory&) = delete;

    template <class Number = double>
    [[nodiscard]] std::span<Number> numbers() const {
        return {static_cast<Number*>(start_), bytes_ / sizeof(Number)};
    }

  private:
    std::size_t bytes_;
    void* start_;
};

}  // namespace tauto::probe
