#pragma once
// How every collective runner measures: one rank's part of it, the same for threads and for processes.
//
// A repetition: every rank writes new data, all begin at a common moment, each notes when its operation has
// ended, and every word of the result is checked. The time of a repetition is the time of the last rank. Data
// that no rank has rewritten since the last repetition would still be in the caches of all, and a library
// that reads it in place would seem three times as fast as it is in a program.
//
// An engine implements
//   bool in_place(collective) const;                 its data is written where its result will be
//   void perform(collective, const rank_data&);      the operation, on this rank
//   static bool offers(collective);
//
// The start line says where ranks begin together, and what time it is; ranks in virtual time have a start
// line of their own.

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <vector>

#include "runners/collective/request.hpp"
#include "runners/collective/row.hpp"
#include "runners/collective/start_line.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/timing.hpp"

namespace tauto::runner {

/// Repetitions of one visit at most: as many results as the ranks have room for.
inline constexpr std::size_t most_repetitions = 4096;
/// Of a point in all sweeps together, so that its quartiles are some.
inline constexpr std::int64_t least_repetitions = 21;

/// What an operation works on. A rank's own words are in `mine`, or in `result` where the engine works in
/// place.
struct rank_data {
    std::span<double> mine;    ///< all words, or the rank's part of them
    std::span<double> result;  ///< likewise
};

/// Memory of one rank, aligned as a program with vectors would have it, its pages touched by its owner.
class word_buffer {
  public:
    explicit word_buffer(std::size_t words)
        : memory_{static_cast<double*>(
              ::operator new (std::max<std::size_t>(words, 1) * sizeof(double), std::align_val_t{64}))} {
        std::fill_n(memory_.get(), words, 0.0);
    }
    std::span<double> first(std::size_t words) { return {memory_.get(), words}; }

  private:
    struct release {
        void operator()(double* memory) const noexcept { ::operator delete (memory, std::align_val_t{64}); }
    };
    std::unique_ptr<double, release> memory_;
};

/// Words that an operation moves when `length` were asked for: equal parts need a multiple of the ranks.
inline std::int64_t words_of(collective operation, std::int64_t length, int ranks) {
    if (operation == collective::barrier) return 0;
    return has_parts(operation) ? (length + ranks - 1) / ranks * ranks : length;
}

/// Every operation at every length, each once.
inline std::vector<collective_point> points_of(const collective_request& asked) {
    std::vector<collective_point> points;
    for (const collective operation : asked.operations)
        for (const std::int64_t length : asked.lengths) {
            const std::int64_t words = words_of(operation, length, asked.threads);
            if (points.empty() || points.back().operation != operation || points.back().words != words)
                points.push_back({operation, words, {}});
        }
    return points;
}

/// One rank's measurement. All ranks construct it and call run() at the same time.
template <class Engine, class Line = start_line>
class collective_run {
  public:
    collective_run(const collective_request& asked, int rank, Line& line, Engine& engine)
        : asked_{asked},
          ranks_{asked.threads},
          rank_{rank},
          line_{line},
          engine_{engine},
          points_{points_of(asked)},
          mine_{largest()},
          result_{largest()} {}

    /// Returns what all ranks saw, on rank 0.
    collective_result run() {
        collective_result seen;
        const std::int64_t drawn = asked_.seed.value_or(static_cast<std::int64_t>(std::random_device{}()));
        seen.seed = line_.agree(drawn);
        std::mt19937_64 chance{static_cast<std::uint64_t>(seen.seed)};
        std::vector<std::size_t> order(points_.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::vector<std::int64_t> counts(points_.size());
        for (const std::size_t i : order) counts[i] = warm_up(points_[i]);
        for (int sweep = 0; sweep < asked_.sweeps; ++sweep) {
            std::shuffle(order.begin(), order.end(), chance);
            for (const std::size_t i : order) visit(points_[i], counts[i], true);
        }
        line_.wrong(rank_) = wrong_;
        line_.agree(0);
        for (int rank = 0; rank < ranks_; ++rank) seen.wrong_repetitions += line_.wrong(rank);
        seen.clock_seconds = clock_seconds();
        seen.rank_cpus = cpus_of_ranks();
        seen.points = std::move(points_);
        return seen;
    }

  private:
    std::size_t largest() const {
        std::int64_t words = 1;
        for (const auto& point : points_) words = std::max(words, point.words);
        return usize(words);
    }

    // Repetitions of one visit, from how long some of them take with all that goes with them. Rank 0 decides.
    std::int64_t warm_up(collective_point& point) {
        std::int64_t step = 2;
        double one = 0.0;
        for (double spent = 0.0; spent < asked_.warmup_seconds;) {
            const double begin = monotonic_seconds();
            visit(point, step, false);
            const double seconds = monotonic_seconds() - begin;
            one = seconds / as_double(step);
            spent = 1e-9 * as_double(line_.agree(static_cast<std::int64_t>(1e9 * (spent + seconds))));
            step = std::min<std::int64_t>(4 * step, 64);
        }
        const double wanted =
            std::max(asked_.min_seconds / std::max(one, 1e-7), as_double(least_repetitions));
        const double limited = std::min(wanted, as_double(asked_.max_iterations.value_or(1'000'000'000)));
        const auto visits = static_cast<std::int64_t>(limited / asked_.sweeps) + 1;
        return line_.agree(std::clamp<std::int64_t>(visits, 1, most_repetitions));
    }

    void visit(collective_point& point, std::int64_t repetitions, bool counts) {
        const auto words = usize(point.words);
        for (std::int64_t i = 0; i < repetitions; ++i) {
            const rank_data data = prepare(point.operation, words);
            bool late = false;
            const std::int64_t begin = line_.wait_to_begin(late);
            engine_.perform(point.operation, data);
            const std::int64_t end = line_.now();
            line_.times(rank_)[i] = late ? -1 : end - begin;
            if (!right(point.operation, words)) ++wrong_;
        }
        line_.agree(0);
        if (counts && rank_ == 0) collect(point, repetitions);
        line_.agree(0);
    }

    void collect(collective_point& point, std::int64_t repetitions) {
        for (std::int64_t i = 0; i < repetitions; ++i) {
            std::int64_t last = 0;
            bool late = false;
            for (int rank = 0; rank < ranks_; ++rank) {
                const std::int64_t one = line_.times(rank)[i];
                late = late || one < 0;
                last = std::max(last, one);
            }
            if (late)
                ++point.late;
            else
                point.nanoseconds.push_back(last);
        }
    }

    // Words are whole numbers, so that a sum is exact in any order and its check needs no tolerance.
    double base(int rank) const {
        return as_double((repetition_ * 37 + static_cast<std::int64_t>(rank) * 1009) % 65536);
    }
    double sum_of_bases() const {
        double sum = 0.0;
        for (int rank = 0; rank < ranks_; ++rank) sum += base(rank);
        return sum;
    }

    static void write(std::span<double> words, double first, double step) {
        for (std::size_t i = 0; i < words.size(); ++i) words[i] = first + step * as_double(i);
    }

    rank_data prepare(collective operation, std::size_t words) {
        ++repetition_;
        const std::size_t part = words / usize(ranks_);
        std::span<double> mine = mine_.first(words);
        std::span<double> result = result_.first(words);
        if (operation == collective::all_gather || operation == collective::gather_broadcast)
            mine = mine_.first(part);
        if (operation == collective::reduce_scatter) result = result_.first(part);
        if (operation == collective::broadcast) {
            write(result, rank_ == 0 ? base(0) : -1.0, 1.0);
            return {result, result};
        }
        if (engine_.in_place(operation)) mine = result;
        write(mine, base(rank_), 1.0);
        return {mine, result};
    }

    static bool is(std::span<const double> words, double first, double step) {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < words.size(); ++i)
            wrong += words[i] == first + step * as_double(i) ? 0U : 1U;
        return wrong == 0;
    }

    bool right(collective operation, std::size_t words) {
        const std::size_t part = words / usize(ranks_);
        switch (operation) {
            case collective::barrier:
                return true;
            case collective::broadcast:
                return is(result_.first(words), base(0), 1.0);
            case collective::all_reduce:
            case collective::reduce_broadcast:
                return is(result_.first(words), sum_of_bases(), ranks_);
            case collective::reduce_scatter:
                return is(result_.first(part), sum_of_bases() + as_double(ranks_) * as_double(part) * rank_,
                          ranks_);
            case collective::all_gather:
            case collective::gather_broadcast:
                for (int rank = 0; rank < ranks_; ++rank)
                    if (!is(result_.first(words).subspan(part * usize(rank), part), base(rank), 1.0))
                        return false;
                return true;
        }
        return false;
    }

    // What is left of the time when the operation does nothing: from the moment to the clock's second
    // reading.
    double clock_seconds() {
        std::vector<std::int64_t> found;
        for (int i = 0; i < 31; ++i) {
            bool late = false;
            const std::int64_t begin = line_.wait_to_begin(late);
            found.push_back(line_.now() - begin);
        }
        return 1e-9 * quantile(found, 0.5);
    }

    std::vector<int> cpus_of_ranks() {
        line_.times(rank_)[0] = sched_getcpu();
        line_.agree(0);
        std::vector<int> found;
        for (int rank = 0; rank < ranks_; ++rank) found.push_back(static_cast<int>(line_.times(rank)[0]));
        line_.agree(0);
        return found;
    }

    const collective_request& asked_;
    int ranks_;
    int rank_;
    Line& line_;
    Engine& engine_;
    std::vector<collective_point> points_;
    word_buffer mine_, result_;
    std::int64_t repetition_ = 0;
    std::int64_t wrong_ = 0;
};

/// Throws input_error for an operation that the engine has not.
template <class Engine>
void require_operations(const collective_request& asked) {
    for (const collective operation : asked.operations)
        if (!Engine::offers(operation))
            throw input_error("engine '" + asked.schedule + "' has no " + std::string{name_of(operation)} +
                              "; leave it out of --operations, or choose another --engine");
}

/// Points that kept no repetition: every one of them was late. A sentence for the user, empty if there is
/// none.
inline std::string without_times(const collective_result& seen) {
    for (const auto& point : seen.points)
        if (point.nanoseconds.empty())
            return std::string{name_of(point.operation)} + " of " + std::to_string(point.words) +
                   " words: in each of " + std::to_string(point.late) +
                   " repetitions a rank began too late, so no time is worth anything; close what else runs "
                   "on "
                   "these CPUs";
    return "";
}

}  // namespace tauto::runner
