#pragma once
// The members of a team: their threads, and the protocol by which the caller hands them work and waits for
// it. Its table and its invariant stand in team.hpp.

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <tauto/task_group.hpp>
#include <tauto/team.hpp>

#include "callers.hpp"
#include "head_start.hpp"
#include "pinning.hpp"
#include "room.hpp"

namespace tauto::detail {

// One loop in flight. Written by the caller before the launch; members read it, and write only `failed_at`
// and, through it, the schedule's shared state.
struct loop_state {
    std::span<mailbox> boxes;
    std::vector<int> ranks;     // participants; [0] is the caller
    std::vector<index> bounds;  // of the fixed ranges, by position in `ranks`, one more than participants
    adaptive_loop adaptive;
    worksharing* shared = nullptr;
    const std::stop_token* stop = nullptr;  // null when the loop cannot be cancelled
    const char* name = nullptr;
    std::int64_t launch_ticks = 0;
    // A body had a loop that is long enough to be shared (team::run_in_body). Relaxed: a hint.
    std::atomic<bool> nests{false};
    // The least first index of what a body has thrown in; no_failure while none has. On a line of its own,
    // which stays in every member's cache.
    static constexpr index no_failure = std::numeric_limits<index>::max();
    alignas(128) std::atomic<index> failed_at{no_failure};

    [[nodiscard]] int width() const noexcept { return int_size(ranks); }
    [[nodiscard]] bool failed() const noexcept {
        return failed_at.load(std::memory_order_relaxed) != no_failure;
    }
    void note_failure(index at) noexcept {
        index least = failed_at.load(std::memory_order_relaxed);
        while (at < least && !failed_at.compare_exchange_weak(least, at, std::memory_order_relaxed)) {
        }
    }
    [[nodiscard]] bool stopped(bool cancellable) const noexcept {
        return cancellable && stop->stop_requested();
    }
    [[nodiscard]] bool should_stop(bool cancellable) const noexcept {
        return failed() || stopped(cancellable);
    }
};

// What the workers' threads are (see team_options).
struct worker_options {
    std::size_t stack_bytes = 0;
    std::string name;
    std::function<void(int rank)> on_start;
};

// Used by one thread at a time: the one that has the team's turn.
struct launcher {
    // `team`: whose members these are.
    launcher(team_state* team, pinning& pins, const callers& of_cpus, wait_policy wait,
             worker_options wanted);
    launcher(const launcher&) = delete;
    launcher& operator=(const launcher&) = delete;

    // What the next fork_and_join runs. Its user fills it in, and the participants' shares.
    loop_state loop;
    std::unique_ptr<mailbox[]> boxes;        // by rank, as all below
    std::unique_ptr<report_line[]> reports;  // of the last loop
    std::unique_ptr<chunk_log[]> logs;       // of the last timed one; null before the first
    std::vector<int> everyone;               // 0, 1, … size - 1
    std::vector<int> one_a_cpu;              // the first member on each CPU

    [[nodiscard]] int size() const noexcept { return int_size(everyone); }
    [[nodiscard]] team_state* team() const noexcept { return team_; }

    [[nodiscard]] bool oversubscribed() const noexcept { return one_a_cpu.size() < everyone.size(); }
    // True also where the members had no CPU each when the team last looked (room.hpp): then nobody spins.
    [[nodiscard]] bool crowded() const noexcept {
        return oversubscribed() || room_.crowded() || callers_.others_have_all();
    }
    // Makes `loop` one of one iteration for each member.
    void deal_one_each(const char* name);
    // Launches these members and joins them; they run no iteration.
    void launch_and_join(std::span<const int> ranks);
    // Launches loop.ranks[1..], runs the caller's part, joins, rethrows.
    void fork_and_join(const loop_call& call, launch_mode mode);
    [[nodiscard]] index iterations_done() const noexcept;
    // Runs the root of a recursion as this thread's task, and invites all workers to share its tasks until it
    // ends. They come when they have nothing else to do, or not at all; who has no task is not waited for.
    // `known`: of its site, or null.
    void share_tasks(const root_call& root, const region_options& options, head_start* known);
    // Its beginning and its end, for who has no root: nobody may have a task at the end. `alone_until`: see
    // task_region::begin. `wakes`: members that doze, too; else those come within some 10 ms.
    task_region& begin_tasks(const region_options& options, std::int64_t alone_until, bool wakes);
    void end_tasks() noexcept;

    // Starts the workers and runs a loop of nothing on each, after which it is pinned. Throws, and leaves
    // them missing, when the system gives no threads.
    void start_workers();
    void stop_workers() noexcept;
    // The workers' numbers in the system; 0 for one that has not begun yet.
    [[nodiscard]] std::vector<pid_t> threads() const;
    [[nodiscard]] bool is_worker(pthread_t thread) const noexcept;
    // False before the first start, and in a child of fork, where only the thread that forked lives on.
    [[nodiscard]] bool has_workers() const noexcept;
    // On this thread: then some thread starts a team and waits for this one.
    [[nodiscard]] static bool in_start_hook() noexcept;

  private:
    struct worker {
        launcher* owner = nullptr;
        int rank = 0;
        pthread_t thread{};
        bool started = false;
    };
    static constexpr unsigned never = ~0U;
    void make_threads();
    void end_started() noexcept;
    static void* worker_main(void* argument);
    int make_thread(worker& fresh, bool on_own_cpu) noexcept;
    void run_start_hook(int rank) noexcept;
    void worker_loop(int rank) noexcept;
    [[nodiscard]] bool participants_share_cpus() const noexcept;
    [[nodiscard]] std::vector<std::vector<int>> masks() const;
    // For room and for threads that the caller has started, where that is due.
    void look_around();
    void launch(const loop_call& call, int position, launch_mode mode, range fixed, bool crowded) noexcept;
    // How long a worker dozes: until it has looked so often in a row and no call had left it so.
    struct doze {
        static constexpr int most_in_vain = 16;
        std::uint32_t left = 0;      // left_dozing_ when it last looked
        int in_vain = most_in_vain;  // looks since it was another
    };
    // Waits for a ticket after `last`, and returns it. Worker 1 looks now and then for threads that the
    // caller has started.
    std::uint32_t park(int rank, std::uint32_t last, doze& dozing) noexcept;
    // Those that wait as `least` says, or sleep deeper.
    void wake_parked(std::span<const int> ranks, parking least) noexcept;
    template <class Part>
    member_report run_part(const mailbox& box, int rank, Part part) noexcept;
    void run_member(int rank, bool slept) noexcept;
    // Throws in a child that a body has forked.
    void check_not_forked() const;
    void join(int rank, bool crowded);
    void run_share(mailbox& box, member_report& report, int rank);
    void run_what_was_left();
    void invite(bool wakes) noexcept;
    // The exception of the lowest index, once all have joined.
    [[noreturn]] void rethrow_failure();

    team_state* team_;
    pinning& pins_;
    const callers& callers_;
    wait_policy wait_;
    room room_;
    worker_options wanted_;
    std::vector<worker> workers_;                // [0] is unused
    std::unique_ptr<task_region> tasks_;         // null before the first use, and in a child of fork
    std::atomic<std::uint32_t> left_dozing_{0};  // calls that woke no dozing member
    unsigned made_in_ = never;                   // fork generation of the workers
    std::atomic<unsigned> ready_in_{never};      // likewise, once each has run a loop
    // Written at each join, so not on the line from which the workers read `boxes` and `reports`.
    alignas(128) spin_budget join_budget_;
};

}  // namespace tauto::detail
