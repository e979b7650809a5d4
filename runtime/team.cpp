#include <tauto/team.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <set>

#include <tauto/machine.hpp>

#include "team_state.hpp"

namespace tauto {
namespace detail {
namespace {

std::atomic<unsigned> fork_generations{0};

// Constructed at load time, so that no fork can come before it.
const int fork_handler =
    pthread_atfork(nullptr, nullptr, [] { fork_generations.fetch_add(1, std::memory_order_relaxed); });

// The mask that this thread had before its outermost team pinned it.
thread_local std::optional<cpu_set_t> mask_before_pinning;

// What the machine allows this thread, seen as if no team had pinned it.
machine_record this_machine() {
    if (!mask_before_pinning) return read_machine();
    cpu_set_t pinned;
    CPU_ZERO(&pinned);
    sched_getaffinity(0, sizeof pinned, &pinned);
    set_affinity(0, *mask_before_pinning);
    machine_record record = read_machine();
    set_affinity(0, pinned);
    return record;
}

std::vector<int> cpus_of(const cpu_set_t& mask) {
    std::vector<int> list;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask)) list.push_back(cpu);
    }
    return list;
}

std::string text_of(std::span<const int> cpus) {
    std::string text;
    for (const int cpu : cpus) text += (text.empty() ? "" : ",") + std::to_string(cpu);
    return text;
}

std::vector<int> default_cpus() {
    if (const char* selection = std::getenv("TAUTO_CPUS"); selection != nullptr && *selection != '\0') {
        return select_cpus(this_machine(), selection);
    }
    return default_team_cpus(this_machine());
}

// The list dealt out to `size` members in turn.
std::vector<int> member_cpus(const team_options& options) {
    if (options.size < 0 || options.size > 4096) {
        throw error("a team of " + std::to_string(options.size) +
                    " members was asked for; use 1 to 4096, or 0 for one each CPU");
    }
    const std::vector<int> list = options.cpus.empty() ? default_cpus() : options.cpus;
    const std::vector<int> allowed = cpus_of(unpinned_mask_of_this_thread());
    for (const int cpu : list) {
        if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end()) {
            throw error("CPU " + std::to_string(cpu) + " was asked for, but this process may run on CPUs " +
                        text_of(allowed) + " only; name some of these, or widen the mask (taskset, cpuset)");
        }
    }
    const std::size_t size = options.size == 0 ? list.size() : static_cast<std::size_t>(options.size);
    std::vector<int> cpus(size);
    for (std::size_t rank = 0; rank < size; ++rank) cpus[rank] = list[rank % list.size()];
    return cpus;
}

wait_policy default_wait() {
    const char* text = std::getenv("TAUTO_WAIT");
    return text == nullptr || *text == '\0' ? wait_policy::balanced : wait_policy_from(text);
}

}  // namespace

unsigned current_fork_generation() noexcept {
    return fork_generations.load(std::memory_order_relaxed);
}

int set_affinity(pid_t thread, const cpu_set_t& mask) noexcept {
    return sched_setaffinity(thread, sizeof mask, &mask);
}

cpu_set_t unpinned_mask_of_this_thread() noexcept {
    if (mask_before_pinning) return *mask_before_pinning;
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(0, sizeof mask, &mask);
    return mask;
}

std::vector<int> default_team_cpus(const machine_record& machine) {
    std::vector<int> cpus = select_cpus(machine, "cores");
    const auto most = static_cast<std::size_t>(std::max(1, machine.usable_members));
    if (cpus.size() > most) cpus.resize(most);
    return cpus;
}

team_state::team_state(std::vector<int> list) : cpus(std::move(list)), shared(static_cast<int>(cpus.size())) {
    const std::size_t size = cpus.size();
    oversubscribed = std::set<int>(cpus.begin(), cpus.end()).size() < size;
    boxes = std::make_unique<mailbox[]>(size);
    reports = std::make_unique<report_line[]>(size);
    everyone.resize(size);
    std::iota(everyone.begin(), everyone.end(), 0);
    equal_speeds.assign(size, 1.0);
    loop.boxes = {boxes.get(), size};
    loop.ranks.reserve(size);
    loop.speeds.reserve(size);
    loop.bounds.reserve(size + 1);
    turn.emplace();
    fork_generation = current_fork_generation();
}

void team_state::pin_caller() {
    caller_thread = static_cast<pid_t>(syscall(SYS_gettid));
    cpu_set_t before = unpinned_mask_of_this_thread();
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(static_cast<std::size_t>(cpus[0]), &mask);
    if (set_affinity(0, mask) != 0) {
        note_pin_refused(0, cpus[0], errno);
        return;
    }
    if (!mask_before_pinning) {
        mask_before_pinning = before;
        caller_mask = before;
    }
}

void team_state::restore_caller() noexcept {
    // Only the outermost team of a thread gives the CPUs back; a thread that has ended needs them no more.
    if (!caller_mask) return;
    set_affinity(caller_thread, *caller_mask);
    if (static_cast<pid_t>(syscall(SYS_gettid)) == caller_thread) mask_before_pinning.reset();
}

void team_state::note_pin_refused(int rank, int cpu, int error_number) {
    pinned.store(false, std::memory_order_relaxed);
    const std::lock_guard lock(notes_mutex);
    notes.push_back("member " + std::to_string(rank) + " could not be pinned to CPU " + std::to_string(cpu) +
                    ": " + std::strerror(error_number) + "; it runs where the system puts it");
}

void team_state::start_workers() {
    workers.assign(cpus.size(), {});
    // Signals of the process belong to the program's own threads.
    sigset_t every;
    sigset_t before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int failure = 0;
    for (std::size_t rank = 1; rank < cpus.size() && failure == 0; ++rank) {
        worker& one = workers[rank];
        one.owner = this;
        one.rank = static_cast<int>(rank);
        failure = pthread_create(&one.thread, nullptr, &worker_main, &one);
        one.started = failure == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failure != 0) {
        stop_workers();
        throw error("the system gave no thread for a team of " + std::to_string(cpus.size()) + " members: " +
                    std::strerror(failure) + "; ask for fewer, or raise the limit (ulimit -u, pids.max)");
    }
}

void team_state::stop_workers() noexcept {
    if (fork_generation.load(std::memory_order_relaxed) != current_fork_generation()) return;
    for (worker& one : workers) {
        if (!one.started) continue;
        mailbox& box = boxes[static_cast<std::size_t>(one.rank)];
        box.mode = launch_mode::end;
        box.ticket.store(box.ticket.load(std::memory_order_relaxed) + 2, std::memory_order_release);
        const int rank = one.rank;
        wake_parked({&rank, 1});
        pthread_join(one.thread, nullptr);
        one.started = false;
    }
}

void team_state::recover_after_fork() {
    // Only the thread that called fork lives on; the mutex may have been held by one that does not.
    turn.emplace();
    for (std::size_t rank = 0; rank < cpus.size(); ++rank) {
        boxes[rank].ticket.store(0, std::memory_order_relaxed);
        boxes[rank].parked.store(0, std::memory_order_relaxed);
        reports[rank].done.store(0, std::memory_order_relaxed);
    }
    loop.failed.store(false, std::memory_order_relaxed);
    if (meetings) meetings->reset();
    fork_generation.store(current_fork_generation(), std::memory_order_relaxed);
    start_workers();
}

// Ticks that launching and joining the first `width` members takes at best.
double team_state::measure_fork_join(int width) {
    const loop_call empty{[](const void*, range, int) {}, nullptr, width, nullptr, nullptr};
    loop.ranks.assign(everyone.begin(), everyone.begin() + width);
    loop.bounds.resize(static_cast<std::size_t>(width) + 1);
    std::iota(loop.bounds.begin(), loop.bounds.end(), index{0});
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int repeat = 0; repeat < 8; ++repeat) {
        const std::int64_t start = ticks();
        fork_and_join(empty, launch_mode::fixed);
        least = std::min(least, ticks() - start);
    }
    return static_cast<double>(least);
}

void team_state::measure_widths() {
    const int size = static_cast<int>(cpus.size());
    // Widths that can matter: one, powers of two, all.
    std::set<int> widths{1, size};
    for (int width = 2; width < size; width *= 2) widths.insert(width);
    model_options.microsecond = 1000 * ticks_per_nanosecond();
    for (const int width : widths) {
        const std::set<int> distinct(cpus.begin(), cpus.begin() + width);
        fork_ticks = width > 1 ? measure_fork_join(width) : 0;
        model_options.widths.push_back({width, fork_ticks, static_cast<int>(distinct.size())});
    }
}

}  // namespace detail

team::team(team_options options)
    : records_(std::make_unique<std::atomic<detail::site_record*>[]>(max_sites)),
      state_(std::make_unique<detail::team_state>(detail::member_cpus(options))) {
    detail::team_state& state = *state_;
    state.wait = options.wait ? *options.wait : detail::default_wait();
    state.pin = options.pin;
    state.join_budget = std::make_unique<detail::spin_budget>(state.wait, state.oversubscribed);
    if (options.pin) state.pin_caller();
    try {
        state.start_workers();
    } catch (...) {
        state.restore_caller();
        throw;
    }
    state.measure_widths();
}

team::~team() {
    if (state_->fork_generation.load(std::memory_order_relaxed) == detail::current_fork_generation()) {
        const std::lock_guard lock(*state_->turn);
        state_->stop_workers();
    }
    state_->restore_caller();
}

int team::size() const noexcept {
    return static_cast<int>(state_->cpus.size());
}
const std::vector<int>& team::cpus() const noexcept {
    return state_->cpus;
}
wait_policy team::wait() const noexcept {
    return state_->wait;
}
bool team::oversubscribed() const noexcept {
    return state_->oversubscribed;
}
bool team::pinned() const noexcept {
    return state_->pinned.load(std::memory_order_relaxed);
}

std::vector<std::string> team::notes() const {
    const std::lock_guard lock(state_->notes_mutex);
    return state_->notes;
}

double team::fork_join_seconds() const noexcept {
    return state_->fork_ticks / detail::ticks_per_nanosecond() * 1e-9;
}

detail::loop_model& team::model_for(tauto::site& where, index n) {
    static std::atomic<int> next_id{0};
    int id = where.id_.load(std::memory_order_relaxed);
    if (id < 0) {
        const int fresh = next_id.fetch_add(1, std::memory_order_relaxed) % max_sites;
        // Another team may name the site at the same moment: the first one counts.
        id = where.id_.compare_exchange_strong(id, fresh, std::memory_order_relaxed) ? fresh : id;
    }
    detail::team_state& state = *state_;
    detail::site_record* record = records_[static_cast<std::size_t>(id)].load(std::memory_order_relaxed);
    if (record == nullptr) {
        state.records.push_back(std::make_unique<detail::site_record>());
        record = state.records.back().get();
        // Pairs with the acquire load in take_inline_call.
        records_[static_cast<std::size_t>(id)].store(record, std::memory_order_release);
    }
    std::atomic<detail::loop_model*>& slot = record->models[std::bit_width(static_cast<std::uint64_t>(n))];
    detail::loop_model* model = slot.load(std::memory_order_relaxed);
    if (model == nullptr) {
        state.models.push_back(std::make_unique<detail::loop_model>(state.model_options));
        model = state.models.back().get();
        slot.store(model, std::memory_order_release);
    }
    return *model;
}

bool team::execute(const detail::loop_call& call) {
    detail::team_state& state = *state_;
    if (detail::inside_loop) return state.run_inline(call);
    if (state.fork_generation.load(std::memory_order_relaxed) != detail::current_fork_generation()) {
        state.recover_after_fork();
    }
    const std::lock_guard lock(*state.turn);
    if (call.options->stop.stop_possible() && call.options->stop.stop_requested()) return false;
    if (std::holds_alternative<weighted>(call.options->schedule)) {
        return state.run_weighted(call, model_for(*call.site, call.n));
    }
    if (!std::holds_alternative<adaptive>(call.options->schedule)) return state.run_schedule(call);
    return state.run_adaptive(call, model_for(*call.site, call.n));
}

}  // namespace tauto
