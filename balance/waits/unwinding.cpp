// A thread that is cancelled while it waits is unwound through this library's functions, and each must end
// its mark.
//
// Functions with a destructor ask for the personality routine of C++, which is in libstdc++; and a library
// that is loaded into every program must not bring that along. This one has its name, and only this library
// sees it. All that its functions have to do is to end a mark, so it does it itself and no landing pad is
// ever entered. A CPU that was lent is taken back when the thread ends.

#include <cstdint>

#include "balance/waits/marks.hpp"

namespace {

// Of the unwinder's interface, whose header would declare the functions below for all to see.
constexpr int cleanup_phase = 2;
constexpr int continue_unwind = 8;

}  // namespace

extern "C" int __gxx_personality_v0(int, int actions, std::uint64_t, void*, void*) {
    using tauto::balance::this_thread;
    if ((actions & cleanup_phase) != 0 && this_thread.own != nullptr) end_wait(*this_thread.own);
    return continue_unwind;
}

// The end of a landing pad.
extern "C" void _Unwind_Resume(void*) {
    __builtin_trap();
}
