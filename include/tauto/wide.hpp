#pragma once
// Registers of 32 bytes, which an x86 processor with AVX2 has, whatever the program was compiled for. What
// uses them is a function with [[gnu::target("avx2")]], called where has_wide() is true.

#include <cstddef>

namespace tauto::detail {

inline constexpr std::size_t wide_bytes = 32;

[[nodiscard]] inline bool has_wide() noexcept {
#if defined(__AVX2__)
    return true;
#elif defined(__x86_64__)
    return __builtin_cpu_supports("avx2") != 0;
#else
    return false;
#endif
}

}  // namespace tauto::detail
