// Callables that are compared in one process. No library is linked: the headers are all that a user needs.
// Times come from a clock that the callables move themselves.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <tauto/compare.hpp>

#include "refusals.hpp"

// Other files might see them.
extern int shared_value;
extern int shared_result;
int shared_value = 4;
int shared_result = 0;

namespace tauto {
using testing::mentions;
using testing::message_of;

namespace {
// The build with AddressSanitizer is a tenth as fast, and looks for other things than rates.
#ifdef __SANITIZE_ADDRESS__
constexpr int less = 10;
#else
constexpr int less = 1;
#endif

// Moves by `reading` ns each time it is read, and as its callables pass time; it shows whole steps.
class virtual_meter final : public detail::meter {
  public:
    explicit virtual_meter(std::int64_t step = 1, double reading = 20) : step_(step), reading_(reading) {}
    std::int64_t nanoseconds() noexcept override {
        now_ += reading_;
        if (--until_late_ == 0) now_ += late_by_;
        return static_cast<std::int64_t>(now_) / step_ * step_;
    }
    detail::used usage() noexcept override { return used_; }
    void pass(double nanoseconds) noexcept {
        now_ += nanoseconds;
        used_.cpu_seconds += nanoseconds * 1e-9;
    }
    // As a sleep does: without CPU time.
    void wait(double nanoseconds) noexcept { now_ += nanoseconds; }
    void interrupt() noexcept {
        ++used_.switches;
        ++used_.forced;
    }
    // So many readings from now one is interrupted.
    void be_late(int readings, double nanoseconds) noexcept {
        until_late_ = readings;
        late_by_ = nanoseconds;
    }
    [[nodiscard]] double now() const noexcept { return now_; }

  private:
    int until_late_ = 0;
    double late_by_ = 0;
    std::int64_t step_;
    double reading_;
    double now_ = 0;
    detail::used used_;
};

// A machine that drifts by 3 % in a fifth of a second, beside a neighbour that comes and goes.
class restless {
  public:
    restless(virtual_meter& meter, unsigned seed, double spread)
        : meter_(meter), random_(seed), noise_(0, spread) {}
    void call(double nanoseconds) {
        if (meter_.now() > change_) {
            beside_ = !beside_;
            change_ = meter_.now() + 3e6 + 2e7 * uniform_(random_);
        }
        double time = nanoseconds * (1 + 0.03 * meter_.now() / 2e8) * std::exp(noise_(random_));
        if (beside_ && uniform_(random_) < 0.3) time *= 1 + 2 * uniform_(random_);
        meter_.pass(time);
    }

  private:
    virtual_meter& meter_;
    std::mt19937 random_;
    std::normal_distribution<double> noise_;
    std::uniform_real_distribution<double> uniform_{0, 1};
    double change_ = 0;
    bool beside_ = true;
};

constexpr std::chrono::microseconds short_block{50};    // one call
constexpr std::chrono::milliseconds short_budget{220};  // 960 rounds of two such blocks and the warm-up

// To the compiler a function of its argument alone, which it may call once for all, or never.
volatile int pure_calls = 0;
#if defined(__clang__)
[[gnu::const, gnu::noinline]] int pure_work(int value) noexcept;
#else
[[gnu::const, gnu::noinline, gnu::noclone, gnu::noipa]] int pure_work(int value) noexcept;
#endif
int pure_work(int value) noexcept {
    pure_calls = pure_calls + 1;
    return value + 1;
}

// A line of ranks: the test's name, the confidence, then counts and ranks.
void check_ranks(std::istream& words) {
    std::string test;
    double confidence = 0;
    words >> test >> confidence;
    CAPTURE(test);
    CAPTURE(confidence);
    bool equal = true;
    int count = 0;
    for (int rank = 0; words >> count >> rank;) {
        equal =
            equal && rank == (test == "sign" ? detail::sign_interval_rank(count, confidence)
                                             : detail::signed_rank_chances(count).interval_rank(confidence));
    }
    CHECK(equal);
    CHECK(count == most_rounds);
}

// The next four figures and the word.
void check_verdict(const paired_ratio& found, std::istream& words) {
    for (const double figure : {found.ratio, found.low, found.high, found.coverage}) {
        std::string word;
        words >> word;
        if (word == "nan")
            CHECK(std::isnan(figure));
        else
            CHECK(figure == doctest::Approx(std::stod(word)).epsilon(1e-12));
    }
    std::string told;
    words >> told;
    std::replace(told.begin(), told.end(), '_', ' ');
    CHECK(told == word_of(found.verdict));
}
}  // namespace

TEST_SUITE("compare-cpp.md, promise 1") {
    TEST_CASE("a known difference is found, and told in one sentence") {
        virtual_meter meter;
        const comparison found = detail::compare_by(
            meter, {}, "old", [&] { meter.pass(200); }, "new", [&] { meter.pass(100); });
        CHECK(found.sides[1].ratio.verdict == verdict::faster);
        CHECK(found.sides[1].ratio.ratio == doctest::Approx(0.5).epsilon(0.001));
        CHECK(found.sides[0].seconds == doctest::Approx(200e-9).epsilon(0.001));
        CHECK(found.sentence() ==
              "new is 2.00 times as fast as old: 100.0 ns against 200.0 ns a call (99 %, 60 rounds).");
        CHECK(found.notes.empty());

        const comparison slower = detail::compare_by(
            meter, {.rounds = 12}, "old", [&] { meter.pass(1e6); }, "new", [&] { meter.pass(1.5e6); });
        CHECK(mentions(slower.sentence(), "new takes 1.50 times as long as old: 1.50 ms against 1.00 ms"));
    }
}

TEST_SUITE("compare-cpp.md, promise 2") {
    TEST_CASE("equal callables are called different in at most 1 % of trials, beside drift and a neighbour") {
        int false_words = 0;
        int looks = 0;
        constexpr int trials = 500 / (less * less);
        for (unsigned trial = 0; trial < trials; ++trial) {
            virtual_meter meter;
            restless machine(meter, trial + 1, 0.05);
            const auto call = [&] { machine.call(1e5); };
            const comparison found =
                detail::compare_by(meter, {.budget = short_budget, .block = short_block, .seed = trial},
                                   "old", call, "new", call);
            const verdict told = found.sides[1].ratio.verdict;
            REQUIRE(told != verdict::not_measured);
            if (told != verdict::no_difference) ++false_words;
            if (found.looks.size() == 3) ++looks;
        }
        CHECK(false_words <= 5);
        CHECK(looks == trials);
    }
}

TEST_SUITE("compare-cpp.md, promise 3") {
    TEST_CASE(
        "a difference of 2 % is found in at least 95 % of trials with 300 rounds, beside a drift of 3 %") {
        int right = 0;
        int wrong = 0;
        constexpr int trials = 200 / less;
        for (unsigned trial = 0; trial < trials; ++trial) {
            virtual_meter meter;
            restless machine(meter, trial + 1, 0.03);
            const comparison found = detail::compare_by(
                meter, {.rounds = 300, .block = short_block}, "old", [&] { machine.call(1e5); }, "new",
                [&] { machine.call(0.98e5); });
            if (found.sides[1].ratio.verdict == verdict::faster) ++right;
            if (found.sides[1].ratio.verdict == verdict::slower) ++wrong;
        }
        CHECK(right >= trials * 95 / 100);
        CHECK(wrong == 0);
    }
}

TEST_SUITE("compare-cpp.md, promise 4") {
    TEST_CASE("ranks, intervals and verdicts are those of the lab") {
        std::ifstream file(TAUTO_VERDICT_CASES);
        REQUIRE(file);
        int ranks = 0;
        int pairs = 0;
        for (std::string line; std::getline(file, line);) {
            std::istringstream words(line);
            std::string kind;
            words >> kind;
            if (kind == "ranks") {
                check_ranks(words);
                ++ranks;
                continue;
            }
            REQUIRE(kind == "pairs");
            CAPTURE(line);
            int comparisons = 0;
            double confidence = 0;
            std::size_t count = 0;
            words >> comparisons >> confidence >> count;
            std::vector<double> candidate(count);
            std::vector<double> reference(count);
            for (std::size_t i = 0; i < count; ++i) words >> candidate[i] >> reference[i];
            check_verdict(compare_pairs(candidate, reference, confidence, comparisons), words);
            check_verdict(compare_drawn(candidate, reference, confidence, comparisons), words);
            ++pairs;
        }
        CHECK(ranks == 12);
        CHECK(pairs == 54);
    }

    TEST_CASE("times that cannot be compared are refused") {
        const std::vector<double> good(8, 1.0);
        const std::vector<double> bad = {1, 1, 1, 1, 0, 1, 1, 1};
        CHECK(mentions(message_of<error>([&] { (void)compare_pairs(good, bad); }),
                       "must be positive and finite"));
        CHECK(mentions(message_of<error>([&] { (void)compare_pairs(good, std::vector<double>(7, 1.0)); }),
                       "cannot be paired"));
        const std::vector<double> many(1000, 1.0);
        CHECK(
            mentions(message_of<error>([&] { (void)compare_pairs(many, many); }), "make the blocks longer"));
        CHECK(
            mentions(message_of<error>([&] { (void)compare_drawn(many, many); }), "make the blocks longer"));
    }
}

TEST_SUITE("compare-cpp.md, promise 5") {
    TEST_CASE("who is interrupted while the clock is looked at compares as well as ever") {
        for (const std::int64_t step : {1, 100}) {
            CAPTURE(step);
            virtual_meter meter(step);
            meter.be_late(10, 5e6);
            const comparison found = detail::compare_by(
                meter, {.rounds = 20}, "old", [&] { meter.pass(2e4); }, "new", [&] { meter.pass(1e4); });
            CHECK(found.clock_error < 0.01);
            CHECK(found.sides[1].ratio.verdict == verdict::faster);
        }
    }
    TEST_CASE("a block is as long as a thousand steps of the clock") {
        for (const std::int64_t step : {1, 100, 4000, 1'000'000}) {
            CAPTURE(step);
            virtual_meter meter(step);
            const comparison found = detail::compare_by(
                meter, {.rounds = 20}, "old", [&] { meter.pass(2e4); }, "new", [&] { meter.pass(3e4); });
            CHECK(found.step_seconds ==
                  doctest::Approx(1e-9 * static_cast<double>(std::max<std::int64_t>(step, 20))));
            CHECK(found.block_seconds >= 1000 * found.step_seconds);
            CHECK(found.block_seconds >= 100e-6);
            CHECK(found.sides[1].ratio.ratio == doctest::Approx(1.5).epsilon(0.01));
            CHECK((step > 1000) == !found.notes.empty());
        }
    }

    TEST_CASE("what a coarse clock cannot tell is no difference, and the bound says so") {
        virtual_meter meter(1'000'000);
        const comparison found = detail::compare_by(
            meter, {.rounds = 40, .block = std::chrono::milliseconds(20)}, "old", [&] { meter.pass(1e6); },
            "new", [&] { meter.pass(1.03e6); });
        CHECK(found.sides[1].ratio.verdict == verdict::no_difference);
        CHECK(found.bound(found.sides[1]) > 0.05);
        REQUIRE_FALSE(found.notes.empty());
        CHECK(mentions(found.notes[0], "steps of 1.00 ms"));
    }

    TEST_CASE("a call that takes seconds is a block, and the fewest rounds are made for a verdict") {
        virtual_meter meter;
        int calls = 0;
        const auto slow = [&] {
            ++calls;
            meter.pass(3e9);
        };
        const comparison found = detail::compare_by(meter, {}, "old", slow, "new", [&] { meter.pass(2e9); });
        CHECK(found.rounds == fewest_rounds);
        CHECK(found.sides[0].calls == 1);
        CHECK(calls == fewest_rounds + 1);  // one to see how long it takes
        CHECK(mentions(found.sentence(), "new is 1.50 times as fast as old: 2.00 s against 3.00 s a call"));

        const comparison hasty = detail::compare_by(meter, {.budget = std::chrono::seconds(21)}, "old", slow,
                                                    "new", [&] { meter.pass(2e9); });
        CHECK(hasty.rounds == 3);
        CHECK(hasty.sentence() ==
              "Whether new is faster than old cannot be told: 3 rounds are too few, 8 are needed.");
    }

    TEST_CASE("a callable that becomes slower or faster has fewer or more calls in a block") {
        virtual_meter meter;
        double cost = 100;
        const auto changing = [&] { meter.pass(cost); };
        const auto counted_by = [&](double change) {
            const comparison found =
                detail::compare_by(meter, {.rounds = 30}, "a", changing, "b", [&](block& calls) {
                    for (auto call : calls) meter.pass(100);
                    cost *= change;
                });
            return found.sides[0].calls;
        };
        const std::int64_t before = counted_by(1);
        CHECK(counted_by(1.3) < before / 100);
        cost = 1e5;
        CHECK(counted_by(0.8) > 100);
    }
}

TEST_SUITE("compare-cpp.md, promise 6") {
    TEST_CASE("each round runs a block of each callable, in an order of its own") {
        virtual_meter meter;
        std::string order;
        const auto noting = [&](char name) {
            return [&order, &meter, name](block& calls) {
                order += name;
                for (auto call : calls) meter.pass(1e6);
            };
        };
        const auto a = noting('a');
        const auto b = noting('b');
        const auto c = noting('c');
        const comparison found = detail::compare_by(meter, {.rounds = 100}, "a", a, "b", b, "c", c);
        REQUIRE(order.size() == 303);
        std::set<std::string> seen;
        for (std::size_t i = 3; i < order.size(); i += 3) {
            std::string round = order.substr(i, 3);
            seen.insert(round);
            std::sort(round.begin(), round.end());
            CHECK(round == "abc");
        }
        CHECK(seen.size() == 6);
        CHECK(found.sides[2].points.size() == 100);
    }
}

TEST_SUITE("compare-cpp.md, promise 7") {
    TEST_CASE(
        "rounds end at the first of three planned looks that knows the ratio, and the looks share the "
        "error") {
        const auto rounds_at = [](double spread, double precision) {
            virtual_meter meter;
            restless machine(meter, 3, spread);
            const comparison found = detail::compare_by(
                meter, {.precision = precision, .budget = short_budget, .block = short_block}, "old",
                [&] { machine.call(1e5); }, "new", [&] { machine.call(1e5); });
            CHECK(found.looks == std::vector<int>{60, 240, 960});
            CHECK(found.sides[1].ratio.confidence == doctest::Approx(1 - 0.01 / 3));
            CHECK(found.sides[1].ratio.coverage >= 1 - 0.01 / 3);
            const bool known = found.sides[1].ratio.resolution() <= precision;
            CHECK(known == (found.rounds < 960));
            bool noted = false;
            for (const std::string& note : found.notes) noted = noted || mentions(note, "was not reached");
            CHECK(noted == !known);
            return found.rounds;
        };
        CHECK(rounds_at(0.001, 0.01) == 60);
        CHECK(rounds_at(0.03, 0.02) == 240);
        CHECK(rounds_at(0.2, 0.001) == 960);
    }

    TEST_CASE("a longer budget makes more blocks in a round, not longer ones") {
        virtual_meter meter;
        int blocks = 0;
        const comparison found = detail::compare_by(
            meter, {.budget = std::chrono::seconds(2)}, "old", [&] { meter.pass(1e5); }, "new",
            [&](block& calls) {
                ++blocks;
                for (auto call : calls) meter.pass(1e5);
            });
        CHECK(found.rounds == 60);
        CHECK(found.blocks == 10);
        CHECK(blocks == 601);
        CHECK(found.sides[1].points.size() == 60);
    }

    TEST_CASE("rivals share the error, too") {
        virtual_meter meter;
        const auto call = [&] { meter.pass(1e5); };
        const comparison found =
            detail::compare_by(meter, {.rounds = 50}, "a", call, "b", call, "c", call, "d", call);
        CHECK(found.sides[1].ratio.confidence == doctest::Approx(1 - 0.01 / 3));
        CHECK(
            mentions(found.sentence(), "Against a: no difference is resolved for b, c and d (99 % for all"));
    }
}

TEST_SUITE("compare-cpp.md, promise 8") {
    TEST_CASE("a call is made each time, also where the compiler could do with one or none") {
        virtual_meter meter;
        int value = 1;
        const auto calls_of = [&](auto&& callable) {
            pure_calls = 0;
            (void)detail::compare_by(meter, {.rounds = 10, .calls = 50}, "it", callable);
            return static_cast<int>(pure_calls);
        };
        CHECK(calls_of([&] { return pure_work(value); }) == 550);
        CHECK(calls_of([value] { return pure_work(value); }) == 550);
        CHECK(calls_of([] { shared_result = pure_work(shared_value); }) == 550);
        CHECK(shared_result == shared_value + 1);
        CHECK(calls_of([&] {
                  int local = pure_work(value);
                  do_not_optimize(local);
              }) == 550);
    }

    TEST_CASE("values of any type can be kept") {
        enum class colour { red };
        struct large {
            double numbers[9];
        };
        const double constant = 1.5;
        int number = 3;
        float single = 2;
        long double wide = 1;
        std::vector<int> many = {1, 2};
        large all{};
        const char* text = "text";
        colour kept = colour::red;
        bool flag = true;
        do_not_optimize(constant);
        do_not_optimize(number);
        do_not_optimize(single);
        do_not_optimize(wide);
        do_not_optimize(many);
        do_not_optimize(all);
        do_not_optimize(text);
        do_not_optimize(kept);
        do_not_optimize(flag);
        do_not_optimize(nullptr);
        do_not_optimize(number + 1);
        do_not_optimize(std::string("temporary"));
        do_not_optimize(pure_work);
        clobber_memory();
        CHECK(number == 3);
        CHECK(single == 2);
        CHECK(wide == 1);
        CHECK(many == std::vector<int>{1, 2});
        CHECK(flag);
    }
}

TEST_SUITE("compare-cpp.md, promise 9") {
    TEST_CASE("an exception of a callable passes through, and the next comparison works") {
        virtual_meter meter;
        int calls = 0;
        const auto failing = [&] {
            meter.pass(1e6);
            if (++calls == 20) throw std::runtime_error("twentieth");
        };
        const auto good = [&] { meter.pass(1e6); };
        CHECK(message_of<std::runtime_error>([&] {
                  (void)detail::compare_by(meter, {.rounds = 100}, "good", good, "failing", failing);
              }) == "twentieth");
        CHECK(calls == 20);
        CHECK(detail::compare_by(meter, {.rounds = 20}, "good", good, "failing", failing).rounds == 20);
    }

    TEST_CASE("what cannot be compared is refused in words") {
        virtual_meter meter;
        const auto call = [&] { meter.pass(1e6); };
        const auto refusal = [&](const compare_options& options, auto&&... calls) {
            return message_of<error>([&] { (void)detail::compare_by(meter, options, calls...); });
        };
        CHECK(mentions(refusal({}), "0 callables were given"));
        CHECK(mentions(refusal({}, "a", call, "a", call), "two callables are called \"a\""));
        CHECK(mentions(refusal({.rounds = 1000}, "a", call, "b", call), "at most 999"));
        CHECK(mentions(refusal({.precision = 0}, "a", call), "above 0"));
        CHECK(mentions(refusal({.batch = 0}, "a", call), "above 0"));
        CHECK(mentions(refusal({.confidence = 1}, "a", call), "confidence"));
        CHECK(mentions(refusal({.calls = -1}, "a", call), "negative"));
        CHECK(mentions(refusal({}, "a", [](block&) {}), "did not run its loop"));
        CHECK(mentions(refusal({.calls = 9}, "a",
                               [](block& calls) {
                                   for (auto one : calls) break;
                               }),
                       "did not run its loop"));
        CHECK(mentions(refusal({}, "a",
                               [](block& calls) {
                                   for (auto one : calls) calls.pause();
                               }),
                       "resume()"));
        CHECK(mentions(refusal({}, "a",
                               [](block& calls) {
                                   for (auto one : calls) {
                                   }
                                   for (auto one : calls) {
                                   }
                               }),
                       "once"));
        if (less > 1) return;  // the clock is read for long
        virtual_meter still(1, 0);
        CHECK(mentions(message_of<error>([&] { (void)detail::compare_by(still, {}, "a", [] {}); }),
                       "stands still"));
    }
}

TEST_SUITE("compare-cpp.md, promise 10") {
    TEST_CASE("only the loop of a block is timed, less its pauses") {
        virtual_meter meter(1, 0.001);
        std::int64_t looped = 0;
        const comparison found = detail::compare_by(
            meter, {.rounds = 20, .calls = 10}, "old", [&] { meter.pass(1e5); }, "new",
            [&](block& calls) {
                meter.pass(7e6);
                for (auto call : calls) {
                    calls.pause();
                    meter.pass(4e5);
                    calls.resume();
                    meter.pass(1e5);
                    ++looped;
                }
                meter.pass(3e6);
            });
        CHECK(found.sides[1].seconds == doctest::Approx(1e-4).epsilon(1e-4));
        CHECK(looped == 210);
    }

    TEST_CASE("a block may be told its time") {
        virtual_meter meter;
        const comparison found = detail::compare_by(
            meter, {.rounds = 8, .calls = 4}, "host", [&] { meter.pass(1e5); }, "device",
            [&](block& calls) {
                for (auto call : calls) {
                    meter.pass(1e7);
                    calls.took(std::chrono::microseconds(50));
                }
            });
        CHECK(found.sides[1].seconds == doctest::Approx(50e-6));
    }
}

TEST_SUITE("compare-cpp.md, promise 11") {
    TEST_CASE("what stood in the way is told") {
        virtual_meter meter;
        int calls = 0;
        const comparison found = detail::compare_by(
            meter, {.rounds = 100, .block = short_block}, "steady", [&] { meter.pass(1e5); }, "restless",
            [&] {
                ++calls;
                if (calls % 5 == 0) meter.interrupt();
                meter.pass((calls % 5 == 0 ? 1.5e5 : 1e5) * (calls > 50 ? 1.1 : 1));
            });
        std::string notes;
        for (const std::string& note : found.notes) notes += note + '\n';
        CAPTURE(notes);
        CHECK(mentions(notes,
                       "interference: something else was given the CPU in 20 of 100 blocks of restless"));
        CHECK(mentions(notes, "two modes: restless"));
        CHECK(mentions(notes, "trend: the ratio of restless was"));
        CHECK_FALSE(mentions(notes, "steady"));
        CHECK(mentions(found.table(), "switches"));

        double cost = 1e5;
        const comparison drifting = detail::compare_by(
            meter, {.rounds = 60, .block = short_block}, "a", [&] { meter.pass(cost *= 1.001); }, "b",
            [&] { meter.pass(cost); });
        REQUIRE(drifting.notes.size() == 1);
        CHECK(mentions(drifting.notes[0], "trend: the time of a was"));
        CHECK(mentions(drifting.notes[0], "larger in the second half of the rounds; pairs cancel it"));
    }

    TEST_CASE("a callable that hardly takes longer than the loop around it is named") {
        const comparison found = compare({.rounds = 10}, "nothing", [] {});
        bool named = false;
        for (const std::string& note : found.notes)
            named = named || mentions(note, "too short: the loop around a call takes");
        CHECK(named);
    }
}

TEST_SUITE("compare-cpp.md, promise 12") {
    TEST_CASE("JSON, CSV and Markdown") {
        virtual_meter meter(1, 0.001);
        const comparison found = detail::compare_by(
            meter, {.rounds = 10, .calls = 1, .batch = 1000, .unit = "byte"}, "the \"old\", one",
            [&] { meter.wait(2e6); }, "a|b", [&] { meter.wait(1e6); });
        CHECK(
            found.json() ==
            R"({"schema":"tautochrone.comparison/1","a":"the \"old\", one","b":"a|b","paired":true,)"
            R"("comparisons":[{"cell":"","a":"the \"old\", one","b":"a|b","a_seconds":0.002,"a_joules":null,)"
            R"("a_cpu_seconds":0,"a_switches":0,"a_calls":1,"b_seconds":0.001,"b_joules":null,)"
            R"("b_cpu_seconds":0,"b_switches":0,"b_calls":1,"reason":null,"energy":null,"drift":null,)"
            R"("ratio":0.5,"low":0.5,"high":0.5,"confidence":0.99,"rounds":10,"verdict":"faster",)"
            R"("coverage":0.990234375,"paired":true}],"geometric_mean":null,"notes":[]})"
            "\n");
        CHECK(mentions(found.csv(), "\n,\"the \"\"old\"\", one\",0.002,,,,,,10,,0,0,1\n"));
        CHECK(mentions(found.csv(), "\n,a|b,0.001,0.5,0.5,0.5,0.99,0.990234375,10,faster,0,0,1\n"));
        CHECK(
            mentions(found.markdown(), "| a\\|b | 1.00 µs | 1.00 M | 0.500 | 0.500 to 0.500 | 10 | 0 s |\n"));
        CHECK(mentions(found.table(), "bytes a second"));
        CHECK(mentions(found.sentence(), "1.00 µs against 2.00 µs a byte"));
    }

    TEST_CASE("the answer can be printed where it is asked for") {
        virtual_meter meter;
        std::ostringstream out;
        const comparison found =
            detail::compare_by(meter, {.rounds = 10, .output = &out}, "only", [&] { meter.pass(1e6); });
        CHECK(out.str() == found.sentence() + "\n\n" + found.table());
        CHECK(found.sentence() == "only takes 1.00 ms a call (1.00 ms to 1.00 ms with 99 %, 10 rounds).");
    }
}

TEST_SUITE("compare-cpp.md, promise 13") {
    TEST_CASE("a sweep has a comparison for each argument, and the geometric mean over them") {
        virtual_meter meter(1, 0.001);
        const auto make = [&](int n) {
            return detail::compare_by(
                meter, {.rounds = 10, .batch = static_cast<double>(n), .unit = "item"}, "old",
                [&, n] { meter.pass(1e6 * n); }, "new", [&, n] { meter.pass(n == 1 ? 1e6 : 1e6 * n / 4); });
        };
        const sweep found = compare_each({1, 2}, make);
        REQUIRE(found.cells.size() == 2);
        CHECK(found.cells[1].cell == "2");
        CHECK(found.geometric_mean().ratio == doctest::Approx(0.5));
        CHECK(found.sentence() ==
              "new is 2.00 times as fast as old in the geometric mean of 2 cells (99 %, 10 rounds).");
        CHECK(mentions(found.json(), R"("cell":"2")"));
        CHECK(mentions(found.json(), R"("geometric_mean":{"ratio":0.5)"));
        std::ostringstream out;
        out << found;
        CHECK(mentions(out.str(), "2  new"));
        CHECK(compare_each(std::vector<int>{}, make).sentence() == "Nothing was compared.");
    }
}

TEST_CASE("the system's clock: callables by name, by reference and of one use") {
    struct once {
        explicit once(int value) : value_(value) {}
        once(const once&) = delete;
        once(once&&) = delete;
        int operator()() const { return value_; }
        int value_;
    };
    const once constant(3);
    const compare_options quick{.rounds = 8, .block = std::chrono::microseconds(1)};
    const comparison found = compare(quick, "constant", constant, std::string("temporary"), once(4),
                                     "function", [] { return 1.5; });
    CHECK(found.rounds == 8);
    CHECK(found.sides[2].name == "function");
    CHECK(found.sides[2].seconds > 0);
    CHECK(found.sides[2].cpu_seconds >= 0);
}

}  // namespace tauto
