#pragma once
// A stack on which a part of a region runs, so that the thread below it can leave it in the middle, do other
// things and come back.

#include <cstddef>

namespace tauto::balance {

/// One thread at a time enters it. Its memory is never given back.
class own_stack {
  public:
    /// Memory as large as that of other threads' stacks, with a page below it that nobody may touch. False
    /// where there is none. O(1): pages are the system's until they are touched.
    bool make() noexcept;

    /// The calling thread runs `code` there until that leaves or returns; true when it has returned.
    bool start(void (*code)(void*), void* data) noexcept;
    /// It goes on where it was left, with this thread below it; the same answer.
    bool resume() noexcept;
    /// By what runs there: the thread goes on behind its `start` or `resume`. What runs there finds its
    /// errno, the exceptions that it handles, its way of rounding and its mask of signals as they were.
    void leave() noexcept;

  private:
    struct kept;
    static void run(unsigned low, unsigned high) noexcept;
    bool enter() noexcept;

    kept* kept_ = nullptr;  // at the upper end of the memory
};

}  // namespace tauto::balance
