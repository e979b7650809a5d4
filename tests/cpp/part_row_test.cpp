// Parts of a region that few threads run, and the choice between that and a thread for each.

#include "balance/waits/part_row.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "balance/waits/part_choice.hpp"

namespace tauto::balance {

namespace {

// Threads for parts that nobody had begun.
std::mutex at_start;
std::vector<std::thread> started;

bool start(void* (*code)(void*), void* data) {
    const std::scoped_lock lock(at_start);
    started.emplace_back(code, data);
    return true;
}

void join_started() {
    for (std::thread& one : started) one.join();
    started.clear();
}

// A forking thread with helpers, and what their parts did.
class rows {
  public:
    explicit rows(std::uint32_t helpers, std::int64_t spins = 20'000) : spins_(spins) {
        for (std::uint32_t k = 1; k <= helpers; ++k)
            threads_.emplace_back([this, k] {
                for (std::uint32_t seen = 0;;) {
                    seen = row.wait_for_run(seen, [this] { return spins_; });
                    if (ended) return;
                    row.run_parts(k, spins_);
                }
            });
    }
    ~rows() {
        ended = true;
        row.begin(nullptr, nullptr, {}, {});
        for (std::thread& one : threads_) one.join();
        join_started();
    }
    rows(const rows&) = delete;
    rows& operator=(const rows&) = delete;

    void run(const std::vector<std::uint32_t>& counts, void (*code)(void*), bool on_stacks = false) {
        const std::vector<double> speeds(counts.size(), 1.0);
        if (on_stacks) REQUIRE(row.make_stacks(std::reduce(counts.begin(), counts.end())));
        row.begin(code, this, counts, speeds, on_stacks);
        row.run_parts(0, spins_);
        row.join(spins_);
    }

    part_row row{start};
    std::atomic<bool> ended{false};
    std::array<std::atomic<int>, 64> ran{};
    std::atomic<int> value{0};

  private:
    std::int64_t spins_;
    std::vector<std::thread> threads_;
};

rows& mine(void* data) {
    return *static_cast<rows*>(data);
}

void count_part(void* data) {
    ++mine(data).ran[part_in_row()->number];
}

// Six times. Counts what a part sees of others that have not come so far.
void meet_often(void* data) {
    rows& here = mine(data);
    running_part& self = *part_in_row();
    for (int phase = 1; phase <= 3; ++phase) {
        here.ran[self.number] = phase;
        self.row->meet();
        for (std::uint32_t k = 0; k < self.count; ++k) here.value += here.ran[k] < phase ? 1 : 0;
        self.row->meet();
    }
}

}  // namespace

TEST_SUITE("rows of parts") {
    TEST_CASE("each part is run once in each run, whoever takes it") {
        for (const std::int64_t spins : {0, 20'000}) {
            rows all(3, spins);
            std::uint32_t left = 7;
            for (int run = 1; run <= 2'000; ++run) {
                left = left * 1664525 + 1013904223;
                std::vector<std::uint32_t> counts{1 + left % 3, left / 7 % 4, left / 31 % 3, left / 101 % 5};
                for (auto& one : all.ran) one = 0;
                all.run(counts, count_part);
                const std::uint32_t parts = std::reduce(counts.begin(), counts.end());
                REQUIRE(std::ranges::count_if(all.ran, [](const auto& one) { return one == 1; }) == parts);
                REQUIRE(std::all_of(all.ran.begin(), all.ran.begin() + parts,
                                    [](auto& one) { return one == 1; }));
                std::uint32_t told = 0;
                for (std::uint32_t k = 0; k < 4; ++k) told += all.row.seen(k).parts;
                REQUIRE(told == parts);
                REQUIRE_FALSE(all.row.has_met());
            }
        }
    }

    TEST_CASE("a part knows its number and how many there are, and outside of parts nobody is in one") {
        rows all(1);
        all.run({2, 1}, [](void* data) { mine(data).value += 10 + static_cast<int>(part_in_row()->count); });
        CHECK(all.value == 39);
        CHECK(part_in_row() == nullptr);
    }

    TEST_CASE("the first part is the forking thread's, however late it is") {
        static std::atomic<std::thread::id> first;
        rows all(2);
        for (int run = 0; run < 500; ++run) {
            all.run({1, 3, 3}, [](void*) {
                if (part_in_row()->number == 0) first = std::this_thread::get_id();
            });
            REQUIRE(first == std::this_thread::get_id());
        }
    }

    TEST_CASE("who is clearly slower takes no part of a faster one, and an equal one does") {
        for (const double speed : {0.5, 1.0}) {
            part_row row{start};
            std::atomic<bool> began{false};
            struct given {
                part_row& row;
                std::atomic<bool>& began;
            } both{row, began};
            const std::array<std::uint32_t, 2> counts{2, 0};
            const std::array<double, 2> speeds{1.0, speed};
            row.begin([](void* data) { static_cast<given*>(data)->began = true; }, &both, counts, speeds);
            CHECK(row.run_parts(1, 0) == (speed == 1.0 ? 1 : 0));  // not the first
            CHECK(began == (speed == 1.0));
            row.run_parts(0, 0);
            row.join(0);
        }
    }

    TEST_CASE("parts meet, whoever was to run them one after the other") {
        rows all(2);
        for (int run = 0; run < 50; ++run) {
            all.value = 0;
            for (auto& one : all.ran) one = 0;
            all.run({5, 2, 1}, meet_often);
            REQUIRE(all.value == 0);
            REQUIRE(all.row.has_met());
            REQUIRE(all.row.was_rescued());
        }
    }

    TEST_CASE("parts on stacks of their own meet, and none has a thread of its own") {
        for (const std::int64_t spins : {0, 20'000}) {
            rows all(2, spins);
            for (int run = 0; run < 200; ++run) {
                all.value = 0;
                for (auto& one : all.ran) one = 0;
                const std::uint32_t met = all.row.meetings();
                all.run({5, 2, 1}, meet_often, true);
                REQUIRE(all.value == 0);
                REQUIRE(all.row.has_met());
                REQUIRE(all.row.meetings() - met == 6);
                REQUIRE_FALSE(all.row.was_rescued());
                all.run({1, 4}, count_part, true);
                REQUIRE_FALSE(all.row.has_met());
            }
        }
    }

    TEST_CASE("a part on a stack of its own keeps errno and the exceptions that it handles") {
        rows all(1);
        all.run(
            {3, 2},
            [](void* data) {
                const int number = static_cast<int>(part_in_row()->number);
                try {
                    throw number;
                } catch (...) {
                    errno = 100 + number;
                    part_in_row()->row->meet();
                    mine(data).value += errno == 100 + number ? 0 : 1;
                    try {
                        throw;
                    } catch (int caught) {
                        mine(data).value += caught == number ? 0 : 1;
                    }
                    part_in_row()->row->meet();
                }
                mine(data).value += std::current_exception() == nullptr ? 0 : 1;
            },
            true);
        CHECK(all.value == 0);
        CHECK(std::current_exception() == nullptr);
    }

    TEST_CASE("a part on a stack of its own has its number, its variables and its thread's way of rounding") {
        rows all(1);
        const int before = std::fegetround();
        std::fesetround(FE_UPWARD);
        all.run(
            {4, 3},
            [](void* data) {
                const std::uint32_t number = part_in_row()->number;
                const double a = 1 + number;
                const double third = a / 3;
                if (number % 2 == 0) {
                    try {
                        throw static_cast<int>(number);
                    } catch (int caught) {
                        mine(data).value += caught == static_cast<int>(number) ? 0 : 1;
                    }
                }
                part_in_row()->row->meet();
                volatile const double again = a;
                mine(data).value += part_in_row()->number == number && again / 3 == third ? 0 : 1;
            },
            true);
        std::fesetround(before);
        CHECK(all.value == 0);
    }

    TEST_CASE("a runner's time is that of its parts, without their waits for others") {
        rows all(0);
        static int waits;
        waits = 0;
        REQUIRE(all.row.make_stacks(2));
        const std::array<std::uint32_t, 2> counts{1, 1};
        const std::array<double, 2> speeds{0.5, 1};  // so the first takes none of the second
        all.row.begin([](void*) { part_in_row()->row->meet(); }, nullptr, counts, speeds, true);
        std::thread late([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            all.row.run_parts(1, 0);
        });
        all.row.run_parts(0, 0, [](bool begins) { waits += begins ? 1 : 10; });
        all.row.join(0);
        late.join();
        CHECK(waits == 11);  // it began and ended once
        for (const std::uint32_t k : {0U, 1U}) {
            CHECK(all.row.seen(k).parts == 1);
            CHECK(all.row.seen(k).ended - all.row.seen(k).begun < 40e6);
        }
    }

    TEST_CASE("a meeting does not wait for parts that have ended without one") {
        for (const bool on_stacks : {false, true}) {
            rows all(1);
            all.run(
                {3, 1},
                [](void*) {
                    if (part_in_row()->number != 2) part_in_row()->row->meet();
                },
                on_stacks);
            CHECK(all.row.has_met());
        }
    }

    TEST_CASE("who waits in memory for a part that could go on is helped by a thread for it") {
        rows all(0);
        std::atomic<bool> over{false};
        std::thread looks([&] {
            while (!over) all.row.start_waiting();
        });
        for (int run = 0; run < 100; ++run) {
            for (auto& one : all.ran) one = 0;
            all.value = 0;
            all.run(
                {4},
                [](void* data) {
                    rows& here = mine(data);
                    const std::uint32_t number = part_in_row()->number;
                    for (int phase = 1; phase <= 3; ++phase) {
                        part_in_row()->row->meet();
                        here.ran[number] = phase;
                        // Each waits for the next one.
                        while (number < 3 && here.ran[number + 1] < phase) std::this_thread::yield();
                    }
                    here.value += 1;
                },
                true);
            REQUIRE(all.value == 4);
            REQUIRE(all.row.was_rescued());
        }
        over = true;
        looks.join();
    }

    TEST_CASE("of each place at which one part takes all, one does") {
        rows all(2);
        for (int run = 0; run < 200; ++run) {
            all.value = 0;
            all.run({2, 3, 1}, [](void* data) {
                for (int k = 0; k < 4; ++k)
                    if (part_in_row()->row->take_single()) mine(data).value += 1 << (4 * k);
            });
            REQUIRE(all.value == 0x1111);
            REQUIRE_FALSE(all.row.has_met());
        }
    }

    TEST_CASE("each piece of a loop is taken once, by parts that run at the same time") {
        for (const bool on_stacks : {false, true}) {
            rows all(2);
            for (int run = 0; run < 300; ++run) {
                for (auto& one : all.ran) one = 0;
                all.value = 0;
                all.run(
                    {2, 2, 1},
                    [](void* data) {
                        rows& here = mine(data);
                        part_row& row = *part_in_row()->row;
                        for (int place = 0; place < 70; ++place) {  // more than are shared out
                            row.take_single();
                            part_in_row()->work = {0, 57, 1, 57, 4};
                            std::uint64_t first = 0;
                            std::uint64_t end = 0;
                            while (row.take_pieces(first, end)) {
                                here.value += first % 4 == 0 && (end - first >= 4 || end == 57) ? 0 : 1;
                                for (; first < end; ++first) ++here.ran[first];
                            }
                        }
                    },
                    on_stacks);
                REQUIRE(all.value == 0);
                REQUIRE(
                    std::all_of(all.ran.begin(), all.ran.begin() + 57, [](auto& one) { return one == 70; }));
                REQUIRE(all.row.has_shared_out());
            }
        }
    }

    TEST_CASE("a loop that parts share out from their begin on has no place before it") {
        rows all(1);
        const shared_work work{0, 40, 1, 40, 1};
        const std::array<std::uint32_t, 2> counts{1, 2};
        const std::array<double, 2> speeds{1, 1};
        for (int run = 0; run < 100; ++run) {
            for (auto& one : all.ran) one = 0;
            all.row.begin(
                [](void* data) {
                    std::uint64_t first = 0;
                    std::uint64_t end = 0;
                    while (part_in_row()->row->take_pieces(first, end))
                        for (; first < end; ++first) ++mine(data).ran[first];
                },
                &all, counts, speeds, false, &work);
            all.row.run_parts(0, 0);
            all.row.join(0);
            REQUIRE(std::all_of(all.ran.begin(), all.ran.begin() + 40, [](auto& one) { return one == 1; }));
        }
    }

    TEST_CASE("who waits in memory for a part that nobody has begun is helped by a thread for it") {
        rows all(0);
        std::thread looks([&] {
            while (!all.ran[0]) std::this_thread::yield();
            all.row.start_unbegun(all.row.runs() + 1);  // of another run
            CHECK(all.ran[1] == 0);
            all.row.start_unbegun(all.row.runs());
        });
        all.run({2}, [](void* data) {
            rows& here = mine(data);
            here.ran[part_in_row()->number] = 1;
            while (part_in_row()->number == 0 && !here.ran[1]) std::this_thread::yield();
        });
        looks.join();
        CHECK(all.row.was_rescued());
        CHECK_FALSE(all.row.has_met());
    }
}

namespace {

// Two CPUs, the second of which begins late and is slower; a region with a thread for each part takes so much
// longer.
struct machine {
    double part = 50e3;  // ns on the first CPU
    double speed = 0.25;
    double late = 10e3;
    double threads_take = 400e3;

    double run(part_choice& choice) const {
        if (!choice.in_a_row()) {
            choice.note_threads(threads_take);
            return threads_take;
        }
        std::array<runner_seen, 2> seen{};
        const auto counts = choice.counts();
        const double first = counts[0] * part;
        if (counts.size() == 1) {
            seen[0] = {counts[0], 0, first};
            choice.note_row(first, seen);
            return first;
        }
        const double second = counts[1] > 0 ? late + counts[1] * part / speed : 0;
        seen[0] = {counts[0], 0, first};
        seen[1] = {counts[1], late, second};
        const double took = std::max(first, second);
        choice.note_row(took, seen);
        return took;
    }
};

constexpr std::array<double, 2> told{1.0, 0.5};

}  // namespace

TEST_SUITE("choice of a row of parts") {
    TEST_CASE("parts go to whoever ends them first, by what runs have shown") {
        part_choice choice;
        choice.begin(6, told);
        CHECK(choice.counts()[0] == 4);
        const machine on;
        for (int run = 0; run < 100; ++run) on.run(choice);
        CHECK(choice.in_a_row());
        CHECK(choice.counts()[0] == 5);
        CHECK(choice.counts()[1] == 1);
        CHECK(choice.length() == doctest::Approx(250e3).epsilon(0.01));
    }

    TEST_CASE("a region stays with its threads where these take less time, and where it is long") {
        for (const machine& on :
             {machine{.threads_take = 200e3}, machine{.part = 3e6, .threads_take = 20e6}}) {
            part_choice choice;
            choice.begin(6, told);
            double all = 0;
            for (int run = 0; run < 5'000; ++run) all += on.run(choice);
            CHECK_FALSE(choice.in_a_row());
            CHECK(all < 1.02 * 5'000 * on.threads_take);
        }
    }

    TEST_CASE("a region that only seemed long, because something else ran beside it, is run in a row soon") {
        part_choice choice;
        choice.begin(6, told);
        machine on{.threads_take = 30e6};
        for (int run = 0; run < 50; ++run) on.run(choice);
        CHECK_FALSE(choice.in_a_row());
        on.threads_take = 400e3;
        for (int run = 0; run < 100; ++run) on.run(choice);
        CHECK(choice.in_a_row());
    }

    TEST_CASE("it changes when the other way has become the better one, and trials cost little") {
        part_choice choice;
        choice.begin(6, told);
        machine on;
        for (int run = 0; run < 20'000; ++run) on.run(choice);
        CHECK(choice.in_a_row());
        on.threads_take = 150e3;
        for (int run = 0; run < 40'000; ++run) on.run(choice);
        CHECK_FALSE(choice.in_a_row());
    }

    TEST_CASE("a CPU that was left out gets a part again when it is as fast as the others") {
        part_choice choice;
        choice.begin(6, told);
        machine on{.speed = 0.02};
        int in_a_row = 0;
        int with_a_part = 0;
        for (int run = 0; run < 20'000; ++run) {
            in_a_row += choice.in_a_row() ? 1 : 0;
            with_a_part += choice.in_a_row() && choice.counts()[1] > 0 ? 1 : 0;
            on.run(choice);
        }
        CHECK(in_a_row > 10'000);
        CHECK(with_a_part < in_a_row / 40);
        on.speed = 1;
        on.late = 0;
        for (int run = 0; run < 20'000; ++run) on.run(choice);
        CHECK(choice.counts()[1] == 3);
    }

    TEST_CASE("a region whose parts wait for each other is looked at anew, with stacks for its parts") {
        part_choice choice;
        choice.begin(6, told);
        machine on;
        for (int run = 0; run < 100; ++run) on.run(choice);
        CHECK(choice.in_a_row());
        CHECK_FALSE(choice.on_stacks());
        choice.parts_meet();
        CHECK(choice.on_stacks());
        CHECK_FALSE(choice.in_a_row());
        for (int run = 0; run < 200; ++run) {
            choice.parts_meet();  // again and again
            on.run(choice);
        }
        CHECK(choice.in_a_row());
        on.threads_take = 100e3;
        for (int run = 0; run < 20'000; ++run) on.run(choice);
        CHECK_FALSE(choice.in_a_row());
    }

    TEST_CASE("where parts share out loops each CPU has one, however slow it is") {
        for (const std::uint32_t parts : {2U, 6U}) {
            part_choice choice;
            choice.begin(parts, std::array{1.0, 0.1});
            CHECK(choice.counts()[1] == 0);
            choice.parts_share_out();
            CHECK(choice.counts()[1] == 1);
            const machine on{.speed = 0.001};
            for (int run = 0; run < 1'000; ++run) on.run(choice);
            CHECK(choice.counts()[0] == parts - 1);
        }
    }

    TEST_CASE(
        "the first runner runs all parts where that takes less time, and is not tried where it cannot") {
        // Nearly at once, but for what it costs to be told of it.
        part_choice choice;
        choice.begin(2, told);
        choice.parts_share_out();
        int others = 0;
        int by_one = 0;
        for (int run = 0; run < 20'000; ++run) {
            const bool alone = choice.in_a_row() && choice.counts().size() == 1;
            by_one += alone ? 1 : 0;
            others += alone ? 0 : 1;
            if (!choice.in_a_row())
                choice.note_threads(40e3);
            else if (alone)
                choice.note_row(13e3, std::array{runner_seen{2, 0, 13e3}, runner_seen{}});
            else
                choice.note_row(20e3, std::array{runner_seen{1, 0, 12e3}, runner_seen{1, 5e3, 15e3}});
        }
        CHECK(others < 4'000);
        CHECK(by_one > 16'000);

        part_choice never;
        never.begin(6, std::array{1.0, 1.0});
        for (int run = 0; run < 20'000; ++run) {
            REQUIRE((!never.in_a_row() || never.counts().size() == 2));
            machine{.speed = 1, .threads_take = 200e3}.run(never);
        }
    }

    TEST_CASE("ways are compared by the time of a phase, however many a run has") {
        part_choice choice;
        choice.begin(6, told);
        choice.parts_meet();
        // Phases take 1 ms with threads and 1.2 ms in a row, though runs in a row have few of them.
        for (int run = 0; run < 5'000; ++run) {
            if (choice.in_a_row())
                choice.note_row(1.2e6, std::array<runner_seen, 2>{}, 1);
            else
                choice.note_threads(10e6, 10);
        }
        CHECK_FALSE(choice.in_a_row());
        // Where they take 2 ms, nothing is tried.
        part_choice slow;
        slow.begin(6, told);
        slow.parts_meet();
        for (int run = 0; run < 100; ++run) {
            REQUIRE_FALSE(slow.in_a_row());
            slow.note_threads(20e6, 10);
        }
    }

    TEST_CASE("one block of a trial that was disturbed decides nothing") {
        for (int disturbed = 0; disturbed < 6; ++disturbed) {
            part_choice choice;
            choice.begin(6, told);
            const machine on;
            int block = -1;  // of the trial
            bool before = false;
            for (int run = 0; run < 150; ++run) {
                if (choice.in_a_row() != before || block < 0) {
                    before = choice.in_a_row();
                    if (before || block >= 0) ++block;
                }
                machine now = on;
                if (block == disturbed) now.part *= 10, now.threads_take *= 10;
                now.run(choice);
            }
            CHECK(choice.in_a_row());
        }
    }

    TEST_CASE("a region that is refused is never run in a row again") {
        part_choice choice;
        choice.begin(6, told);
        const machine on;
        for (int run = 0; run < 100; ++run) on.run(choice);
        CHECK(choice.in_a_row());
        choice.refuse();
        choice.parts_meet();
        for (int run = 0; run < 20'000; ++run) {
            on.run(choice);
            REQUIRE_FALSE(choice.in_a_row());
        }
    }
}

}  // namespace tauto::balance
