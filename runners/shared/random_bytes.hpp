#pragma once
// Bytes without a pattern, the same ones in every process.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace tauto::runner {

inline std::string random_bytes(std::size_t count) {
    std::mt19937_64 generator;  // default seed; its numbers are fixed by the standard
    std::string bytes(count, '\0');
    for (std::size_t i = 0; i < count; i += 8) {
        const std::uint64_t word = generator();
        for (std::size_t j = i; j < std::min(i + 8, count); ++j)
            bytes[j] = static_cast<char>(word >> (8 * (j - i)) & 0xffU);
    }
    return bytes;
}

}  // namespace tauto::runner
