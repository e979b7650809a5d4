#pragma once
// The private half of a team.

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <tauto/parallel_for.hpp>

namespace tauto::detail {

// One loop in flight. Written by the caller before the launch; members read it, and write only `failed`,
// `failure` (whoever turned `failed`) and, through it, the schedule's shared state.
struct loop_state {
    std::span<mailbox> boxes;
    std::vector<int> ranks;       // participants; [0] is the caller
    std::vector<double> speeds;   // by position in `ranks`
    std::vector<double> margins;  // likewise, in the plan's time
    std::vector<index> bounds;    // by position, one more than participants
    adaptive_plan plan;
    worksharing* shared = nullptr;
    const std::stop_token* stop = nullptr;  // null when the loop cannot be cancelled
    const char* name = nullptr;
    std::int64_t launch_ticks = 0;
    bool workers_may_steal = true;
    double fastest = 0;  // of `speeds`
    // On a line of its own, which stays in every member's cache: written only when a body has thrown.
    alignas(128) std::atomic<bool> failed{false};
    alignas(128) std::exception_ptr failure;

    [[nodiscard]] int width() const noexcept { return static_cast<int>(ranks.size()); }
    // Of the fastest members nobody could take the rest sooner.
    [[nodiscard]] bool may_leave(int position) const noexcept {
        return margins[static_cast<std::size_t>(position)] > 0 ||
               speeds[static_cast<std::size_t>(position)] < fastest;
    }
    [[nodiscard]] bool should_stop(bool cancellable) const noexcept {
        return failed.load(std::memory_order_relaxed) || (cancellable && stop->stop_requested());
    }
};

struct team_state {
    struct worker {
        team_state* owner = nullptr;
        int rank = 0;
        pthread_t thread{};
        bool started = false;
    };

    std::vector<int> cpus;
    wait_policy wait = wait_policy::balanced;
    bool pin = true;
    bool oversubscribed = false;
    std::atomic<bool> pinned{true};
    mutable std::mutex notes_mutex;
    std::vector<std::string> notes;

    std::unique_ptr<mailbox[]> boxes;
    std::unique_ptr<report_line[]> reports;
    std::vector<worker> workers;  // by rank; [0] is unused
    worksharing shared;
    loop_state loop;
    loop_model_options model_options;
    std::vector<std::unique_ptr<site_record>> records;
    std::vector<std::unique_ptr<loop_model>> models;
    std::vector<int> everyone;
    std::vector<double> equal_speeds;
    std::unique_ptr<spin_budget> join_budget;
    double fork_ticks = 0;
    std::unique_ptr<collectives> meetings;  // made by the first run

    // Held by the thread whose turn it is. In an optional, so that a forked child can have a fresh one.
    std::optional<std::mutex> turn;
    std::atomic<unsigned> fork_generation{0};
    pid_t caller_thread = 0;
    std::optional<cpu_set_t> caller_mask;

    explicit team_state(std::vector<int> member_cpus);
    team_state(const team_state&) = delete;
    team_state& operator=(const team_state&) = delete;

    // execute.cpp: loops.
    bool run_inline(const loop_call& call);
    bool run_schedule(const loop_call& call);
    bool run_adaptive(const loop_call& call, loop_model& model);
    bool run_first_dear(const loop_call& call, loop_model& model);
    bool run_weighted(const loop_call& call, loop_model& model);
    bool run_forked_adaptive(const loop_call& call, loop_model& model);
    void record_members(loop_model& model, std::int64_t end) const;
    void prepare(const loop_call& call, std::span<const int> ranks);
    void plan_adaptive(const loop_call& call, const loop_model& model);
    void fill_report(const loop_call& call, int width) const;

    // run.cpp: SPMD.
    void run_on_all(const run_call& call, const char* name);
    void prepare_meetings();
    void choose_shape();
    std::int64_t barrier_ticks();

    // team.cpp: life of the members.
    void start_workers();
    void stop_workers() noexcept;
    void recover_after_fork();
    void pin_caller();
    void restore_caller() noexcept;
    void note_pin_refused(int rank, int cpu, int error_number);
    double measure_fork_join(int width);
    void measure_widths();

    // launch.cpp: the protocol.
    static void* worker_main(void* argument);
    void worker_loop(int rank) noexcept;
    void launch(const loop_call& call, int position, launch_mode mode, range fixed) noexcept;
    void wake_parked(std::span<const int> ranks) noexcept;
    void run_member(int rank) noexcept;
    void join(int rank);
    void run_what_was_left();
    // Launches loop.ranks[1..], runs the caller's part, joins, rethrows. fixed(position) gives the fixed
    // ranges.
    void fork_and_join(const loop_call& call, launch_mode mode);
    [[nodiscard]] index iterations_done() const noexcept;
    // What a steal costs: about one round trip between two cores, which is what the fork and join of a small
    // team is.
    [[nodiscard]] double steal_ticks() const noexcept {
        return std::min(fork_ticks, model_options.microsecond);
    }
};

// Raw sched_setaffinity(2); 0 or -1 with errno.
int set_affinity(pid_t thread, const cpu_set_t& mask) noexcept;

// Counts forks of the process; a team whose number is older has lost its threads.
unsigned current_fork_generation() noexcept;

// The mask that the calling thread had before a team pinned it, else its mask now.
cpu_set_t unpinned_mask_of_this_thread() noexcept;

}  // namespace tauto::detail
