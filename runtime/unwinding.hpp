#pragma once

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace tauto::detail {

// In a handler of all exceptions around a body: what the body threw. A body that is unwound by pthread_exit,
// a cancellation or another language has thrown nothing that could be rethrown on another thread, and a
// member that ended with it would leave the others waiting.
inline std::exception_ptr thrown_by_body(std::exception_ptr thrown) noexcept {
    if (thrown != nullptr) return thrown;
    std::fputs(
        "tautochrone: a body was ended by pthread_exit, a cancellation or an exception of another language; "
        "it "
        "must return or throw\n",
        stderr);
    std::abort();
}

// While it lives, nothing cancels the calling thread: for what ends a team, and so may not be unwound.
class uncancelled {
  public:
    uncancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~uncancelled() { pthread_setcancelstate(before_, nullptr); }
    uncancelled(const uncancelled&) = delete;
    uncancelled& operator=(const uncancelled&) = delete;

  private:
    int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace tauto::detail
