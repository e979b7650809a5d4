#include "explorer.hpp"

#include <cxxabi.h>
#include <link.h>
#include <setjmp.h>
#include <ucontext.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "engine.hpp"
#include "memory.hpp"

namespace explorer {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr std::int64_t longer_than_any_budget = std::int64_t{1} << 42;

// What each thread of a program has for itself, and fibers share: thread-local variables of the program, and
// the exceptions in flight.
struct own_state {
    struct exceptions {
        void* caught = nullptr;
        unsigned uncaught = 0;
    };
    exceptions in_flight;
    std::vector<std::byte> locals;
};

// The program's own thread-local variables, in the thread that explores.
struct storage {
    std::uintptr_t program = 0;  // where it was loaded
    std::byte* begin = nullptr;
    std::size_t size = 0;
    std::size_t initialised = 0;
    const void* image = nullptr;
};

int find_storage(dl_phdr_info* object, std::size_t, void* result) {
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const auto& part = object->dlpi_phdr[i];
        if (part.p_type != PT_TLS || object->dlpi_tls_data == nullptr) continue;
        *static_cast<storage*>(result) = {object->dlpi_addr, static_cast<std::byte*>(object->dlpi_tls_data),
                                          part.p_memsz, part.p_filesz,
                                          reinterpret_cast<const void*>(object->dlpi_addr + part.p_vaddr)};
    }
    return 1;  // the program itself comes first, and is all that is wanted
}

enum class state { ready, sleeping, locking, joining, ended };

struct fiber {
    int number = 0;
    state now = state::ended;
    const void* waits_for = nullptr;
    view knows;
    view acquired;  // by loads without acquire: known after a fence
    view released;  // at the last fence with release
    const variable* looked_at = nullptr;
    std::uint64_t looked_at_switch = 0;
    unsigned after = mutant::looking;
    void* (*run)(void*) = nullptr;
    void* argument = nullptr;
    const void* asked_at = nullptr;  // while others run
    own_state own;
    bool made = false;
    ucontext_t first;
    jmp_buf context;
    std::unique_ptr<std::byte[]> stack;

    [[nodiscard]] std::uint32_t& time() noexcept {
        return knows.happened.of[static_cast<std::size_t>(number)];
    }
    void tick() noexcept {
        ++time();
        knows.visible.of[static_cast<std::size_t>(number)] = time();
    }
};

struct lock_state {
    const void* mutex = nullptr;
    int holder = -1;
    view released;
};

enum class way { random, search, replay };
enum class kind { thread, preemption, stale, spurious, time, weak };

struct decision {
    std::uint16_t taken;
    std::uint16_t of;
};

struct engine {
    settings how;
    accesses memory;
    storage locals;
    std::array<fiber, most_threads> fibers;
    int fibers_used = 0;
    fiber* running = nullptr;
    jmp_buf outside;

    moments fences;  // what the seq_cst fences so far have seen
    std::deque<lock_state> locks;
    std::int64_t time = 0;
    std::uint64_t steps = 0;
    std::uint64_t switches = 0;
    int spurious_left = 0;
    int departures_left = 0;  // of a bounded execution

    way choosing = way::random;
    bool bounded = false;        // of a search, and when its finding is repeated
    std::vector<decision> path;  // of this execution
    std::size_t on_path = 0;
    std::uint64_t random = 1;
    unsigned switch_mask = 0;
    unsigned stale_mask = 0;

    bool warming = false;
    std::string finding;
    bool tracing = false;
    std::vector<std::string> trace;
    const std::function<void()>* program = nullptr;
};

// Not in the engine, which is made by operator new, which asks for them.
constinit bool in_execution = false;
constinit int in_own_work = 0;
constinit const void* asked_at = nullptr;

engine& the() {
    static engine& one = *new engine;
    return one;
}

std::uint64_t draw() noexcept {
    std::uint64_t& x = the().random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x >> 11;
}

// One of `of` ways to go on; 0 is the usual one.
unsigned choose(kind what, std::size_t of) {
    engine& e = the();
    if (of <= 1) return 0;
    const auto count = static_cast<unsigned>(of);
    if (e.bounded && e.departures_left == 0) return 0;
    if (e.choosing != way::random && e.on_path < e.path.size()) {
        const unsigned again = e.path[e.on_path++].taken;
        if (e.bounded && again != 0) --e.departures_left;
        return again;
    }
    unsigned taken = 0;
    if (e.choosing == way::random) {
        const auto odds = [&](unsigned mask) { return (draw() & mask) == 0; };
        switch (what) {
            case kind::thread:
                taken = static_cast<unsigned>(draw() % count);
                break;
            case kind::preemption:
                if (odds(e.switch_mask)) taken = static_cast<unsigned>(1 + draw() % (count - 1));
                break;
            case kind::stale:
                if (odds(e.stale_mask)) taken = static_cast<unsigned>(1 + draw() % (count - 1));
                break;
            case kind::time:
                taken = static_cast<unsigned>(draw() % 2);
                break;
            case kind::spurious:
            case kind::weak:
                taken = odds(15) ? 1 : 0;
                break;
        }
    }
    e.path.push_back({static_cast<std::uint16_t>(taken), static_cast<std::uint16_t>(count)});
    ++e.on_path;
    return taken;
}

void enter_fiber();

void make_context(fiber& one) {
    if (!one.stack) one.stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
    getcontext(&one.first);
    one.first.uc_stack.ss_sp = one.stack.get();
    one.first.uc_stack.ss_size = stack_bytes;
    one.first.uc_link = nullptr;
    makecontext(&one.first, &enter_fiber, 0);
    one.made = false;
}

void save_own(own_state& own) {
    const storage& locals = the().locals;
    std::memcpy(static_cast<void*>(&own.in_flight), abi::__cxa_get_globals(), sizeof own.in_flight);
    std::copy(locals.begin, locals.begin + locals.size, own.locals.begin());
}

void restore_own(const own_state& own) {
    std::memcpy(static_cast<void*>(abi::__cxa_get_globals()), &own.in_flight, sizeof own.in_flight);
    std::copy(own.locals.begin(), own.locals.end(), the().locals.begin);
}

[[noreturn]] void resume(fiber& one) {
    engine& e = the();
    e.running = &one;
    restore_own(one.own);
    if (one.made) _longjmp(one.context, 1);
    one.made = true;
    setcontext(&one.first);
    std::abort();
}

void switch_to(fiber& next) {
    engine& e = the();
    ++e.switches;
    fiber& before = *e.running;
    if (&next == &before) return;
    save_own(before.own);
    before.asked_at = asked_at;
    if (_setjmp(before.context) == 0) resume(next);
    asked_at = the().running->asked_at;
}

// Ends this execution.
[[noreturn]] void report(std::string what) {
    engine& e = the();
    e.finding = std::move(what);
    for (fiber& one : e.fibers) {
        if (one.now != state::ended) make_context(one);
        one.now = state::ended;
    }
    make_context(*e.running);
    _longjmp(e.outside, 2);
}

std::string text_of(const variable& of) {
    if (*of.name == '\0') return "a variable";
    return of.name + std::string("[") + std::to_string(of.owner) + "]";
}

template <class... Parts>
void note(const Parts&... parts) {
    engine& e = the();
    if (!e.tracing) return;
    std::string text = "thread " + std::to_string(e.running->number) + ": ";
    const auto add = [&](const auto& part) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(part)>, variable>)
            text += text_of(part);
        else if constexpr (requires { std::to_string(part); })
            text += std::to_string(part);
        else
            text += part;
    };
    (add(parts), ...);
    if (e.trace.empty() || e.trace.back() != text) e.trace.push_back(std::move(text));
}

// Somebody else goes on, if anybody can. False: nobody.
bool hand_over() {
    engine& e = the();
    std::array<fiber*, most_threads> ready;
    std::size_t count = 0;
    for (int step = 1; step < e.fibers_used; ++step) {
        fiber& one = e.fibers[static_cast<std::size_t>((e.running->number + step) % e.fibers_used)];
        if (one.now == state::ready) ready[count++] = &one;
    }
    if (count == 0) return false;
    switch_to(*ready[choose(kind::thread, count)]);
    return true;
}

void block(state why, const void* on) {
    engine& e = the();
    fiber& self = *e.running;
    self.now = why;
    self.waits_for = on;
    if (hand_over()) return;
    std::string who;
    for (const fiber& one : e.fibers) {
        if (one.now == state::sleeping) who += " thread " + std::to_string(one.number) + " sleeps";
        if (one.now == state::locking) who += " thread " + std::to_string(one.number) + " waits for a lock";
        if (one.now == state::joining)
            who += " thread " + std::to_string(one.number) + " waits for a thread's end";
    }
    report("deadlock:" + who);
}

void wake_all(state why, const void* on) {
    for (fiber& one : the().fibers) {
        if (one.now == why && one.waits_for == on) one.now = state::ready;
    }
}

// Before each step that others can see: who goes on? True: this is a second look at the same variable with
// nothing in between, and so the first one again.
bool step(const variable* looked_at = nullptr) {
    engine& e = the();
    fiber& self = *e.running;
    if (++e.steps > static_cast<std::uint64_t>(e.how.steps))
        report("live-lock: no end after " + std::to_string(e.how.steps) + " steps");
    const bool again =
        looked_at != nullptr && self.looked_at == looked_at && self.looked_at_switch == e.switches;
    self.looked_at = looked_at;
    self.looked_at_switch = e.switches;
    if (again || (e.bounded && e.departures_left == 0)) return again;
    std::array<fiber*, most_threads> others;
    std::size_t count = 0;
    for (int ahead = 1; ahead < e.fibers_used; ++ahead) {
        fiber& one = e.fibers[static_cast<std::size_t>((self.number + ahead) % e.fibers_used)];
        if (one.now == state::ready) others[count++] = &one;
    }
    const unsigned taken = choose(kind::preemption, count + 1);
    if (taken == 0) return again;
    switch_to(*others[taken - 1]);
    self.looked_at_switch = e.switches;
    return false;
}

fiber& new_fiber() {
    engine& e = the();
    if (e.fibers_used == most_threads) report("broken: more threads than the explorer has room for");
    fiber& fresh = e.fibers[static_cast<std::size_t>(e.fibers_used)];
    fresh.number = e.fibers_used++;
    fresh.now = state::ready;
    fresh.knows = {};
    fresh.acquired = {};
    fresh.released = {};
    fresh.looked_at = nullptr;
    fresh.after = mutant::looking;
    fresh.own.in_flight = {};
    fresh.own.locals.assign(e.locals.size, std::byte{});
    std::memcpy(fresh.own.locals.data(), e.locals.image, e.locals.initialised);
    if (!fresh.stack) make_context(fresh);
    return fresh;
}

// What a fiber is, execution after execution.
void enter_fiber() {
    for (;;) {
        engine& e = the();
        fiber& self = *e.running;
        --in_own_work;
        self.run(self.argument);
        ++in_own_work;
        self.now = state::ended;
        self.tick();
        wake_all(state::joining, &self);
        if (hand_over()) continue;
        for (const fiber& one : e.fibers) {
            if (one.now != state::ended) block(state::ended, nullptr);
        }
        if (_setjmp(self.context) == 0) _longjmp(e.outside, 1);
    }
}

// The rule for this step, if it is spoiled.
const mutant* spoiled(operation what, const variable* of, std::uint64_t value = 0) {
    const engine& e = the();
    const mutant* rule = e.how.spoiled;
    if (rule == nullptr || e.warming || (rule->operations & what) == 0) return nullptr;
    const int self = e.running->number;
    if (*rule->variable != '\0' && (of == nullptr || std::strcmp(rule->variable, of->name) != 0))
        return nullptr;
    if (rule->by == mutant::caller && self != 0) return nullptr;
    if (rule->by == mutant::others && self == 0) return nullptr;
    if (rule->by == mutant::owner && (of == nullptr || of->owner != self)) return nullptr;
    if (rule->by == mutant::not_owner && (of == nullptr || of->owner == self)) return nullptr;
    if ((rule->after & e.running->after) == 0) return nullptr;
    if (rule->at != nullptr && rule->at != asked_at) return nullptr;
    if (rule->with_bit != 0 && (value & rule->with_bit) == 0) return nullptr;
    return rule;
}

// Notes a place that the program comes to.
void visit(operation what, order how) {
    std::vector<place>* const places = the().how.places;
    if (places == nullptr) return;
    const place here{asked_at, what, how};
    if (std::find(places->begin(), places->end(), here) == places->end()) places->push_back(here);
}

order weakened(const mutant* rule, order how) {
    return rule != nullptr && rule->how == mutant::weaken ? rule->to : how;
}

bool acquires(order how) noexcept {
    return how == consume || how == acquire || how == acq_rel || how == seq_cst;
}
bool releases(order how) noexcept {
    return how == release || how == acq_rel || how == seq_cst;
}

std::uint64_t value_at(const volatile void* address, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, const_cast<const void*>(address), size);
    return value;
}

variable& variable_at(const volatile void* address, std::size_t size) {
    return the().memory.at(reinterpret_cast<std::uintptr_t>(address), value_at(address, size));
}

void note_access(const volatile void* address, std::size_t size, bool write, bool atomic) {
    engine& e = the();
    fiber& self = *e.running;
    if (!e.memory.note(reinterpret_cast<std::uintptr_t>(address), size, self.number, self.knows.happened,
                       write, atomic) &&
        !e.warming) {
        note(write ? "writes " : "reads ", size, " bytes at ", text_of_place(asked_at));
        report("data race: thread " + std::to_string(self.number) + (write ? " writes " : " reads ") +
               std::to_string(size) + " bytes" + (atomic ? " of an atomic variable" : "") + " at " +
               text_of_place(asked_at) + " that another one uses");
    }
}

// Reads the store that the explorer picks among those allowed.
const written& read(variable& of, order how) {
    fiber& self = *the().running;
    std::size_t oldest = of.count - 1;
    while (!of.stores[oldest].known_to(self.knows.visible)) --oldest;
    const std::size_t back = choose(kind::stale, of.count - oldest);
    written& seen = of.stores[of.count - 1 - back];
    std::uint32_t& first = seen.seen[static_cast<std::size_t>(self.number)];
    if (first == never) first = self.time();
    (acquires(how) ? self.knows : self.acquired).join(seen.released);
    return seen;
}

void write(variable& of, std::size_t size, std::uint64_t value, order how, const view* continued) {
    fiber& self = *the().running;
    written& fresh = of.append();
    self.after = mutant::looking;
    fresh.value = value;
    fresh.released = releases(how) ? self.knows : self.released;
    if (continued != nullptr) fresh.released.join(*continued);
    fresh.seen[static_cast<std::size_t>(self.number)] = self.time();
    std::memcpy(reinterpret_cast<void*>(of.address), &value, size);
    self.tick();
}

std::uint64_t cut(std::uint64_t value, std::size_t size) noexcept {
    return size == 8 ? value : value & ((std::uint64_t{1} << (8 * size)) - 1);
}

// The latest store, as the change of a value reads it.
std::uint64_t read_last(variable& of, order how, view& released) {
    fiber& self = *the().running;
    written& last = of.last();
    released = last.released;
    std::uint32_t& first = last.seen[static_cast<std::size_t>(self.number)];
    if (first == never) first = self.time();
    (acquires(how) ? self.knows : self.acquired).join(last.released);
    return last.value;
}

void refuse_seq_cst(order how) {
    if (how == seq_cst) report("broken: a seq_cst operation, which is not modelled; only fences are");
}

lock_state& lock_at(const void* mutex) {
    engine& e = the();
    for (lock_state& one : e.locks) {
        if (one.mutex == mutex) return one;
    }
    e.locks.push_back({mutex, -1, {}});
    return e.locks.back();
}

}  // namespace

const char* name_of(order how) {
    constexpr const char* names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    return names[how];
}

const char* name_of(operation what) {
    switch (what) {
        case load:
            return "load";
        case store:
            return "store";
        case exchange:
            return "exchange";
        case compare_exchange:
            return "compare_exchange";
        case add:
            return "add";
        case fence:
            return "fence";
        default:
            return "wake";
    }
}

std::string text_of_place(const void* place) {
    char text[32];
    std::snprintf(text, sizeof text, "+0x%zx",
                  reinterpret_cast<std::uintptr_t>(place) - the().locals.program);
    return text;
}

bool exploring() noexcept {
    return in_execution && in_own_work == 0;
}
own_work::own_work(const void* asked_from) noexcept {
    asked_at = asked_from;
    ++in_own_work;
}
own_work::~own_work() {
    --in_own_work;
}

void access(const volatile void* address, std::size_t size, bool write) {
    const auto* where = static_cast<const volatile std::byte*>(address);
    const storage& locals = the().locals;
    if (where >= locals.begin && where < locals.begin + locals.size) return;
    if (address == &errno) return;  // the C library's own, one for all fibers
    if (write) {
        // A lock that is made anew.
        for (lock_state& one : the().locks) {
            if (where <= one.mutex && one.mutex < where + size) one = {one.mutex, -1, {}};
        }
    }
    note_access(address, size, write, false);
}

void forget(const volatile void* address, std::size_t size) {
    the().memory.forget(reinterpret_cast<std::uintptr_t>(address), size);
}

void freed(const volatile void* address, std::size_t size) {
    engine& e = the();
    if (e.warming) return;
    if (!e.memory.note_freed(reinterpret_cast<std::uintptr_t>(address), size, e.running->number,
                             e.running->knows.happened))
        report("data race: thread " + std::to_string(e.running->number) +
               " frees memory that another one uses");
}

std::uint64_t atomic_load(const volatile void* address, std::size_t size, order how) {
    refuse_seq_cst(how);
    variable& of = variable_at(address, size);
    const bool again = step(&of);
    visit(load, how);
    how = weakened(spoiled(load, &of), how);
    if (!again) note_access(address, size, false, true);
    const std::uint64_t value = read(of, how).value;
    note("load ", of, " ", name_of(how), ": ", value);
    return value;
}

void atomic_store(volatile void* address, std::size_t size, std::uint64_t value, order how) {
    refuse_seq_cst(how);
    variable& of = variable_at(address, size);
    step();
    visit(store, how);
    const mutant* rule = spoiled(store, &of, value);
    if (rule != nullptr && rule->how == mutant::leave_out) return;
    how = weakened(rule, how);
    note_access(address, size, true, true);
    write(of, size, value, how, nullptr);
    note("store ", of, " ", name_of(how), ": ", value);
}

std::uint64_t atomic_change(volatile void* address, std::size_t size, operation what, std::uint64_t value,
                            order how) {
    refuse_seq_cst(how);
    variable& of = variable_at(address, size);
    step();
    visit(what, how);
    const mutant* rule = spoiled(what, &of, value);
    if (rule != nullptr && rule->how == mutant::leave_out) return of.last().value;
    how = weakened(rule, how);
    note_access(address, size, true, true);
    view released;
    std::uint64_t before = read_last(of, how, released);
    const bool split = rule != nullptr && rule->how == mutant::split;
    if (split) step();
    write(of, size, cut(what == add ? before + value : value, size), how, split ? nullptr : &released);
    note(what == add ? "add " : "exchange ", of, " ", name_of(how), ": ", before, " -> ", of.last().value);
    return before;
}

bool atomic_compare_exchange(volatile void* address, std::size_t size, std::uint64_t& expected,
                             std::uint64_t value, bool weak, order how, order failing) {
    refuse_seq_cst(how);
    variable& of = variable_at(address, size);
    step();
    visit(compare_exchange, how);
    const mutant* rule = spoiled(compare_exchange, &of, value);
    how = weakened(rule, how);
    failing = weakened(rule, failing);
    note_access(address, size, true, true);
    const std::uint64_t found = of.last().value;
    if (found != expected || (weak && !the().bounded && choose(kind::weak, 2) == 1)) {
        view released;
        expected = read_last(of, failing, released);
        note("compare_exchange ", of, " fails: ", found);
        return false;
    }
    view released;
    read_last(of, how, released);
    const bool split = rule != nullptr && rule->how == mutant::split;
    if (split) step();
    write(of, size, value, how, split ? nullptr : &released);
    note("compare_exchange ", of, " ", name_of(how), ": ", found, " -> ", value);
    return true;
}

void atomic_fence(order how) {
    engine& e = the();
    step();
    visit(fence, how);
    const mutant* rule = spoiled(fence, nullptr);
    e.running->after = mutant::fenced;
    if (rule != nullptr && rule->how == mutant::leave_out) return;
    how = weakened(rule, how);
    fiber& self = *e.running;
    if (acquires(how)) self.knows.join(self.acquired);
    if (how == seq_cst) {
        self.knows.visible.join(e.fences);
        e.fences.join(self.knows.visible);
    }
    if (releases(how)) self.released = self.knows;
    self.tick();
    note("fence ", name_of(how));
}

// The kernel looks at the word and puts the thread to sleep under a lock, which a wake takes too.
int futex_wait(const void* word, std::uint32_t expected) {
    engine& e = the();
    fiber& self = *e.running;
    variable& of = variable_at(word, 4);
    step();
    self.after = mutant::slept;
    self.looked_at = nullptr;
    self.knows.visible.join(of.in_kernel);
    const std::uint64_t value = read(of, relaxed).value;
    of.in_kernel.join(self.knows.visible);
    self.tick();
    if (value != expected) {
        note("does not sleep on ", of, ": ", value);
        return -1;
    }
    if (e.spurious_left > 0 && choose(kind::spurious, 2) == 1) {
        --e.spurious_left;
        note("sleeps on ", of, ", woken by nobody");
        return 0;
    }
    note("sleeps on ", of);
    block(state::sleeping, &of);
    self.knows.visible.join(of.in_kernel);
    return 0;
}

int futex_wake(const void* word, int most) {
    engine& e = the();
    fiber& self = *e.running;
    variable& of = variable_at(word, 4);
    step();
    if (const mutant* rule = spoiled(wake, &of); rule != nullptr) return 0;
    of.in_kernel.join(self.knows.visible);
    self.tick();
    int woken = 0;
    while (woken < most) {
        std::array<fiber*, most_threads> asleep;
        std::size_t count = 0;
        for (fiber& one : e.fibers) {
            if (one.now == state::sleeping && one.waits_for == &of) asleep[count++] = &one;
        }
        if (count == 0) break;
        asleep[choose(kind::thread, most < most_threads ? count : 1)]->now = state::ready;
        ++woken;
    }
    note("wakes ", woken, " on ", of);
    return woken;
}

bool try_lock(const void* mutex) {
    step();
    fiber& self = *the().running;
    lock_state& one = lock_at(mutex);
    if (one.holder >= 0) return false;
    one.holder = self.number;
    self.knows.join(one.released);
    note("locks");
    return true;
}

void lock(const void* mutex) {
    while (!try_lock(mutex)) block(state::locking, mutex);
}

bool lock_in_time(const void* mutex) {
    while (!try_lock(mutex)) {
        if (choose(kind::time, 2) == 0) return false;
        block(state::locking, mutex);
    }
    return true;
}

void unlock(const void* mutex) {
    step();
    fiber& self = *the().running;
    lock_state& one = lock_at(mutex);
    one.holder = -1;
    one.released = self.knows;
    self.tick();
    wake_all(state::locking, mutex);
    note("unlocks");
}

bool wait_on(const void* condition, const void* mutex) {
    unlock(mutex);
    // No other thread has run since the lock was given back, so no signal is lost.
    const bool told = choose(kind::time, 2) == 0;
    if (told) {
        note("waits to be told");
        block(state::sleeping, condition);
    }
    lock(mutex);
    return told;
}

void tell_one(const void* condition) {
    step();
    for (fiber& one : the().fibers) {
        if (one.now != state::sleeping || one.waits_for != condition) continue;
        one.now = state::ready;
        break;
    }
    note("tells one");
}

std::uintptr_t start_thread(void* (*run)(void*), void* argument) {
    engine& e = the();
    fiber& self = *e.running;
    fiber& fresh = new_fiber();
    fresh.run = run;
    fresh.argument = argument;
    fresh.knows = self.knows;
    fresh.tick();
    self.tick();
    note("starts thread ", fresh.number);
    return static_cast<std::uintptr_t>(fresh.number);
}

void join_thread(std::uintptr_t thread) {
    fiber& other = the().fibers[thread];
    if (other.now != state::ended) block(state::joining, &other);
    the().running->knows.join(other.knows);
    note("has waited for the end of thread ", other.number);
}

int this_thread() noexcept {
    return the().running->number;
}

// Time is asked for after some looks that saw nothing new. Then the waiter's patience ends, or it looks on.
std::int64_t clock_ticks() {
    engine& e = the();
    fiber& self = *e.running;
    if (self.looked_at == nullptr || self.looked_at_switch != e.switches) return ++e.time;
    if (e.bounded || choose(kind::time, 2) == 0)
        e.time += longer_than_any_budget;
    else
        hand_over();
    return ++e.time;
}

void yield() {
    hand_over();
}

void name(const volatile void* address, const char* as, int of) {
    const own_work mine;
    variable& named = variable_at(address, 4);
    named.name = as;
    named.owner = of;
}

void check(bool holds, const char* what) {
    const own_work mine;
    if (!holds) report(std::string("broken: ") + what);
}

void end_other_threads() {
    const own_work mine;
    engine& e = the();
    note("forks");
    for (fiber& one : std::span(e.fibers).first(static_cast<std::size_t>(e.fibers_used))) {
        if (&one == e.running) continue;
        e.running->knows.join(one.knows);  // the child's memory is a copy
        if (one.now != state::ended) make_context(one);
        one.now = state::ended;
    }
}

result explore(const std::function<void()>& run, const settings& how) {
    engine& e = the();
    e.how = how;
    dl_iterate_phdr(&find_storage, &e.locals);
    e.random = how.seed * 0x9e3779b97f4a7c15U + 1;
    result found;
    own_state outside;
    outside.locals.resize(e.locals.size);

    int departures = 0;
    // Returns false after a finding.
    const auto execute = [&] {
        e.memory.begin_execution();
        e.fibers_used = 0;
        e.fences = {};
        e.locks.clear();
        e.steps = 0;
        e.on_path = 0;
        e.spurious_left = e.how.spurious;
        e.departures_left = departures;
        e.finding.clear();
        fiber& first = new_fiber();
        first.tick();
        first.run = [](void* program) -> void* {
            (*static_cast<const std::function<void()>*>(program))();
            return nullptr;
        };
        first.argument = const_cast<std::function<void()>*>(&run);
        save_own(outside);
        in_execution = true;
        in_own_work = 1;
        if (_setjmp(e.outside) == 0) resume(first);
        in_execution = false;
        in_own_work = 0;
        restore_own(outside);
        ++found.executions;
        found.steps += e.steps;
        return e.finding.empty();
    };
    const auto explain = [&] {
        found.finding = e.finding;
        e.choosing = way::replay;
        e.tracing = true;
        e.trace.clear();
        const std::uint64_t executions = found.executions;
        execute();
        found.executions = executions;
        e.tracing = false;
        found.trace = e.trace;
        return found;
    };

    // What is made once a process is made here, where nothing is a finding.
    e.bounded = true;
    e.choosing = way::search;
    e.path.clear();
    e.warming = true;
    execute();
    e.warming = false;
    found = {};

    for (departures = 0; found.executions < how.search; ++departures) {
        e.path.clear();
        do {
            if (!execute()) return explain();
            while (!e.path.empty() && e.path.back().taken + 1 == e.path.back().of) e.path.pop_back();
            if (!e.path.empty()) ++e.path.back().taken;
        } while (!e.path.empty() && found.executions < how.search);
        if (e.path.empty()) found.complete = departures;
    }
    e.bounded = false;
    e.choosing = way::random;
    for (std::uint64_t i = 0; i < how.random; ++i) {
        e.path.clear();
        e.switch_mask = (2U << draw() % 6) - 1;
        e.stale_mask = (2U << draw() % 5) - 1;
        if (!execute()) return explain();
    }
    return found;
}

}  // namespace explorer
