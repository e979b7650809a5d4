#pragma once
// What keeps the optimiser from removing work that is timed and whose result nobody needs.

#include <memory>
#include <type_traits>

namespace tauto {

// All memory that others can see counts as read and written here.
[[gnu::always_inline]] inline void clobber_memory() noexcept {
    asm volatile("" : : : "memory");
}

// `value` is computed here, and counts as changed unless it is const: what follows cannot be computed at
// compile time or before a loop. All memory that others can see counts as read and written, too. No
// instruction but what brings a number into a register, or any other value into memory.
template <class T>
[[gnu::always_inline]] inline void do_not_optimize(T&& value) noexcept {
    using plain = std::remove_reference_t<T>;
    constexpr bool is_number = std::is_integral_v<plain> || std::is_enum_v<plain> || std::is_pointer_v<plain>;
    constexpr bool is_word = is_number && sizeof(std::conditional_t<is_number, plain, char>) <= sizeof(void*);
#if defined(__x86_64__) || defined(__aarch64__)
    constexpr bool is_float =
        std::is_same_v<std::remove_cv_t<plain>, float> || std::is_same_v<std::remove_cv_t<plain>, double>;
#else
    constexpr bool is_float = false;
#endif
    if constexpr (is_word && std::is_const_v<plain>) {
        asm volatile("" : : "r"(value) : "memory");
    } else if constexpr (is_word) {
        asm volatile("" : "+r"(value) : : "memory");
#if defined(__x86_64__)
    } else if constexpr (is_float && std::is_const_v<plain>) {
        asm volatile("" : : "x"(value) : "memory");
    } else if constexpr (is_float) {
        asm volatile("" : "+x"(value) : : "memory");
#elif defined(__aarch64__)
    } else if constexpr (is_float && std::is_const_v<plain>) {
        asm volatile("" : : "w"(value) : "memory");
    } else if constexpr (is_float) {
        asm volatile("" : "+w"(value) : : "memory");
#endif
    } else {
        // By its address: with the constraint "m" or "g" compilers copy an object, or refuse it.
        asm volatile("" : : "r"(std::addressof(value)) : "memory");
    }
}

}  // namespace tauto
