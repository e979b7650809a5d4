#include "pinning.hpp"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include <tauto/signed.hpp>

#include "copies.hpp"
#include "forks.hpp"
#include "machine_files.hpp"
#include "machine_limits.hpp"
#include "plain_list.hpp"

namespace tauto::detail {

// A thread's number and its beginning: no two have both.
struct birth {
    pid_t thread = 0;
    std::int64_t ticks = -1;  // as the system counts; -1: it does not tell
    bool operator==(const birth&) const = default;
};

// A thread that has made teams that pin. It lasts as long as one of these teams; where the system refuses to
// give the thread its CPUs back, as long as the thread. Everything in it is read and written under
// locks_of_process().pins; the thread ends under that lock too, so a thread that is `alive` there cannot have
// lent its number to another one.
struct thread_pins {
    thread_pins* next = nullptr;  // in the list of all
    pid_t thread = static_cast<pid_t>(syscall(SYS_gettid));
    unsigned generation = current_fork_generation();  // of the process that the thread is in
    bool alive = true;
    cpu_mask before;                    // the CPUs that it had before its first team
    std::vector<int> before_list;       // the same
    std::vector<int> free;              // those that it would have had if no other thread had been pinned
    std::int64_t began = 0;             // its first team, in the ticks in which the system counts births
    std::vector<const pinning*> teams;  // that live, oldest first
    std::vector<birth> widened;         // threads that were given `free`, latest last
    std::int64_t threads_seen = 0;      // of the process, when they were last looked at
    int looks_spared = 0;               // since then
    int kept_cpu = -1;                  // no team is left, but the system has not given `before` back

    [[nodiscard]] bool here() const noexcept { return alive && generation == current_fork_generation(); }
    // 0, or the number of the failure; with a team left.
    [[nodiscard]] int apply(pid_t to) const noexcept { return teams.back()->first_.confine(to); }
};

namespace {

// All of them, oldest first. A list of their own, with nothing to destroy, as teams may end while statics are
// torn down; and no thread has a pointer into it, so a library that is unloaded leaves none behind.
constinit thread_pins* all_pins = nullptr;
// Likewise, of teams whose members are pinned: also where no maker is, as it has not called yet.
constinit pinning* all_pinnings = nullptr;
constinit bool statics_are_torn_down = false;

// The thread's in the process of this generation; null: none.
thread_pins* pins_of(pid_t thread, unsigned generation) noexcept {
    thread_pins* one = all_pins;
    while (one != nullptr && !(one->alive && one->thread == thread && one->generation == generation))
        one = one->next;
    return one;
}

// The calling thread's.
thread_pins* own_pins() noexcept {
    return pins_of(static_cast<pid_t>(syscall(SYS_gettid)), current_fork_generation());
}

thread_pins* new_pins() {
    thread_pins** last = &all_pins;
    while (*last != nullptr) last = &(*last)->next;
    return *last = new thread_pins;
}

void drop_if_over(thread_pins* pins) noexcept {
    if (!pins->teams.empty() || (pins->kept_cpu >= 0 && pins->here() && !statics_are_torn_down)) return;
    remove_from(all_pins, &thread_pins::next, pins);
    delete pins;
}

// A team that has ended: threads that were born while it lived may still have the CPU of one of its members.
struct past_team {
    past_team* older;
    std::vector<int> cpus;
    std::vector<int> free;  // as its maker's
    std::int64_t begin;
    std::int64_t end;
};
constinit past_team* past_teams = nullptr;  // with the lock held
constexpr int most_past_teams = 16;

void forget_older_than(past_team** first) noexcept {
    while (*first != nullptr) {
        past_team* const one = *first;
        *first = one->older;
        delete one;
    }
}

// As the system counts a thread's birth.
std::int64_t now_since_boot() noexcept {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    const std::int64_t rate = sysconf(_SC_CLK_TCK);
    return now.tv_sec * rate + now.tv_nsec * rate / 1'000'000'000;
}

// Of a thread of this process; -1: the system does not tell, or it has ended.
std::int64_t birth_since_boot(std::string_view thread) {
    const auto text = file_tree("/").text("/proc/" + std::string(thread) + "/stat");
    if (!text) return -1;
    // "number (name) state …": the birth is the 20th word after the name, which may hold anything.
    std::istringstream words(text->substr(text->rfind(')') + 1));
    std::string word;
    for (int i = 0; i < 20; ++i) words >> word;
    return to_integer(word).value_or(-1);
}

// Calls back when a thread that has pins ends; not a thread_local's destructor, which would come before that
// of a static team, and would keep a library from being unloaded.
struct end_of_thread {
    pthread_key_t key{};
    bool made = pthread_key_create(&key, [](void*) {
                    const std::lock_guard lock(locks_of_process().pins);
                    thread_pins* const ending = own_pins();
                    if (ending == nullptr) return;
                    ending->alive = false;
                    drop_if_over(ending);
                }) == 0;
    ~end_of_thread() {
        if (made) pthread_key_delete(key);
        const std::lock_guard lock(locks_of_process().pins);
        statics_are_torn_down = true;
        for (thread_pins* one = all_pins; one != nullptr;) drop_if_over(std::exchange(one, one->next));
        forget_older_than(&past_teams);
    }
};

int only_one_of(const std::vector<int>& cpus) noexcept {
    return cpus.size() == 1 ? cpus[0] : -1;
}

// Whose team has a member there, which perhaps started a thread that is on that CPU alone and that no team of
// this copy has pinned. Null: nobody's. With the lock held.
thread_pins* pins_of_birth_on(int only_cpu) noexcept {
    if (only_cpu < 0) return nullptr;
    for (thread_pins* other = all_pins; other != nullptr; other = other->next) {
        for (const pinning* team : other->teams) {
            if (std::find(team->cpus().begin(), team->cpus().end(), only_cpu) != team->cpus().end())
                return other;
        }
    }
    return nullptr;
}
// The CPUs of such a thread. Null: nobody here knows.
const std::vector<int>* free_of_birth_on(int only_cpu) noexcept {
    const thread_pins* const found = pins_of_birth_on(only_cpu);
    return found != nullptr ? &found->free : nullptr;
}

// The same where the team has ended since.
const std::vector<int>* free_of_birth_on_past(int only_cpu) {
    if (only_cpu < 0 || past_teams == nullptr) return nullptr;
    const std::int64_t birth = birth_since_boot("thread-self");
    for (const past_team* one = past_teams; one != nullptr; one = one->older) {
        if (birth >= one->begin && birth <= one->end &&
            std::find(one->cpus.begin(), one->cpus.end(), only_cpu) != one->cpus.end())
            return &one->free;
    }
    return nullptr;
}

// What is known of the calling thread.
struct known_thread {
    std::vector<int> now = affinity_of_caller();
    pin_elsewhere elsewhere = ask_other_copies(static_cast<pid_t>(syscall(SYS_gettid)), only_one_of(now));

    // Its own record counts, unless the system has moved it since. With the lock held, as below.
    [[nodiscard]] const thread_pins* pinned_here() const noexcept {
        const thread_pins* const own = own_pins();
        if (own == nullptr) return nullptr;
        const bool stays = own->kept_cpu >= 0 && own->kept_cpu == only_one_of(now);
        return !own->teams.empty() || stays ? own : nullptr;
    }
    [[nodiscard]] std::vector<int> before() const {
        if (const thread_pins* own = pinned_here()) return own->before_list;
        return elsewhere.cpu >= 0 ? cpus_of(elsewhere.before) : now;
    }
    [[nodiscard]] std::vector<int> free() const {
        if (const thread_pins* own = pinned_here()) return own->free;
        if (elsewhere.cpu >= 0) return cpus_of(elsewhere.free);
        if (const auto* found = free_of_birth_on(only_one_of(now))) return *found;
        if (elsewhere.known) return cpus_of(elsewhere.free);
        const auto* past = free_of_birth_on_past(only_one_of(now));
        return past != nullptr ? *past : now;
    }
};

constinit pid_t forking_thread = 0;

// Of a team of this copy that pins. With the lock held.
bool is_member(pid_t thread) noexcept {
    return pins_of(thread, current_fork_generation()) != nullptr || pinning::cpu_of_worker(thread) >= 0;
}

// OpenMP was asked to pin its threads: some may have a team's CPU on purpose.
bool openmp_pins() noexcept {
    static const bool asked = [] {
        for (const char* name : {"OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
            const char* value = std::getenv(name);
            if (value != nullptr && *value != '\0') return true;
        }
        const char* bind = std::getenv("OMP_PROC_BIND");
        return bind != nullptr && *bind != '\0' && strcasecmp(bind, "false") != 0;
    }();
    return asked;
}

// Of this process, in the system's own count; -1: it does not tell.
std::int64_t count_threads() noexcept {
    struct stat folder {};
    return stat("/proc/self/task", &folder) == 0 ? static_cast<std::int64_t>(folder.st_nlink) : -1;
}

// The threads of this process that may run on that CPU alone; none where /proc is another namespace's, so
// that its numbers are others' here. Not with std::filesystem, which ends the program where there is no
// memory.
std::vector<pid_t> threads_only_on(int cpu) {
    const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir("/proc/self/task"), &closedir);
    const auto own = static_cast<pid_t>(syscall(SYS_gettid));
    bool knows_us = false;
    std::vector<pid_t> found;
    while (all != nullptr) {
        const dirent* const entry = readdir(all.get());
        if (entry == nullptr) break;
        const auto thread = static_cast<pid_t>(to_integer(entry->d_name).value_or(0));
        knows_us = knows_us || thread == own;
        if (thread > 0 && only_one_of(affinity_of(thread)) == cpu) found.push_back(thread);
    }
    return knows_us ? found : std::vector<pid_t>{};
}

constexpr int most_looks_spared = 4;
constexpr std::size_t most_widened = 4096;  // that are remembered

// A thread that was born with one of these CPUs. False where it was not, or was widened before. With the lock
// held.
bool widen_once(thread_pins& pins, const birth& born) {
    std::vector<birth>& widened = pins.widened;
    const bool is_known = std::find(widened.begin(), widened.end(), born) != widened.end();
    if (is_known || born.ticks < pins.began || is_member(born.thread)) return false;
    if (widened.size() == most_widened) widened.erase(widened.begin());
    widened.push_back(born);
    return cpu_mask(pins.free).confine(born.thread) == 0;
}

}  // namespace

void note_forking_thread() noexcept {
    forking_thread = static_cast<pid_t>(syscall(SYS_gettid));
}

void take_pins_into_child() noexcept {
    thread_pins* const own = pins_of(forking_thread, current_fork_generation() - 1);
    if (own == nullptr) return;
    own->thread = static_cast<pid_t>(syscall(SYS_gettid));
    own->generation = current_fork_generation();
}

machine_record machine_without_pinning() {
    const cpu_mask before(affinity_of_caller());
    const cpu_mask wide(cpus_without_pinning());
    struct widened {
        const cpu_mask& back;
        ~widened() { (void)back.confine(0); }
    };
    const widened until_read{before};
    if (!before.empty()) (void)wide.confine(0);
    return read_machine();
}

std::vector<int> cpus_without_pinning() {
    const known_thread me;
    const std::lock_guard lock(locks_of_process().pins);
    return me.free();
}

void answer_other_copy(pid_t thread, int only_cpu, pin_elsewhere& answer) noexcept {
    answer.who = &locks_of_process();
    const std::lock_guard lock(locks_of_process().pins);
    const thread_pins* const one = pins_of(thread, current_fork_generation());
    if (one != nullptr && !one->teams.empty()) {
        answer.known = true;
        answer.cpu = one->teams.back()->cpus()[0];
        set_cpus(answer.before, one->before_list);
        set_cpus(answer.free, one->free);
        return;
    }
    const int cpu = pinning::cpu_of_worker(thread);
    const auto* free = free_of_birth_on(cpu >= 0 ? cpu : only_cpu);
    if (free == nullptr) return;
    answer.known = true;
    set_cpus(answer.free, *free);
    if (cpu < 0) return;
    answer.cpu = cpu;
    set_cpu(answer.before, cpu);
}

std::uint64_t identity_of_this_thread() noexcept {
    static constinit std::atomic<std::uint64_t> given{0};
    thread_local constinit std::uint64_t own = 0;
    if (own == 0) own = given.fetch_add(1, std::memory_order_relaxed) + 1;
    return own;
}

pinning::pinning(std::vector<int> cpus, bool wanted, bool maker_too)
    : cpus_(std::move(cpus)), wanted_(wanted), maker_too_(maker_too), workers_(cpus_.size()) {
    if (!wanted_) return;
    const std::lock_guard lock(locks_of_process().pins);
    next_ = std::exchange(all_pinnings, this);
}

pinning::~pinning() {
    if (!wanted_) return;
    const std::lock_guard lock(locks_of_process().pins);
    remove_from(all_pinnings, &pinning::next_, this);
}

void pinning::pin_maker() {
    if (!wanted_ || !maker_too_ || maker_asked_ || maker_ != identity_of_this_thread()) return;
    maker_asked_ = true;
    static const end_of_thread hook;
    const known_thread me;
    const std::lock_guard lock(locks_of_process().pins);
    if (me.now.empty()) return note_refusal(0, "its CPUs cannot be read, to be given back");
    // Nobody would tell when the thread ends. Once statics are torn down, nobody need be told.
    if (!statics_are_torn_down && (!hook.made || pthread_setspecific(hook.key, &hook) != 0))
        return note_refusal(0, "the system has no key for a thread's own data left");
    first_ = cpu_mask(std::span(cpus_).first(1));
    thread_pins* own = own_pins();
    if (own == nullptr) own = new_pins();
    struct undone {
        thread_pins* pins;
        ~undone() { drop_if_over(pins); }
    };
    const undone unless_pinned{own};
    if (own->teams.empty()) {
        std::vector<int> before = me.before();
        std::vector<int> free = me.free();
        own->before = cpu_mask(before);
        own->before_list = std::move(before);
        own->free = std::move(free);
        own->began = now_since_boot();
    }
    own->teams.reserve(own->teams.size() + 1);
    if (!pin_to_cpu_of(0)) return;
    own->teams.push_back(this);
    began_ = now_since_boot();
    own->kept_cpu = -1;
    caller_ = own;
}

void pinning::restore_caller() noexcept {
    if (caller_ == nullptr) return;
    widen_started(true);
    pid_t thread = 0;
    {
        const std::lock_guard lock(locks_of_process().pins);
        if (caller_->here()) thread = caller_->thread;
    }
    pin_elsewhere elsewhere;
    if (thread != 0) elsewhere = ask_other_copies(thread, -1);
    const std::lock_guard lock(locks_of_process().pins);
    try {
        past_teams = new past_team{past_teams, cpus_, caller_->free, began_, now_since_boot()};
        past_team** last = &past_teams;
        for (int i = 0; i < most_past_teams && *last != nullptr; ++i) last = &(*last)->older;
        forget_older_than(last);
    } catch (const std::bad_alloc&) {  // then such a thread has the CPU that it has
    }
    const bool newest = caller_->teams.back() == this;
    std::erase(caller_->teams, this);
    if (newest && caller_->here()) {
        if (!caller_->teams.empty()) {
            (void)caller_->apply(caller_->thread);
        } else if (elsewhere.cpu >= 0) {
            plain_mask there;
            there.fill(0);
            set_cpu(there, elsewhere.cpu);
            (void)confine(caller_->thread, there);
        } else if (caller_->before.confine(caller_->thread) != 0) {
            caller_->kept_cpu = cpus_[0];
        }
    }
    drop_if_over(std::exchange(caller_, nullptr));
}

void pinning::begin_on_cpu_of(int rank, pthread_attr_t& attributes) const noexcept {
    if (!wanted_) return;
    try {
        const cpu_mask there(std::span(&at(cpus_, rank), 1));
        (void)pthread_attr_setaffinity_np(&attributes, there.bytes(), there.set());
    } catch (const std::bad_alloc&) {  // then it is pinned once it runs
    }
}

void pinning::pin_worker(int rank) noexcept {
    if (!wanted_) return;
    {
        // First: from here on no look gives it other CPUs, and what an earlier one gave is undone below.
        const std::lock_guard lock(locks_of_process().pins);
        at(workers_, rank) = static_cast<pid_t>(syscall(SYS_gettid));
    }
    (void)pin_to_cpu_of(rank);
}

int pinning::cpu_of_worker(pid_t thread) noexcept {
    for (const pinning* one = all_pinnings; one != nullptr; one = one->next_) {
        const auto found = std::find(one->workers_.begin(), one->workers_.end(), thread);
        if (found != one->workers_.end()) return at(one->cpus_, found - one->workers_.begin());
    }
    return -1;
}

// The CPU of the maker, whose births are to be looked for now; -1: none are. With the lock held.
int pinning::cpu_to_look_on(bool surely) const noexcept {
    const int cpu = maker_cpu();
    if (cpu < 0 || caller_->free.size() < 2) return -1;
    const std::int64_t threads = count_threads();
    const bool as_before = threads >= 0 && threads == caller_->threads_seen;
    if (!surely && as_before && ++caller_->looks_spared <= most_looks_spared) return -1;
    caller_->threads_seen = threads;
    caller_->looks_spared = 0;
    return cpu;
}

int pinning::maker_cpu() const noexcept {
    const bool is_pinned = caller_ != nullptr && caller_->here() && !caller_->teams.empty();
    return is_pinned ? caller_->teams.back()->cpus()[0] : -1;
}

void pinning::widen_started(bool surely) const noexcept {
    if (openmp_pins()) return;
    std::mutex& pins = locks_of_process().pins;
    try {
        int cpu = -1;
        {
            const std::lock_guard lock(pins);
            cpu = cpu_to_look_on(surely);
        }
        if (cpu < 0) return;
        std::vector<pid_t> narrow = threads_only_on(cpu);
        {
            const std::lock_guard lock(pins);
            std::erase_if(narrow, is_member);
        }
        std::vector<birth> started;
        for (const pid_t thread : narrow)
            if (ask_other_copies(thread, -1).cpu < 0)
                started.push_back({thread, birth_since_boot("self/task/" + std::to_string(thread))});
        const std::lock_guard lock(pins);
        if (maker_cpu() != cpu) return;
        for (const birth& one : started) (void)widen_once(*caller_, one);
    } catch (...) {  // no memory: the next look gives them back
    }
}

void widen_caller() noexcept {
    thread_local constinit bool looked = false;
    if (std::exchange(looked, true) || openmp_pins()) return;
    try {
        const int cpu = only_one_of(affinity_of_caller());
        if (cpu < 0) return;
        const auto own = static_cast<pid_t>(syscall(SYS_gettid));
        if (ask_other_copies(own, -1).cpu >= 0) return;
        const birth born{own, birth_since_boot("thread-self")};
        {
            const std::lock_guard lock(locks_of_process().pins);
            thread_pins* const started_by = pins_of_birth_on(cpu);
            if (started_by == nullptr || started_by->free.size() < 2) return;
            if (!widen_once(*started_by, born)) return;
        }
        // The system looks for a CPU where a thread wakes; one that runs stays beside who started it, and all
        // others that it has started.
        usleep(1);
    } catch (...) {  // no memory: the next look of the team does it
    }
}

std::vector<std::string> pinning::notes() const {
    const std::lock_guard lock(locks_of_process().notes);
    return notes_;
}

bool pinning::pin_to_cpu_of(int rank) noexcept {
    int failure = ENOMEM;
    try {
        failure = cpu_mask(std::span(&at(cpus_, rank), 1)).confine(0);
    } catch (const std::bad_alloc&) {
    }
    if (failure != 0) note_refusal(rank, std::strerror(failure));
    return failure == 0;
}

void pinning::note_refusal(int rank, const char* why) noexcept {
    pinned_.store(false, std::memory_order_relaxed);
    try {
        const std::lock_guard lock(locks_of_process().notes);
        notes_.push_back("member " + std::to_string(rank) + " could not be pinned to CPU " +
                         std::to_string(at(cpus_, rank)) + ": " + why + "; it runs where the system puts it");
    } catch (const std::bad_alloc&) {  // pinned() says it
    }
}

}  // namespace tauto::detail
