#pragma once
// The runtime's one exception type for what a caller asked and this machine cannot give.

#include <stdexcept>
#include <string>
#include <version>

#if !defined(__cpp_exceptions)
#error "tautochrone needs exceptions: compile without -fno-exceptions"
#endif
#if !defined(__cpp_lib_jthread)
#error \
    "tautochrone needs std::stop_token: use libstdc++, libc++ 20, or an older libc++ with -fexperimental-library"
#endif

namespace tauto {

// what() reads: what was asked, what was found, what to do. Exceptions of loop bodies pass through untouched.
class error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// A call that returns a value was cancelled through its stop token: there is no result.
class stopped : public error {
  public:
    stopped() : error("the call was stopped before its end, so there is no result") {}
    using error::error;
};

}  // namespace tauto
