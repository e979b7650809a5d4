#pragma once
// How much a cache holds, for algorithms that read what they have read before.

#include <tauto/range.hpp>

namespace tauto::detail {

// Bytes of a core's second-level cache, as the system tells; 512 KiB where it does not, and 128 KiB to 4 MiB.
[[nodiscard]] index second_level_cache() noexcept;

// Bytes of the largest cache of a core, shared ones included; 16 MiB where the system does not tell.
[[nodiscard]] index largest_cache() noexcept;

}  // namespace tauto::detail
