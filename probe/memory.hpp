#pragma once
// Memory that a probe reads and writes.

#include <cstddef>
#include <cstdint>
#include <span>

namespace tauto::probe {

inline constexpr std::int64_t mebibyte = 1 << 20;

// Anonymous memory without pages: the first access decides the node of each page.
class untouched_memory {
  public:
    // Throws tauto::error if the system has none left.
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
