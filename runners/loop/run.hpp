#pragma once
// What every loop runner does, given an adapter for its runtime: parse, check memory, start the runtime, warm
// up, time, account for the workers, check the answer, print the row.
//
// An adapter implements
//   static constexpr std::string_view executable;               its name in messages
//   static description describe();                              what is loaded, and what it can do
//   static environment_changes environment(const options&);     what its library must find; may be absent
//   explicit adapter(const loop_request&);                      starts the workers and pins them
//   void for_rows(std::size_t n, Body&& body);                  calls body(first, last) until [0, n) is done
//   std::string diagnosis() const;                              how many CPUs and threads the library sees
// and, where the runtime wants it,
//   void multiply(a, x, y);          in place of for_rows: the library computes the whole product
//   void run(Task&& task);           runs task where the loops shall be started from, once
//   void begin_account();            the timed part is over, the loops that are accounted for begin
//   void complete(json& row) const;  adds or corrects fields of the row
//   bool may_drop_workers() const;   leaving out workers is this runtime's decision, not a mistake

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/conjugate_gradient.hpp"
#include "kernels/matvec.hpp"
#include "kernels/toeplitz.hpp"
#include "runners/loop/check.hpp"
#include "runners/loop/read_witness.hpp"
#include "runners/loop/request.hpp"
#include "runners/loop/row.hpp"
#include "runners/loop/waiting.hpp"
#include "runners/shared/missing_workers.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/start_runner.hpp"
#include "runners/shared/timing.hpp"
#include "runners/shared/work_account.hpp"

namespace tauto::runner {

template <class Adapter>
concept whole_product = requires(Adapter& adapter, const dense_matrix& a, const aligned_floats& x,
                                 aligned_floats& y) {
    adapter.multiply(a, x, y);
};

template <class Adapter>
class loop_run {
  public:
    explicit loop_run(const loop_request& asked)
        : asked_{asked}, system_{usize(asked.size)}, adapter_{asked}, solve_{system_.b, asked.computes} {}

    /// Prints the row. Returns the exit code.
    int run() {
        timing timed;
        run_inside(adapter_, [&] { timed = measure(); });
        if (asked_.trace_file) write_loops(*asked_.trace_file, loops_);
        return report(timed);
    }

  private:
    timing measure() {
        const std::size_t n = system_.a.order();
        const auto product = [&](const aligned_floats& x, aligned_floats& y) { multiply(x, y, n); };
        const auto traced = [&](const aligned_floats& x, aligned_floats& y) {
            const double start = monotonic_seconds();
            multiply(x, y, n);
            const double end = monotonic_seconds();
            loops_.push_back({end, end - start});
        };
        const timing timed = asked_.trace_file ? measure(traced) : measure(product);
        account();
        return timed;
    }

    template <class Product>
    timing measure(Product&& product) {
        const solve_limits limits = limits_of(asked_);
        const auto iterate = [&](std::int64_t count) {
            for (; count > 0; --count) {
                if (solve_.finished(limits)) solve_.restart();
                solve_.iterate(product);
            }
        };
        return time_batches(asked_, iterate, monotonic_seconds);
    }

    void multiply(const aligned_floats& x, aligned_floats& y, std::size_t n) {
        if constexpr (whole_product<Adapter>) {
            adapter_.multiply(system_.a, x, y);
        } else {
            adapter_.for_rows(n, [this, &x, &y](std::size_t first, std::size_t last) {
                matvec_rows(system_.a, x, y, first, last, asked_.computes);
            });
        }
    }

    // More solves, untimed: the solution of the last is the one that is checked.
    void account() {
        if constexpr (requires { adapter_.begin_account(); }) adapter_.begin_account();
        if constexpr (whole_product<Adapter>) {
            solve([&](const aligned_floats& x, aligned_floats& y) { adapter_.multiply(system_.a, x, y); });
            witness();
        } else {
            work_account account;
            const double start = monotonic_seconds();
            do {
                solve([&](const aligned_floats& x, aligned_floats& y) {
                    const std::int64_t begin = task_ticks();
                    multiply(x, y, account);
                    waiting_.add(task_ticks() - begin, account);
                });
            } while (monotonic_seconds() - start < asked_.account_seconds);
            workers_ = account.workers();
            if (may_drop_workers(adapter_)) return;
            call_roll(asked_, asked_.pieces_of(asked_.size), workers_, [&](work_account& roll) {
                aligned_floats y{system_.a.order()};
                multiply(system_.b, y, roll);
            });
        }
    }

    // Nobody can be held in a library's own product, so it is repeated for a worker that comes late.
    void witness() {
        aligned_floats y{system_.a.order()};
        const double start = monotonic_seconds();
        do {
            const read_witness reads{system_.a.storage().storage()};
            adapter_.multiply(system_.a, system_.b, y);
            workers_ = reads.workers(system_.a.pitch());
        } while (missing() && !may_drop_workers(adapter_) && monotonic_seconds() - start < patience_seconds);
    }

    void multiply(const aligned_floats& x, aligned_floats& y, work_account& account) {
        adapter_.for_rows(system_.a.order(), [&](std::size_t first, std::size_t last) {
            const std::int64_t begin = task_ticks();
            matvec_rows(system_.a, x, y, first, last, asked_.computes);
            account.add(static_cast<std::int64_t>(last - first), task_ticks() - begin);
        });
    }

    template <class Product>
    void solve(Product&& product) {
        const solve_limits limits = limits_of(asked_);
        for (solve_.restart(); !solve_.finished(limits);) solve_.iterate(product);
    }

    std::optional<std::string> missing() const {
        return missing_workers(asked_, asked_.pieces_of(asked_.size), "computed rows", workers_);
    }

    int report(const timing& timed) {
        const answer_check check = check_answer(asked_, system_, solve_);
        return finish(adapter_, loop_row(Adapter::describe(), asked_, timed, workers_, waiting_, check),
                      reason_of_failure(check), missing());
    }

    loop_request asked_;
    toeplitz_system system_;
    Adapter adapter_;
    conjugate_gradient solve_;
    std::vector<worker_share> workers_;
    waiting_account waiting_;
    std::vector<loop_time> loops_;
};

/// The main function of a runner. Returns the exit code.
template <class Adapter>
int run_loop(int argc, char** argv) {
    return start_runner<Adapter>(argc, argv, parse_loop,
                                 [](const loop_request& asked) { return loop_run<Adapter>{asked}.run(); });
}

}  // namespace tauto::runner
