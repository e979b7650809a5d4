#pragma once
// Threads that live for one step: a program starts some, each does its part, and it waits for their ends.
//
// Nobody can look at each of them, or give it a seat. So the page is told of each step, where somebody has
// started threads, waited, and starts threads again; and of what threads ran that have ended. While the
// controller wants it, who ends hands its CPU over: a thread of this process that works on a clearly slower
// CPU is put onto it, and stays there as long as Linux leaves it there. So does who has started threads, when
// it first waits.
//
// To start and join a thread takes 1 us of 33 more so; who hands over spends 7 us on each thread that it
// looks at, 16 at most (EPYC, virtual machine).

#include "balance/page.hpp"

namespace tauto::balance {

/// What `pthread_create` gets in place of the program's code and data; null code: as they are.
struct counted_start {
    void* (*code)(void*) = nullptr;
    void* data = nullptr;
};
counted_start begin_birth(void* (*code)(void*), void* data) noexcept;
/// It was not started.
void cancel_birth(const counted_start& of) noexcept;
/// It was.
void note_birth() noexcept;

/// When a thread ends, before it leaves its slot.
void end_life() noexcept;

/// At the begin of a wait: the first since this thread has started others.
void hand_over_while_waiting(slot& own) noexcept;

/// In a child of fork, which has one thread.
void forget_births() noexcept;

/// `start(code, data)` starts the thread; 0: it is started.
template <class Start>
int start_counted(void* (*code)(void*), void* data, Start start) noexcept {
    const counted_start counted = begin_birth(code, data);
    if (counted.code == nullptr) return start(code, data);
    const int result = start(counted.code, counted.data);
    if (result == 0)
        note_birth();
    else
        cancel_birth(counted);
    return result;
}

}  // namespace tauto::balance
