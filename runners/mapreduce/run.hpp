#pragma once
// What every mapreduce runner does, given an adapter for its runtime: parse, make the tasks, time one of them
// alone, start the runtime, warm up, time, account for the workers, check every sum, print the row.
//
// An adapter implements
//   static constexpr std::string_view executable;               its name in messages
//   static description describe();                              what is loaded, and what it can do
//   static environment_changes environment(const options&);     what its library must find; may be absent
//   explicit adapter(const mapreduce_request&);                 starts the workers and pins them
//   std::uint64_t map_reduce(const std::vector<hash_task>& tasks, const task_hash& hash);   sum of hash(task)
//   std::string diagnosis() const;                              how many CPUs and threads the library sees
// and, where the runtime wants it,
//   void run(Task&& task);           runs task where the repetitions shall be started from, once
//   void begin_account();            the timed part is over, the repetitions that are accounted for begin
//   void complete(json& row) const;  adds or corrects fields of the row
//   bool may_drop_workers() const;   leaving out workers is this runtime's decision, not a mistake

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runners/mapreduce/hash_tasks.hpp"
#include "runners/mapreduce/request.hpp"
#include "runners/mapreduce/row.hpp"
#include "runners/mapreduce/sleeps.hpp"
#include "runners/mapreduce/timeline.hpp"
#include "runners/mapreduce/waiting.hpp"
#include "runners/shared/cpus.hpp"
#include "runners/shared/missing_workers.hpp"
#include "runners/shared/process_usage.hpp"
#include "runners/shared/start_runner.hpp"
#include "runners/shared/task_clock.hpp"
#include "runners/shared/timing.hpp"
#include "runners/shared/work_account.hpp"

namespace tauto::runner {

/// What a runtime maps with. One type for timed, accounted and traced repetitions, so that all three are the
/// same code, and one call site for a runtime that learns by call site. The timed ones read no clock.
class task_hash {
  public:
    explicit task_hash(const hash_tasks& tasks, work_account* account = nullptr, timeline* trace = nullptr,
                       waiting_account* waiting = nullptr)
        : tasks_{&tasks}, account_{account}, trace_{trace}, waiting_{waiting} {}

    std::uint64_t operator()(const hash_task& task) const {
        if (account_ == nullptr && trace_ == nullptr) return tasks_->hash(task);
        const std::int64_t begin = task_ticks();
        const std::uint64_t hash = tasks_->hash(task);
        const std::int64_t end = task_ticks();
        if (account_ != nullptr) account_->add(1, end - begin);
        if (trace_ != nullptr) trace_->add(task.number, {begin, end});
        if (waiting_ != nullptr) waiting_->add({begin, end});
        return hash;
    }

  private:
    const hash_tasks* tasks_;
    work_account* account_;
    timeline* trace_;
    waiting_account* waiting_;
};

/// Seconds of one task, in a warm loop over the tasks on the first of `cpus`.
inline double seconds_of_one_task(const hash_tasks& tasks, std::span<const int> cpus) {
    constexpr timing_limits limits{.warmup_seconds = 0.02, .min_seconds = 0.05, .max_iterations = {}};
    const pinned_for_now pinned{cpus.first(1)};
    const auto& list = tasks.list();
    std::size_t next = 0;
    std::uint64_t sum = 0;
    const auto iterate = [&](std::int64_t count) {
        for (; count > 0; --count) {
            sum += tasks.hash(list[next]);
            if (++next == list.size()) next = 0;
        }
    };
    return median(time_batches(limits, iterate, monotonic_seconds).batch_seconds);
}

template <class Adapter>
class mapreduce_run {
  public:
    explicit mapreduce_run(const mapreduce_request& asked) : asked_{asked}, tasks_{asked.tasks, asked.bytes} {
        seen_.right_sum = seen_.sum = tasks_.sum();
        seen_.task_seconds = seconds_of_one_task(tasks_, asked_.cpus);
    }

    /// Prints the row. Returns the exit code.
    int run() {
        Adapter adapter{asked_};
        run_inside(adapter, [&] {
            measure(adapter);
            account(adapter);
            if (asked_.trace_file) {
                trace(adapter);
                look_for_sleepers(adapter);
            }
        });
        return report(adapter);
    }

  private:
    void repeat(Adapter& adapter, const task_hash& hash, std::int64_t times) {
        for (; times > 0; --times) {
            const std::uint64_t sum = adapter.map_reduce(tasks_.list(), hash);
            if (sum == seen_.right_sum) continue;
            if (++seen_.wrong_repetitions == 1) seen_.sum = sum;
        }
    }

    void measure(Adapter& adapter) {
        const task_hash hash{tasks_};
        process_usage before;
        seen_.timed = time_batches(
            asked_, [&](std::int64_t count) { repeat(adapter, hash, count); }, monotonic_seconds,
            [&] { before = usage_now(); });
        seen_.usage = usage_now() - before;
    }

    // The workers are looked at between batches; only the repetitions are timed.
    void account(Adapter& adapter) {
        constexpr double least_seconds = 0.05;
        if constexpr (requires { adapter.begin_account(); }) adapter.begin_account();
        work_account account;
        waiting_account waiting{asked_.cpus.size()};
        const task_hash hash{tasks_, &account, nullptr, &waiting};
        const std::int64_t batch = std::max(seen_.timed.batch_iterations, std::int64_t{3});
        const double begun = monotonic_seconds();
        std::int64_t ticks = 0;
        do {
            for (std::int64_t i = 0; i < batch; ++i) {
                const std::int64_t begin = task_ticks();
                repeat(adapter, hash, 1);
                const std::int64_t end = task_ticks();
                waiting.end_repetition({begin, end});
                ticks += end - begin;
            }
            seen_.accounted_repetitions += batch;
            seen_.workers = account.workers();
        } while (monotonic_seconds() - begun < least_seconds);
        seen_.tick_seconds = tick_.seconds();
        seen_.accounted_seconds = as_double(ticks) * seen_.tick_seconds;
        if (!waiting.shared_cpus()) seen_.waiting = waiting.parts();
        if (may_drop_workers(adapter)) return;
        call_roll(asked_, asked_.pieces_of(asked_.tasks), seen_.workers, [&](work_account& roll) {
            repeat(adapter, task_hash{tasks_, &roll}, 1);
        });
    }

    // Twice: in the first round the timeline's memory is made.
    void trace(Adapter& adapter) {
        constexpr std::int64_t most_slices = 20'000;
        const std::int64_t repetitions =
            std::clamp(most_slices / asked_.tasks, std::int64_t{1}, std::int64_t{10});
        timeline line;
        const task_hash hash{tasks_, nullptr, &line};
        for (int round = 0; round < 2; ++round) {
            line.clear();
            for (std::int64_t i = 0; i < repetitions; ++i) {
                const std::int64_t begin = task_ticks();
                repeat(adapter, hash, 1);
                line.add_repetition({begin, task_ticks()});
            }
        }
        const std::string title = std::string{Adapter::executable} + ": " + std::to_string(asked_.tasks) +
                                  " tasks of " + std::to_string(asked_.bytes) + " bytes, " + asked_.schedule;
        write_file("the trace", *asked_.trace_file,
                   line.chrome_trace(title, seen_.tick_seconds, threads_of(seen_.workers)));
    }

    // The same repetitions as the timed ones, while the threads are looked at.
    void look_for_sleepers(Adapter& adapter) {
        constexpr double least_seconds = 0.5;
        const task_hash hash{tasks_};
        const double begin = monotonic_seconds();
        sleep_sampler sampler;
        while (monotonic_seconds() - begin < least_seconds) repeat(adapter, hash, 1);
        seen_.sleeps = sampler.places();
    }

    int report(const Adapter& adapter) {
        std::optional<std::string> wrong;
        if (seen_.wrong_repetitions > 0)
            wrong = "the hashes of " + std::to_string(seen_.wrong_repetitions) +
                    " repetitions did not add up to those of the serial run";
        return finish(adapter, mapreduce_row(Adapter::describe(), asked_, seen_), wrong,
                      missing_workers(asked_, asked_.pieces_of(asked_.tasks), "ran tasks", seen_.workers));
    }

    mapreduce_request asked_;
    tick_length tick_;
    hash_tasks tasks_;
    mapreduce_result seen_;
};

/// The main function of a runner. Returns the exit code.
template <class Adapter>
int run_mapreduce(int argc, char** argv) {
    return start_runner<Adapter>(argc, argv, parse_mapreduce, [](const mapreduce_request& asked) {
        return mapreduce_run<Adapter>{asked}.run();
    });
}

}  // namespace tauto::runner
