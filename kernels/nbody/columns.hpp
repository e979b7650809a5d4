#pragma once
// Several arrays of doubles of one length, each on cache lines of its own: a structure of arrays.

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace tauto::kernels::nbody {

class columns {
  public:
    columns() = default;
    /// `count` arrays of `length` zeros, 64-byte aligned. Throws std::bad_alloc.
    columns(std::size_t count, std::size_t length) : length_{length}, pitch_{pitch_of(length)} {
        const std::size_t doubles = count * pitch_;
        auto* memory = static_cast<double*>(std::aligned_alloc(64, doubles * sizeof(double)));
        if (memory == nullptr) throw std::bad_alloc{};
        std::uninitialized_value_construct_n(memory, doubles);
        values_.reset(memory);
        for (std::size_t column = 0; column < count; ++column) starts_.push_back(memory + column * pitch_);
    }
    columns(const columns& other) : columns{other.count(), other.length_} {
        for (std::size_t column = 0; column < count(); ++column)
            std::uninitialized_copy_n(other.starts_[column], pitch_, starts_[column]);
    }
    columns& operator=(const columns& other) {
        columns copy{other};
        return *this = std::move(copy);
    }
    columns(columns&&) noexcept = default;
    columns& operator=(columns&&) noexcept = default;
    ~columns() = default;

    std::size_t count() const noexcept { return starts_.size(); }
    std::size_t length() const noexcept { return length_; }
    std::span<double> operator[](std::size_t column) noexcept { return {starts_[column], length_}; }
    std::span<const double> operator[](std::size_t column) const noexcept {
        return {starts_[column], length_};
    }
    /// All arrays with what lies between them, to be copied as a whole.
    std::span<double> storage() noexcept { return {values_.get(), count() * pitch_}; }
    /// The starts of the arrays from `first` on, as the kernels take them. At least 8 doubles behind the
    /// last element can be read and written.
    double* const* data(std::size_t first = 0) noexcept { return starts_.data() + first; }
    const double* const* data(std::size_t first = 0) const noexcept { return starts_.data() + first; }

  private:
    // An odd number of cache lines: with a power of two, as many particles often are, all arrays would
    // compete for the same sets of the first-level cache.
    static constexpr std::size_t pitch_of(std::size_t length) noexcept {
        return 8 * (((length + 7) / 8 + 1) | 1U);
    }
    struct release {
        void operator()(double* values) const noexcept { std::free(values); }
    };

    std::size_t length_ = 0;
    std::size_t pitch_ = 0;
    std::unique_ptr<double[], release> values_;
    std::vector<double*> starts_;
};

}  // namespace tauto::kernels::nbody
