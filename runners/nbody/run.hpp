#pragma once
// What every nbody runner does, given an adapter for its runtime: parse, make the particles, start the
// runtime, run once untimed, run the same again until enough time is measured, check energy and bits, print
// the row.
//
// An adapter implements
//   static constexpr std::string_view executable;               its name in messages
//   static description describe();                              what is loaded, and its schemes
//   static environment_changes environment(const options&);     what its library must find; may be absent
//   explicit adapter(const nbody_request&);                     starts the workers and pins them
//   nbody_pass run(const nbody_start&, const nbody_request&, work_account&);   one run from start to end
//   bool repeats_bits() const;                                  every run ends with the same bits
//   std::string diagnosis() const;                              how many CPUs and threads the library sees
// and, where it is one of several processes that all do the same,
//   bool leads() const;                                         this one keeps times and speaks
//   bool agreed(bool);                                          the leading one's value, on all
//   std::vector<worker_share> workers(const work_account&);     the workers of all processes

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "kernels/fnv1a.hpp"
#include "kernels/nbody/snapshot.hpp"
#include "runners/nbody/request.hpp"
#include "runners/nbody/row.hpp"
#include "runners/shared/missing_workers.hpp"
#include "runners/shared/row.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/start_runner.hpp"
#include "runners/shared/timing.hpp"
#include "runners/shared/work_account.hpp"

namespace tauto::runner {

/// Of positions and velocities.
inline std::uint64_t state_hash(const kernels::nbody::particles& bodies) {
    using namespace kernels::nbody;
    std::uint64_t hash = fnv1a_offset_basis;
    for (std::size_t column = position; column < acceleration; ++column) {
        const auto values = bodies.state()[column];
        hash = fnv1a({reinterpret_cast<const char*>(values.data()), values.size_bytes()}, hash);
    }
    return hash;
}

/// Has a run come to its end, so long after its start?
inline bool is_over(const nbody_request& asked, double time, std::size_t blocks) {
    return time >= asked.end_time || (asked.blocks && static_cast<std::int64_t>(blocks) >= *asked.blocks);
}

/// What is the same in all runtimes once a run is over.
inline void finish_pass(nbody_pass& pass, kernels::nbody::hermite& system, const nbody_request& asked) {
    pass.state_hash = state_hash(system.bodies());
    pass.after = kernels::nbody::invariants_at(system, system.time());
    for (const auto& block : pass.blocks) pass.seconds += block.seconds;
    if (!asked.snapshot_to_write) return;
    // Particles between two steps are written where they are at that time.
    kernels::nbody::particles now{system.size()};
    std::ranges::copy(system.bodies().mass(), now.mass().begin());
    for (std::size_t c = 0; c < 6; ++c)
        std::ranges::copy(system.sources()[1 + c], now.state()[kernels::nbody::position + c].begin());
    std::ostringstream text;
    kernels::nbody::write_snapshot(text, now, system.start() + system.time());
    write_file("the snapshot", *asked.snapshot_to_write, text.view());
}

template <class Adapter>
bool leads(const Adapter& adapter) {
    if constexpr (requires { adapter.leads(); }) return adapter.leads();
    return true;
}

/// Processes decide by one clock, or some would go on while others end.
template <class Adapter>
bool agreed(Adapter& adapter, bool mine) {
    if constexpr (requires { adapter.agreed(mine); }) return adapter.agreed(mine);
    return mine;
}

template <class Adapter>
std::vector<worker_share> workers_of(Adapter& adapter, const work_account& account) {
    if constexpr (requires { adapter.workers(account); }) return adapter.workers(account);
    return account.workers();
}

template <class Adapter>
class nbody_run {
  public:
    explicit nbody_run(nbody_request asked) : asked_{std::move(asked)}, start_{start_of(asked_)} {
        // The defaults that depend on the order, so that the row has them.
        auto& hermite = asked_.hermite;
        if (hermite.accuracy == 0.0) hermite.accuracy = kernels::nbody::usual_accuracy(hermite.order);
        seen_.before = kernels::nbody::invariants_of(start_.bodies, asked_.hermite.softening);
    }

    const nbody_request& asked() const { return asked_; }
    const nbody_start& start() const { return start_; }

    /// Prints the row. Returns the exit code.
    int run() {
        Adapter adapter{asked_};
        warm_up(adapter);
        measure(adapter);
        if (!leads(adapter)) return exit_ok;
        if (asked_.log_file && !seen_.last.logged) block_file{*asked_.log_file}.append(seen_.last.blocks);
        return report(adapter);
    }

  private:
    void warm_up(Adapter& adapter) {
        nbody_request few = asked_;
        few.snapshot_to_write.reset();
        few.log_file.reset();
        few.blocks = std::min<std::int64_t>(64, asked_.blocks.value_or(64));
        work_account ignored;
        const double begin = monotonic_seconds();
        while (agreed(adapter, monotonic_seconds() - begin < asked_.warmup_seconds)) {
            const nbody_pass pass = adapter.run(start_, few, ignored);
            seen_.timed.warmup_iterations += std::ssize(pass.blocks);
        }
    }

    void measure(Adapter& adapter) {
        timing& timed = seen_.timed;
        work_account account;
        std::optional<std::uint64_t> first;
        std::optional<double> fitted;
        do {
            seen_.last = adapter.run(start_, asked_, account);
            start_.model = seen_.last.model;
            if (!fitted) fitted = monotonic_seconds();
            if (!leads(adapter)) continue;
            const auto blocks = std::ssize(seen_.last.blocks);
            timed.batch_seconds.push_back(seen_.last.seconds / as_double(blocks));
            timed.batch_iterations = blocks;
            timed.iterations += blocks;
            timed.timed_seconds += seen_.last.seconds;
            if (!first) first = seen_.last.state_hash;
            if (adapter.repeats_bits() && *first != seen_.last.state_hash) ++seen_.different_runs;
        } while (!agreed(adapter, is_enough(timed, asked_, monotonic_seconds() - *fitted)));
        seen_.workers = workers_of(adapter, account);
    }

    int report(const Adapter& adapter) {
        std::optional<std::string> wrong;
        if (!passed(asked_, seen_))
            wrong = "the energy changed by " +
                    std::to_string(kernels::nbody::energy_error(seen_.before, seen_.last.after)) +
                    " of itself, and " + std::to_string(seen_.different_runs) +
                    " runs ended with other bits than the first";
        return finish(adapter, nbody_row(Adapter::describe(), asked_, seen_), wrong,
                      missing_workers(asked_, usize(asked_.threads), "moved particles", seen_.workers));
    }

    nbody_request asked_;
    nbody_start start_;
    nbody_result seen_;
};

/// The main function of a runner. Returns the exit code.
template <class Adapter>
int run_nbody(int argc, char** argv) {
    return start_runner<Adapter>(argc, argv, parse_nbody,
                                 [](const nbody_request& asked) { return nbody_run<Adapter>{asked}.run(); });
}

}  // namespace tauto::runner
