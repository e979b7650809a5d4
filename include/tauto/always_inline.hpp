#pragma once
// For what must be inlined to be fast. Where nothing is optimised that would only multiply the code, and a
// compiler with a sanitizer would take twice as long.

#if defined(__OPTIMIZE__)
#define TAUTO_ALWAYS_INLINE __attribute__((always_inline))
#else
#define TAUTO_ALWAYS_INLINE
#endif
