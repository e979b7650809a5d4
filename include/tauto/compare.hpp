#pragma once
// Which of two to twenty callables is the fastest, measured together in one process:
//
//     std::cout << tauto::compare("old", [&] { return f(x); }, "new", [&] { return g(x); });
//
// Blocks of calls are interleaved in shuffled rounds, ratios are taken round by round, and the interval is
// exact (sign_test.hpp). Needs nothing but the headers: no library is linked. docs/compare-cpp.md has the
// promises.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/block.hpp>
#include <tauto/comparison.hpp>
#include <tauto/do_not_optimize.hpp>
#include <tauto/error.hpp>
#include <tauto/sign_test.hpp>
#include <tauto/signed_rank.hpp>

namespace tauto {

// 0 means "choose for me".
struct compare_options {
    int rounds = 0;           // exactly so many, at most most_rounds; precision and budget are then not asked
    double precision = 0.01;  // rounds go on until each ratio is known within this part of itself …
    // … or until about so much time is over, warm-up included. Chosen: a second, and longer where the fewest
    // rounds that can carry a verdict take longer.
    std::chrono::nanoseconds budget{0};
    std::chrono::nanoseconds warmup{0};  // of each callable; chosen: the calls that find the block's length
    std::chrono::nanoseconds block{0};   // the shortest block; chosen: 0.1 ms, or 1000 steps of the clock
    std::int64_t calls = 0;              // calls of a block, for all alike
    double batch = 1;                    // operations of a call …
    std::string unit = {};               // … and what one is ("byte"): times are then told of one of them
    double confidence = 0.99;            // of all verdicts and looks together
    std::uint64_t seed = 1;              // of the order in each round
    std::string cell = {};               // which one of a sweep; compare_each fills it in
    std::ostream* output = nullptr;      // where the answer is printed as well
};

namespace detail {

// Something that runs blocks: a callable of any type.
class subject {
  public:
    explicit subject(std::string name) : name_(std::move(name)) {}
    virtual ~subject() = default;
    virtual void run(block& calls) = 0;
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

  private:
    std::string name_;
};

template <class F>
concept timed_call = std::invocable<F&> || std::invocable<F&, block&>;

template <timed_call F>
class subject_of final : public subject {
  public:
    subject_of(std::string name, F& callable) : subject(std::move(name)), callable_(&callable) {}

    // Not inlined: the loop around an empty callable is then the loop around any other.
    [[gnu::noinline]] void run(block& calls) override {
        F& callable = *callable_;
        if constexpr (std::invocable<F&>) {
            for ([[maybe_unused]] auto call : calls) {
                if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
                    std::invoke(callable);
                } else {
                    do_not_optimize(std::invoke(callable));
                }
                // What it refers to is written, and may have changed: no work may be done once for all calls.
                clobber_memory();
            }
        } else {
            std::invoke(callable, calls);
        }
    }

  private:
    F* callable_;
};

using subjects = std::vector<std::unique_ptr<subject>>;

inline void add_subjects(subjects&) {}
template <class Name, class F, class... Rest>
void add_subjects(subjects& all, Name&& name, F&& callable, Rest&&... rest) {
    all.push_back(std::make_unique<subject_of<std::remove_reference_t<F>>>(
        std::string(std::forward<Name>(name)), callable));
    add_subjects(all, std::forward<Rest>(rest)...);
}

// Names and callables in turn.
template <class...>
inline constexpr bool are_named_calls = true;
template <class One>
inline constexpr bool are_named_calls<One> = false;
template <class Name, class F, class... Rest>
inline constexpr bool are_named_calls<Name, F, Rest...> = std::constructible_from<std::string, Name>&&
    timed_call<std::remove_reference_t<F>>&& are_named_calls<Rest...>;

// One comparison from its first call to its answer.
class comparing {
  public:
    comparing(meter& meter, const compare_options& options, subjects all)
        : meter_(meter), options_(options), subjects_(std::move(all)), sides_(subjects_.size()) {}

    comparison run() {
        check();
        const std::int64_t start = meter_.nanoseconds();
        read_clock();
        const double budget = options_.budget.count() > 0 ? as_double(options_.budget.count()) : 1e9;
        target_ = options_.block.count() > 0 ? as_double(options_.block.count())
                                             : std::max(usual_block, 1000 * step_);
        time_empty_calls();
        double round_nanoseconds = 0;
        for (std::size_t i = 0; i < sides_.size(); ++i) round_nanoseconds += warm_up(i);
        plan_looks(budget - as_double(meter_.nanoseconds() - start), round_nanoseconds);
        for (const int look : looks_) {
            while (rounds_ < look) run_round();
            judge_all();
            if (known()) break;
        }
        return answer();
    }

  private:
    // ns. Beside programs that want the same CPU, equal callables were known within 0.01 % after 60 rounds of
    // 0.1 ms, and within 1 to 2 % after 400 rounds of 1 ms, which were interrupted more often.
    static constexpr double usual_block = 100'000;
    static constexpr int longest_plan = 960;
    static constexpr std::int64_t most_calls = std::int64_t{1} << 40;

    struct side {
        std::int64_t calls = 1;
        std::int64_t all_calls = 0;
        std::int64_t pauses = 0;
        std::vector<double> blocks = {};
        used usage = {};
        int too_long = 0;     // blocks in a row
        int interrupted = 0;  // blocks in which something else was given the CPU
        std::vector<double> points = {};
        paired_ratio ratio = {};
    };

    void check() const {
        const auto refuse = [](const std::string& what) { throw error(what); };
        if (subjects_.empty() || subjects_.size() > 20)
            refuse(std::to_string(subjects_.size()) + " callables were given: compare 1 to 20 at once");
        for (std::size_t i = 0; i < subjects_.size(); ++i) {
            for (std::size_t k = 0; k < i; ++k) {
                if (subjects_[i]->name() == subjects_[k]->name())
                    refuse("two callables are called \"" + subjects_[i]->name() +
                           "\": give each its own name");
            }
        }
        if (options_.rounds < 0 || options_.rounds > most_rounds)
            refuse(std::to_string(options_.rounds) + " rounds were asked for: at most " +
                   std::to_string(most_rounds) + " are possible; for more, make the blocks longer");
        if (!(options_.confidence >= 0.5 && options_.confidence < 1))
            refuse("a confidence of " + fixed(options_.confidence, 3) + " was asked for: give 0.5 to 0.9999");
        if (!(options_.precision > 0)) refuse("the precision must be above 0, as 0.01 for 1 %");
        if (!(options_.batch > 0) || !std::isfinite(options_.batch))
            refuse("a batch of " + fixed(options_.batch, 3) + " operations was given: it must be above 0");
        if (options_.budget.count() < 0 || options_.warmup.count() < 0 || options_.block.count() < 0 ||
            options_.calls < 0)
            refuse("times and numbers of calls must not be negative; 0 leaves the choice to compare");
    }

    // The smallest step that the clock makes, and what a reading usually costs: one may be interrupted.
    void read_clock() {
        constexpr std::size_t steps = 20;
        constexpr std::int64_t most_readings = 500'000'000;
        std::vector<double> each;  // a reading, from step to step
        std::int64_t last = meter_.nanoseconds();
        std::int64_t before = 0;
        for (std::int64_t readings = 1; each.size() < steps; ++readings) {
            if (readings > most_readings) throw error("the clock stands still: nothing can be timed by it");
            const std::int64_t now = meter_.nanoseconds();
            if (now == last) continue;
            const double step = as_double(now - last);
            step_ = each.empty() ? step : std::min(step_, step);
            each.push_back(step / as_double(readings - std::exchange(before, readings)));
            last = now;
        }
        reading_ = median(std::move(each));
    }

    void run_block(std::size_t i, block& calls) {
        subjects_[i]->run(calls);
        if (!calls.complete())
            throw error("\"" + subjects_[i]->name() +
                        "\" takes a tauto::block and did not run its loop once to the end: write "
                        "`for (auto call : block) …` in it, without break, and a resume() for each pause()");
    }

    void time_empty_calls() {
        auto nothing = [] {};
        subject_of<decltype(nothing)> empty("", nothing);
        constexpr std::int64_t calls = 20'000;
        for (int i = 0; i < 5; ++i) {
            block one(meter_, calls);
            empty.run(one);
            const double time = as_double(one.nanoseconds()) / as_double(calls);
            overhead_ = i == 0 ? time : std::min(overhead_, time);
        }
    }

    // Finds the calls of a block, and how long a block takes with all that is around it.
    double warm_up(std::size_t i) {
        side& one = sides_[i];
        one.calls = std::max(std::int64_t{1}, options_.calls);
        const std::int64_t start = meter_.nanoseconds();
        for (;;) {
            const std::int64_t before = meter_.nanoseconds();
            block calls(meter_, one.calls);
            run_block(i, calls);
            const double time = as_double(calls.nanoseconds());
            const std::int64_t now = meter_.nanoseconds();
            const bool found = options_.calls > 0 || !lengthen(one, time);
            if (found && now - start >= options_.warmup.count()) return as_double(now - before);
        }
    }

    // More calls for a block that took `time` ns, where that is too short: at most ten times as many, for the
    // first calls are slow. Fewer only where three blocks in a row were far too long: one was interrupted,
    // and a shorter block after it would be the next that an interruption falsifies. Whether anything was
    // changed.
    bool lengthen(side& one, double time) const {
        one.too_long = time < 4 * target_ || one.calls == 1 ? 0 : one.too_long + 1;
        if (options_.calls > 0 || (time >= target_ && one.too_long < 3)) return false;
        if (one.calls >= most_calls)
            throw error("a block of " + std::to_string(one.calls) +
                        " calls takes no time by the clock: its loop was removed, or the clock stands still");
        const double factor = std::clamp(1.2 * target_ / std::max(time, 1.0), 0.01, 10.0);
        one.calls = std::clamp(static_cast<std::int64_t>(std::ceil(as_double(one.calls) * factor)),
                               std::int64_t{1}, most_calls);
        one.too_long = 0;
        return true;
    }

    [[nodiscard]] int rivals() const noexcept { return std::max(1, int_size(sides_) - 1); }

    // Settled before the first round that counts. Each look costs a part of the error, so there are few. Time
    // for more rounds than a verdict takes is used for several blocks in each.
    void plan_looks(double nanoseconds_left, double round_nanoseconds) {
        if (options_.rounds > 0) {
            looks_ = {options_.rounds};
            return;
        }
        const double possible = std::max(nanoseconds_left, 0.0) / std::max(round_nanoseconds, 1.0);
        repeats_ = static_cast<int>(std::clamp(possible / longest_plan, 1.0, 1e6));
        int last = static_cast<int>(std::clamp(possible, 1.0, as_double(longest_plan)));
        if (options_.budget.count() == 0) last = std::max(last, rounds_needed(options_.confidence, rivals()));
        for (const int part : {16, 4}) {
            if (last / part >= rounds_needed(options_.confidence, 3 * rivals()))
                looks_.push_back(last / part);
        }
        looks_.push_back(last);
    }

    void run_round() {
        std::vector<std::vector<double>> seconds(sides_.size());
        std::vector<std::size_t> order(sides_.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        for (int repeat = 0; repeat < repeats_; ++repeat) {
            for (std::size_t i = order.size(); i > 1; --i)
                std::swap(order[i - 1], order[static_cast<std::size_t>(draw() % i)]);
            for (const std::size_t i : order) seconds[i].push_back(time_block(i));
        }
        for (std::size_t i = 0; i < sides_.size(); ++i) sides_[i].points.push_back(median(seconds[i]));
        ++rounds_;
    }

    // Seconds of a call.
    double time_block(std::size_t i) {
        side& one = sides_[i];
        block done(meter_, one.calls);
        run_block(i, done);
        const double time = as_double(done.nanoseconds());
        if (!(time > 0))
            throw error("no time passed in a block of " + std::to_string(one.calls) + " calls of \"" +
                        subjects_[i]->name() + "\": give it more work, or more calls");
        const double seconds = time * 1e-9 / as_double(one.calls);
        one.blocks.push_back(time);
        one.all_calls += one.calls;
        one.pauses += done.pauses();
        one.usage.cpu_seconds += done.usage().cpu_seconds;
        one.usage.switches += done.usage().switches;
        one.interrupted += done.usage().forced > 0 ? 1 : 0;
        lengthen(one, time);
        return seconds;
    }

    // SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014); its remainders are even enough for 20.
    std::uint64_t draw() noexcept {
        drawn_ += 0x9e3779b97f4a7c15;
        std::uint64_t bits = drawn_ ^ options_.seed * 0xd1342543de82ef95;
        bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
        bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
        return bits ^ bits >> 31;
    }

    // Of the side whose blocks are the shorter ones.
    [[nodiscard]] double block_length() const {
        double length = std::numeric_limits<double>::infinity();
        for (const side& one : sides_) length = std::min(length, median(one.blocks));
        return length;
    }

    // By how much the clock alone may move a ratio: each block holds one reading and ends within a step.
    [[nodiscard]] double clock_error() const { return 2 * (step_ + reading_) / block_length(); }

    void judge_all() {
        const double error = std::log1p(clock_error());
        for (std::size_t i = 1; i < sides_.size(); ++i) {
            paired_ratio& ratio = sides_[i].ratio;
            ratio = compare_drawn(sides_[i].points, sides_[0].points, options_.confidence,
                                  rivals() * int_size(looks_));
            if ((ratio.verdict == verdict::faster && std::log(ratio.high) > -error) ||
                (ratio.verdict == verdict::slower && std::log(ratio.low) < error))
                ratio.verdict = verdict::no_difference;
        }
        if (sides_.size() == 1) alone_ = judge_time(sides_[0]);
    }

    // The median of the times themselves.
    [[nodiscard]] paired_ratio judge_time(const side& one) const {
        const std::vector<double> seconds(one.points.size(), 1.0);
        return compare_pairs(one.points, seconds, options_.confidence, rivals() * int_size(looks_));
    }

    // Whether the ratios are known as well as was asked; comparisons with NaN are false.
    [[nodiscard]] bool known() const {
        if (sides_.size() == 1) return alone_.resolution() <= options_.precision;
        return std::all_of(sides_.begin() + 1, sides_.end(),
                           [&](const side& one) { return one.ratio.resolution() <= options_.precision; });
    }

    [[nodiscard]] comparison answer() const {
        comparison found;
        found.cell = options_.cell;
        found.rounds = rounds_;
        found.blocks = repeats_;
        found.looks = looks_;
        found.confidence = options_.confidence;
        found.batch = options_.batch;
        found.unit = options_.unit.empty() && options_.batch != 1 ? "item" : options_.unit;
        found.step_seconds = step_ * 1e-9;
        found.overhead_seconds = overhead_ * 1e-9;
        for (std::size_t i = 0; i < sides_.size(); ++i) {
            const side& one = sides_[i];
            const paired_ratio time = judge_time(one);
            found.sides.push_back({.name = subjects_[i]->name(),
                                   .seconds = median(one.points),
                                   .low = time.low,
                                   .high = time.high,
                                   .cpu_seconds = one.usage.cpu_seconds / as_double(one.all_calls),
                                   .switches = one.usage.switches,
                                   .calls = one.calls,
                                   .points = one.points,
                                   .ratio = one.ratio});
        }
        found.block_seconds = block_length() * 1e-9;
        found.clock_error = clock_error();
        note_all(found);
        if (options_.output != nullptr) *options_.output << found;
        return found;
    }

    // -- what stood in the way --

    void note_all(comparison& found) const {
        note_clock(found);
        for (std::size_t i = 0; i < sides_.size(); ++i) {
            note_overhead(found, i);
            note_interruptions(found, i);
            note_trend(found, i);
            note_modes(found, i);
        }
        if (options_.rounds == 0 && !known() && rounds_ >= fewest_rounds)
            found.notes.push_back("the " + percent_text(options_.precision) +
                                  " asked for was not reached: give a larger budget");
    }

    void note_clock(comparison& found) const {
        if (found.block_seconds < 1000 * found.step_seconds)
            found.notes.push_back("clock: it moves in steps of " + time_text(found.step_seconds) +
                                  ", and a block takes " + time_text(found.block_seconds) +
                                  ": give a longer .block");
        else if (found.step_seconds > 1e-6)
            found.notes.push_back("clock: it moves in steps of " + time_text(found.step_seconds) +
                                  ", so a block takes " + time_text(found.block_seconds));
    }

    // The compiler and the CPU overlap the loop with its body, so what it costs there is not what it costs
    // alone: it is shown and never subtracted.
    void note_overhead(comparison& found, std::size_t i) const {
        const compared& shown = found.sides[i];
        if (overhead_ * 1e-9 > 0.05 * shown.seconds)
            found.notes.push_back("too short: the loop around a call takes " + time_text(overhead_ * 1e-9) +
                                  " of the " + time_text(shown.seconds) + " of " + shown.name +
                                  ", and is not subtracted: put more work into a call");
        const double paused = reading_ * 1e-9 * as_double(sides_[i].pauses) / as_double(sides_[i].all_calls);
        if (paused > 0.01 * shown.seconds)
            found.notes.push_back("pauses: their clock takes about " + time_text(paused) + " of the " +
                                  time_text(shown.seconds) + " of " + shown.name +
                                  ": prepare a whole block before its loop");
    }

    void note_interruptions(comparison& found, std::size_t i) const {
        if (20 * sides_[i].interrupted >= int_size(sides_[i].blocks))
            found.notes.push_back(
                "interference: something else was given the CPU in " + std::to_string(sides_[i].interrupted) +
                " of " + counted(std::ssize(sides_[i].blocks), "block") + " of " + found.sides[i].name);
    }

    // The second half of the rounds against the first, judged as the ratios are.
    void note_trend(comparison& found, std::size_t i) const {
        const std::size_t half = sides_[i].points.size() / 2;
        std::vector<double> times;
        std::vector<double> ratios;
        for (std::size_t k = 0; k < half; ++k) {
            const std::size_t later = sides_[i].points.size() - half + k;
            times.push_back(log_ratio(sides_[i].points[later], sides_[i].points[k]));
            ratios.push_back(times.back() - log_ratio(sides_[0].points[later], sides_[0].points[k]));
        }
        const auto say = [&](const std::string& what, const paired_ratio& change, const std::string& more) {
            if (change.verdict != verdict::faster && change.verdict != verdict::slower) return;
            if (std::abs(change.ratio - 1) < 0.005) return;
            found.notes.push_back("trend: " + what + " was " + percent_text(std::abs(change.ratio - 1)) +
                                  (change.ratio > 1 ? " larger" : " smaller") +
                                  " in the second half of the rounds" + more);
        };
        const std::string& name = found.sides[i].name;
        const int several = int_size(sides_);
        if (i == 0)
            say("the time of " + name, judge(times, 0.99, several), several > 1 ? "; pairs cancel it" : "");
        else
            say("the ratio of " + name, judge(ratios, 0.99, several),
                ": one of the two was still warming up");
    }

    // The best split of the sorted logarithms into two groups (least squares). Two modes: each has 15 % of
    // the rounds, they are 2 % apart, and five times as far as they are wide. For one mode, uniform or
    // normal, the latter is 2.7 to 3.5.
    void note_modes(comparison& found, std::size_t i) const {
        std::vector<double> logs;
        for (const double seconds : sides_[i].points) logs.push_back(std::log(seconds));
        std::sort(logs.begin(), logs.end());
        const std::size_t count = logs.size();
        if (count < 20) return;
        double all = 0;
        double squares = 0;
        for (const double value : logs) {
            all += value - logs[0];
            squares += (value - logs[0]) * (value - logs[0]);
        }
        double below = 0;
        double best = 0;
        double apart = 0;
        std::size_t split = 0;
        for (std::size_t k = 1; k < count; ++k) {
            below += logs[k - 1] - logs[0];
            const double left = as_double(k);
            const double right = as_double(count - k);
            const double distance = (all - below) / right - below / left;
            const double between_groups = left * right / as_double(count) * distance * distance;
            if (between_groups <= best) continue;
            best = between_groups;
            apart = distance;
            split = k;
        }
        const double within = squares - all * all / as_double(count) - best;
        const double width = std::sqrt(std::max(0.0, within) / as_double(count));
        const double least = 0.15 * as_double(count);
        if (as_double(split) < least || as_double(count - split) < least || apart < 0.02 || apart < 5 * width)
            return;
        const std::span<const double> sorted(logs);
        const std::string lower = time_text(std::exp(median_of_sorted(sorted.first(split))));
        const std::string upper = time_text(std::exp(median_of_sorted(sorted.subspan(split))));
        found.notes.push_back("two modes: " + found.sides[i].name + " takes about " + lower + " in " +
                              counted(static_cast<long long>(split), "round") + " and " + upper +
                              " in the other " + std::to_string(count - split));
    }

    meter& meter_;
    const compare_options& options_;
    subjects subjects_;
    std::vector<side> sides_;
    paired_ratio alone_ = {};  // of a callable that is not compared: its time
    std::vector<int> looks_ = {};
    double step_ = 0;      // ns, as all here
    double reading_ = 0;   // of the clock
    double overhead_ = 0;  // of the loop, a call
    double target_ = 0;    // the shortest block
    int rounds_ = 0;
    int repeats_ = 1;  // blocks of a callable in a round
    std::uint64_t drawn_ = 0;
};

// With a meter of the caller's.
template <class... Calls>
comparison compare_by(meter& meter, const compare_options& options, Calls&&... calls) {
    subjects all;
    add_subjects(all, std::forward<Calls>(calls)...);
    return comparing(meter, options, std::move(all)).run();
}

}  // namespace detail

// Names and callables in turn, the first pair being the reference. A callable takes nothing, and its result
// is kept; or it takes a tauto::block, sets up its work and loops over the block itself. It is called on this
// thread, in place: it is neither copied nor moved. Throws what a callable throws, and tauto::error for
// options that cannot be. Memory: 8 bytes a callable and round.
template <class... Calls>
requires(detail::are_named_calls<Calls...>) [[nodiscard]] comparison
    compare(const compare_options& options, Calls&&... calls) {
    detail::system_meter meter;
    return detail::compare_by(meter, options, std::forward<Calls>(calls)...);
}

template <class... Calls>
requires(sizeof...(Calls) > 0 && detail::are_named_calls<Calls...>) [[nodiscard]] comparison
    compare(Calls&&... calls) {
    return tauto::compare(compare_options{}, std::forward<Calls>(calls)...);
}

// make(argument), which calls compare, for each argument; each is one cell of the answer, called as the
// argument is printed.
template <class Arguments, class Make>
[[nodiscard]] sweep compare_each(Arguments&& arguments, Make&& make) {
    sweep all;
    for (auto&& argument : arguments) {
        std::ostringstream name;
        name << argument;
        all.cells.push_back(std::invoke(make, argument));
        if (all.cells.back().cell.empty()) all.cells.back().cell = name.str();
    }
    return all;
}

template <class Argument, class Make>
[[nodiscard]] sweep compare_each(std::initializer_list<Argument> arguments, Make&& make) {
    return compare_each(std::span<const Argument>(arguments.begin(), arguments.size()),
                        std::forward<Make>(make));
}

}  // namespace tauto
