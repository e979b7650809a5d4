#pragma once
// Lists with nothing to destroy: what is in them may end while statics are torn down.

namespace tauto::detail {

// Takes one out that is in the list. `next`: where each has the next one.
template <class T>
void remove_from(T*& first, T* T::*next, const T* one) noexcept {
    T** at = &first;
    while (*at != one) at = &((*at)->*next);
    *at = one->*next;
}

}  // namespace tauto::detail
