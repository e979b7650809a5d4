#pragma once
// Runs a program of a few threads again and again, each time in another order and with other values read, as
// C++'s memory model allows them. The program is the runtime's own text: the compiler calls us before each
// access to memory (hooks.cpp), the linker gives us its threads, locks and sleeps.
//
// A thread is a fiber here, and one runs at a time until it comes to an atomic operation, a lock or a sleep.
// Then the explorer chooses who goes on. A load may return any store that coherence and happens-before allow.
// The order of a variable's stores is that in which they ran.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace explorer {

// As the compiler numbers them.
enum order : int { relaxed, consume, acquire, release, acq_rel, seq_cst };

enum operation : unsigned {
    load = 1,
    store = 2,
    exchange = 4,
    compare_exchange = 8,
    add = 16,
    fence = 32,
    wake = 64
};

// One step of a protocol spoiled: which one, and how. All that is given must fit.
struct mutant {
    const char* what;  // in words
    // How a report of it begins: "data race", "deadlock", "live-lock", "broken". Empty: in any of these ways.
    const char* must;
    const char* variable = "";  // its name (see name()); empty: any
    unsigned operations = 0;    // several may be joined by |
    // Threads by number, 0 is the caller.
    enum { anyone, caller, others, owner, not_owner } by = anyone;
    // What the thread did last besides loads: the looks of a waiter differ in this alone.
    enum : unsigned { looking = 1, fenced = 2, slept = 4 };
    unsigned after = looking | fenced | slept;
    unsigned with_bit = 0;  // of the value written
    enum { weaken, split, leave_out } how = weaken;
    order to = relaxed;        // of weaken
    const void* at = nullptr;  // the place in the program; null: any
};

// A place in the program with a memory order.
struct place {
    const void* at;
    operation what;
    order how;
    friend bool operator==(const place&, const place&) = default;
};

struct settings {
    std::uint64_t seed = 1;
    std::uint64_t random = 0;  // executions with choices drawn at random
    // Executions of a search, at most: all with no departure from the usual choice (the thread goes on until
    // it must wait, a load returns the last store, nothing wakes a sleeper but a wake), then all with one,
    // and so on.
    std::uint64_t search = 0;
    int spurious = 1;    // sleeps that end for no reason in one execution, at most
    int steps = 20'000;  // an execution of more never ends
    const mutant* spoiled = nullptr;
    std::vector<place>* places = nullptr;  // where those are collected that the program comes to
};

struct result {
    std::string finding;  // empty: none
    std::vector<std::string> trace;
    std::uint64_t executions = 0;
    std::uint64_t steps = 0;
    int complete = -1;  // departures up to which the search has seen all
};

// Explores one program. `run` is one execution: it makes everything anew, on thread 0.
result explore(const std::function<void()>& run, const settings& how);

const char* name_of(order how);
const char* name_of(operation what);
// A place as addr2line wants it.
std::string text_of_place(const void* place);

// Within an execution.
// Names an atomic variable, for mutants and traces; `of`: the thread that owns it.
void name(const volatile void* variable, const char* as, int of);
// Ends the execution with a finding "broken: …" unless it holds.
void check(bool holds, const char* what);
// What fork() leaves in the child: the calling thread alone, and all memory and locks as they are.
void fork_into_child();

}  // namespace explorer
