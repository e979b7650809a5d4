#pragma once
// A team in virtual time: the runtime's own model, plan and steps, on members whose speeds, starts and pauses
// are made up. A tick is a nanosecond.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include <tauto/loop_model.hpp>
#include <tauto/signed.hpp>

namespace tauto::testing {

/// What the machine costs. Times in nanoseconds.
struct virtual_machine {
    std::vector<double> speeds;    // by rank, of the caller's
    double round_trip = 300;       // a line between two cores, there and back
    double first_fork = 400;       // an empty fork and join of two members
    double fork_per_member = 100;  // and of each one more

    [[nodiscard]] int members() const { return static_cast<int>(speeds.size()); }
    [[nodiscard]] double fork(int width) const {
        return width < 2 ? 0.0 : first_fork + fork_per_member * (width - 2);
    }
};

class virtual_team {
  public:
    explicit virtual_team(virtual_machine machine)
        : machine_(std::move(machine)),
          model_(options_of(machine_)),
          words_(std::make_unique<std::atomic<std::uint64_t>[]>(machine_.speeds.size())) {
        loop_.reserve(machine_.speeds.size());
    }

    /// How much later than a waiting one a worker begins in a call, in nanoseconds; what is above 0 counts as
    /// having slept.
    std::function<double(int rank, int call)> late = [](int, int) { return 0.0; };
    /// What a member's chunk takes longer than its iterations do.
    std::function<double(int rank, int call)> held = [](int, int) { return 0.0; };

    /// What each iteration costs, as a multiple of `length`; empty: all are equal.
    void cost(std::vector<double> of_iterations) {
        sums_.assign(1, 0.0);
        for (const double one : of_iterations) sums_.push_back(sums_.back() + one);
    }

    virtual_machine& machine() { return machine_; }
    const detail::loop_model& model() const { return model_; }
    int calls() const { return calls_; }

    /// One call of n iterations that take the caller `length` each. Returns how long it took.
    double run(index n, double length) {
        const int call = calls_++;
        const double alone = work({0, n}) * length + held(0, call);
        if (model_.take_inline_call([] { return std::int64_t{0}; })) return alone;
        if (model_.width() == 1 || n < 2) {
            model_.record(n, static_cast<std::int64_t>(alone));
            return alone;
        }
        return run_forked(call, n, length);
    }

    /// The shortest time that any width could take: whole iterations, each begun as soon as a member is free.
    double attainable(index n, double length) const {
        double best = work({0, n}) * length;
        for (int width = 2; width <= machine_.members(); ++width)
            best = std::min(best, shared(n, length, width) + machine_.fork(width));
        return best;
    }

  private:
    struct member {
        double time = 0;
        double began = 0;
        index iterations = 0;
        bool slept = false;
        bool begun = false;
        bool ended = false;
    };

    static detail::loop_model_options options_of(const virtual_machine& machine) {
        detail::loop_model_options options;
        options.microsecond = 1000;
        for (int width = 1; width < machine.members(); width *= 2)
            options.widths.push_back({width, machine.fork(width)});
        options.widths.push_back({machine.members(), machine.fork(machine.members())});
        return options;
    }

    double work(range r) const {
        if (sums_.empty()) return static_cast<double>(r.size());
        return sums_[detail::usize(r.end)] - sums_[detail::usize(r.begin)];
    }

    // Of the fastest members, the caller among them.
    double shared(index n, double length, int width) const {
        std::vector<double> speeds = machine_.speeds;
        std::sort(speeds.begin() + 1, speeds.end(), std::greater<>{});
        std::vector<double> ends(detail::usize(width), 0.0);
        double last = 0;
        for (index i = 0; i < n; ++i) {
            std::size_t next = 0;
            double soonest = std::numeric_limits<double>::infinity();
            for (std::size_t m = 0; m < ends.size(); ++m) {
                const double end = ends[m] + work({i, i + 1}) * length / speeds[m];
                if (end < soonest) {
                    soonest = end;
                    next = m;
                }
            }
            ends[next] = soonest;
            last = std::max(last, soonest);
        }
        return last;
    }

    double run_forked(int call, index n, double length) {
        loop_.make(model_, n);
        const int width = loop_.plan().members;
        const auto share_of = [this](int position) -> std::atomic<std::uint64_t>& {
            return words_[detail::usize(position)];
        };
        deal_shares(loop_.plan(), loop_.bounds(), share_of);
        const auto victim_of = [&](int thief) { return last_to_finish(loop_.plan(), share_of, thief); };
        std::vector<member> team(detail::usize(width));
        const auto rank_of = [&](int position) { return model_.order()[detail::usize(position)]; };
        const double half = machine_.fork(width) / 2;
        for (int position = 1; position < width; ++position) {
            member& one = team[detail::usize(position)];
            const double woken_after = late(rank_of(position), call);
            one.slept = woken_after > 0;
            one.time = one.began = half + woken_after;
        }
        team[0].time = team[0].began = half / 2;
        int running = width;
        while (running > 0) {
            int position = -1;
            for (int p = 0; p < width; ++p) {
                const member& one = team[detail::usize(p)];
                if (!one.ended && (position < 0 || one.time < team[detail::usize(position)].time))
                    position = p;
            }
            member& one = team[detail::usize(position)];
            int steals = 0;
            bool left_early = false;
            const range chunk = member_next(loop_.plan(), loop_.rights(position), share_of(position),
                                            share_of, victim_of, position, one.begun, steals, left_early);
            one.begun = true;
            if (chunk.empty()) {
                one.ended = true;
                --running;
                continue;
            }
            const int rank = rank_of(position);
            const double held_for = held(rank, call);
            if (loop_.plan().order != nullptr) one.time += machine_.round_trip / 2;  // the share's line
            const double took = work(chunk) * length / machine_.speeds[detail::usize(rank)] + held_for;
            one.time += steals * machine_.round_trip + took;
            if (loop_.rights(position).timed)
                model_.record_chunk(rank, n, chunk, static_cast<std::int64_t>(took));
            one.iterations += chunk.size();
        }
        double end = 0;
        for (int position = 0; position < width; ++position) {
            const member& one = team[detail::usize(position)];
            end = std::max(end, one.time + (position == 0 ? 0.0 : half));
        }
        for (int position = 0; position < width; ++position) {  // what members left behind
            const std::uint64_t rest = share_of(position).load();
            for_each_left(loop_.plan(), rest, [&](range left) {
                end += work(left) * length;
                team[0].iterations += left.size();
                return true;
            });
        }
        if (model_.timed_chunk(n) == 0 && model_.skip_recording()) return end;
        for (int position = 0; position < width; ++position) {
            const member& one = team[detail::usize(position)];
            model_.record_member(rank_of(position), one.iterations, static_cast<std::int64_t>(one.time),
                                 static_cast<std::int64_t>(one.began), one.slept);
        }
        model_.record(n, static_cast<std::int64_t>(end));
        return end;
    }

    virtual_machine machine_;
    detail::loop_model model_;
    detail::adaptive_loop loop_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
    std::vector<double> sums_;  // of the iterations' costs
    int calls_ = 0;
};

}  // namespace tauto::testing
