#pragma once
// FNV-1a, 64 bits: Fowler, Noll and Vo's hash in the variant that mixes before it multiplies (RFC 9923).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tauto {

inline constexpr std::uint64_t fnv1a_offset_basis = 0xcbf29ce484222325U;
inline constexpr std::uint64_t fnv1a_prime = 0x00000100000001b3U;

/// Hash of `bytes`; `seed` is the hash of what came before, so a long text can be hashed in pieces. O(bytes).
constexpr std::uint64_t fnv1a(std::string_view bytes, std::uint64_t seed = fnv1a_offset_basis) noexcept {
    for (const char byte : bytes) {
        seed ^= static_cast<unsigned char>(byte);
        seed *= fnv1a_prime;
    }
    return seed;
}

/// Hash of the object representation of `values`: equal exactly when all bits are equal (up to collision).
inline std::uint64_t fnv1a(std::span<const float> values) noexcept {
    return fnv1a(std::string_view{reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

/// The 16 lower-case hex digits of `hash`, most significant first.
inline std::string fnv1a_text(std::uint64_t hash) {
    std::string text(16, '0');
    for (std::size_t digit = 0; digit < 16; ++digit)
        text[15 - digit] = "0123456789abcdef"[(hash >> (4 * digit)) & 15U];
    return text;
}

}  // namespace tauto
