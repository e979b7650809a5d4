#pragma once
// Whether a sanitizer looks on. It sees as much in fewer rounds of the same kind, and each takes it many
// times as long.

namespace tauto::testing {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace tauto::testing
