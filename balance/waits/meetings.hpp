#pragma once
// Threads that meet where one of them wakes all others: at a condition variable, or at a futex that the
// program calls itself, as C++20's std::barrier and Rust's std::sync::Barrier do.
//
// Nobody says that such a call is a barrier. But who wakes all that wait has come to where they are, and all
// go on from there. So each of them has come past one place.

#include <cstdint>

#include "balance/waits/marks.hpp"

namespace tauto::balance {

/// By who wakes all that wait at this address.
void note_meeting(const void* where) noexcept;

/// A wait that another thread ends, for all that wait or, as at a semaphore, for this one alone. The thread
/// lends its CPU meanwhile, unless it is inside of another wait. Where all were woken it has come past a
/// place.
class meeting_wait_mark : public wait_mark {
  public:
    [[gnu::always_inline]] explicit meeting_wait_mark(const void* where) noexcept : where_(where) {
        if (begun_ != nullptr && begun_->waits().depth == 1) begin();
    }
    [[gnu::always_inline]] ~meeting_wait_mark() {
        if (is_outermost_) end();
    }
    meeting_wait_mark(const meeting_wait_mark&) = delete;
    meeting_wait_mark& operator=(const meeting_wait_mark&) = delete;

  private:
    void begin() noexcept;
    void end() noexcept;

    const void* where_;
    std::uint32_t before_ = 0;
    bool is_outermost_ = false;
};

}  // namespace tauto::balance
