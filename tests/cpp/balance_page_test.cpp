// The page that the balancer shares with the threads of a program.

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "balance/page.hpp"

namespace tauto::balance {

namespace {

struct made_page {
    made_page() : shared(make_page(descriptor)) { REQUIRE(shared != nullptr); }
    ~made_page() {
        munmap(shared, sizeof(page));
        close(descriptor);
    }
    made_page(const made_page&) = delete;
    made_page& operator=(const made_page&) = delete;

    [[nodiscard]] std::string path() const {
        return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor);
    }

    int descriptor = -1;
    page* shared;
};

}  // namespace

TEST_CASE("what one process writes into the page another mapping of it shows") {
    const made_page made;
    page* opened = open_page(made.path().c_str());
    REQUIRE(opened != nullptr);
    CHECK(opened != made.shared);
    slot* one = claim_slot(*opened, 4711);
    REQUIRE(one == &opened->slots[0]);
    begin_wait(*one);
    CHECK(made.shared->slots[0].thread() == 4711);
    CHECK(made.shared->slots[0].waits().depth == 1);
    CHECK(made.shared->used.load() == 1);
    munmap(opened, sizeof(page));
}

TEST_CASE("the page cannot be shortened or grown, and no other file is taken for it") {
    const made_page made;
    CHECK(ftruncate(made.descriptor, 0) == -1);
    CHECK(errno == EPERM);
    CHECK(ftruncate(made.descriptor, 2 * sizeof(page)) == -1);

    CHECK(open_page("/proc/self/no_such_file") == nullptr);
    CHECK(open_page("/dev/null") == nullptr);
    const int plain = memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    REQUIRE(ftruncate(plain, sizeof(page)) == 0);
    const std::string path = "/proc/self/fd/" + std::to_string(plain);
    page head{};
    head.magic = page_magic;
    head.version = page_version;
    head.size = sizeof(page);
    head.pid_namespace = this_pid_namespace();
    REQUIRE(pwrite(plain, &head, offsetof(page, used), 0) == offsetof(page, used));
    CHECK(open_page(path.c_str()) == nullptr);  // it could be shortened
    REQUIRE(fcntl(plain, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    page* opened = open_page(path.c_str());
    CHECK(opened != nullptr);
    munmap(opened, sizeof(page));
    for (const auto field : {offsetof(page, magic), offsetof(page, version), offsetof(page, size),
                             offsetof(page, pid_namespace)}) {
        const char damage = 0x55;
        REQUIRE(pwrite(plain, &damage, 1, static_cast<off_t>(field)) == 1);
        CHECK(open_page(path.c_str()) == nullptr);
        REQUIRE(pwrite(plain, &head, offsetof(page, used), 0) == offsetof(page, used));
    }
    close(plain);
}

TEST_CASE("a wait is counted when it begins, and lasts until the outermost one ends") {
    const made_page made;
    slot& one = *claim_slot(*made.shared, 1);
    begin_wait(one);
    begin_wait(one);
    CHECK(one.waits().begun == 2);
    CHECK(one.waits().depth == 2);
    end_wait(one);
    CHECK(one.waits().depth == 1);
    end_wait(one);
    end_wait(one);  // one too many, as after a jump out of a wait
    CHECK(one.waits().depth == 0);
    CHECK(one.waits().begun == 2);
    // The count wraps without touching the depth.
    one.state.store(std::uint64_t{0xffff'ffff} << 32);
    begin_wait(one);
    CHECK(one.waits().begun == 0);
    CHECK(one.waits().depth == 1);
}

TEST_CASE("places that a thread came past are read with the time of the last one") {
    const made_page made;
    slot& one = *claim_slot(*made.shared, 1);
    progress found;
    REQUIRE(one.read_progress(found));
    CHECK(found.passed == 0);
    pass(one, 100);
    pass(one, 250);
    REQUIRE(one.read_progress(found));
    CHECK(found.passed == 2);
    CHECK(found.at == 250);
    one.passed.store(5);  // its owner was killed while it wrote
    CHECK_FALSE(one.read_progress(found));
    pass(one, 300);
    REQUIRE(one.read_progress(found));
    CHECK(found.passed == 3);
    CHECK(found.at == 300);
}

TEST_CASE("steps are counted with the time of the last one, also where the count begins anew") {
    step_account steps{};
    CHECK(read_steps(steps).passed == 0);
    const std::uint64_t begin = std::uint64_t{5} << 30;
    note_step(steps, begin);
    const progress first = read_steps(steps);
    CHECK(first.passed == 1);
    CHECK(first.at == begin);
    for (int i = 0; i < 10; ++i) note_step(steps, begin + 16'000);
    CHECK(steps_between(first, read_steps(steps)).passed == 10);
    CHECK(steps_between(first, read_steps(steps)).at == 16'000);
    steps.last = (std::uint64_t{1} << 20) - 1;  // and the time is 0
    const progress last = read_steps(steps);
    note_step(steps, (std::uint64_t{1} << 48) + 320);
    CHECK(read_steps(steps).passed == 0);
    CHECK(steps_between(last, read_steps(steps)).passed == 1);
    CHECK(steps_between(last, read_steps(steps)).at == 320);
}

TEST_CASE("threads that end steps at once lose none") {
    step_account steps{};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 10'000; ++i) note_step(steps, 1'000);
        });
    for (std::thread& one : threads) one.join();
    CHECK(read_steps(steps).passed == 40'000);
}

TEST_CASE("who was left out of places catches up with the others, and nobody goes back") {
    const made_page made;
    slot& own = *claim_slot(*made.shared, 1);
    progress seen;
    pass(own, 100);
    catch_up(own, 7);
    REQUIRE(own.read_progress(seen));
    CHECK(seen.passed == 7);
    CHECK(seen.at == 100);
    catch_up(own, 3);
    pass(own, 200);
    REQUIRE(own.read_progress(seen));
    CHECK(seen.passed == 8);
}

TEST_CASE("waits that are timed are told while they go on and when they have ended") {
    const made_page made;
    slot& one = *claim_slot(*made.shared, 1);
    CHECK(one.waited_until(50) == 0);
    begin_timed_wait(one, 100);
    CHECK(one.waited_until(130) == 30);
    CHECK(one.waited_until(90) == 0);  // a reader whose look at the clock came before
    end_timed_wait(one, 140);
    CHECK(one.waited_until(500) == 40);
    end_timed_wait(one, 600);  // one too many
    CHECK(one.waited_until(700) == 40);
    begin_timed_wait(one, 800);
    CHECK(one.waited_until(803) == 43);
    CHECK(claim_slot(*made.shared, 1)->waited_until(900) == 0);  // of another program that it executed
}

TEST_CASE("who reads waits while they are written never counts one twice") {
    const made_page made;
    slot& one = *claim_slot(*made.shared, 1);
    constexpr std::uint64_t all = 200'000;
    std::thread owner([&] {
        for (std::uint64_t k = 1; k <= all; ++k) {  // one ns each, one apart
            begin_timed_wait(one, 2 * k);
            end_timed_wait(one, 2 * k + 1);
        }
    });
    bool at_most = true;
    for (std::uint64_t ended = 0; ended < all;) {
        ended = one.waited.load();
        const std::uint64_t found = one.waited_until(2 * ended + 3);  // just behind the end of the next
        at_most = at_most && found <= one.waited.load() + 1;
    }
    owner.join();
    CHECK(at_most);
    CHECK(one.waited_until(2 * all + 9) == all);
}

TEST_CASE("who reads places while they are written never sees one with the time of another") {
    const made_page made;
    slot& one = *claim_slot(*made.shared, 1);
    constexpr std::uint64_t all = 200'000;
    std::thread writer([&] {
        for (std::uint64_t k = 1; k <= all; ++k) pass(one, 10 * k);
    });
    progress found;
    std::uint64_t wrong = 0;
    while (found.passed < all)
        if (one.read_progress(found) && found.passed > 0) wrong += found.at != 10 * found.passed;
    writer.join();
    CHECK(wrong == 0);
}

TEST_CASE("a slot that is left is taken again, with nothing of the thread before") {
    const made_page made;
    slot* first = claim_slot(*made.shared, 1);
    slot* second = claim_slot(*made.shared, 2);
    CHECK(first != second);
    begin_wait(*first);
    first->yields.store(7);
    made.shared->helps_on[0].store(2);
    leave_slot(*first);
    CHECK(first->thread() == 0);
    slot* third = claim_slot(*made.shared, 3);
    CHECK(third == first);
    CHECK(third->waits().depth == 0);
    CHECK(third->waits().begun == 0);
    CHECK(third->yields.load() == 0);
    CHECK(made.shared->helps_on[0].load() == 0);
    CHECK(made.shared->used.load() == 2);
}

TEST_CASE("a thread takes over the slot of a dead one of its id, even where one before it is free") {
    const made_page made;
    slot* first = claim_slot(*made.shared, 1);
    slot* second = claim_slot(*made.shared, 2);
    begin_wait(*second);
    leave_slot(*first);
    CHECK(claim_slot(*made.shared, 2) == second);
    CHECK(second->waits().depth == 0);
}

TEST_CASE("the controller frees slots of dead threads, and none that was taken while it looked") {
    const made_page made;
    slot* one = claim_slot(*made.shared, 1);
    CHECK_FALSE(free_dead_slot(*one, [](pid_t) { return true; }));
    CHECK_FALSE(free_dead_slot(*one, [&](pid_t) {
        claim_slot(*made.shared, 1);  // another thread got the id of the dead one, between look and answer
        return false;
    }));
    CHECK(one->thread() == 1);
    CHECK(free_dead_slot(*one, [](pid_t thread) { return thread != 1; }));
    CHECK(one->thread() == 0);
    CHECK_FALSE(free_dead_slot(*one, [](pid_t) { return false; }));
}

TEST_CASE("a thread that finds no free slot gets none") {
    const made_page made;
    std::set<slot*> taken;
    for (std::uint32_t k = 0; k < most_slots; ++k)
        taken.insert(claim_slot(*made.shared, static_cast<pid_t>(k + 1)));
    CHECK(taken.size() == most_slots);
    CHECK(taken.count(nullptr) == 0);
    CHECK(claim_slot(*made.shared, 5000) == nullptr);
}

TEST_CASE("threads that claim, leave and die at once never share a slot while the controller frees") {
    const made_page made;
    std::atomic<bool> over{false};
    std::atomic<int> shared{0};
    std::atomic<int> freed{0};
    std::array<std::atomic<int>, most_slots> inside{};
    std::array<std::atomic<bool>, 4> alive{};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < alive.size(); ++t)
        threads.emplace_back([&, t] {
            for (int k = 0; k < 20'000 || freed == 0; ++k) {
                alive[t] = true;
                slot* one = claim_slot(*made.shared, static_cast<pid_t>(t + 1));
                auto& here = inside[static_cast<std::size_t>(one - made.shared->slots.data())];
                if (here.fetch_add(1) != 0) ++shared;
                begin_wait(*one);
                end_wait(*one);
                here.fetch_sub(1);
                if (k % 3 == 0)
                    alive[t] = false;  // killed: its slot stays
                else
                    leave_slot(*one);
            }
        });
    std::thread controller([&] {
        while (!over)
            for (slot& one : made.shared->slots) {
                static_cast<void>(one.waits());
                freed += free_dead_slot(
                    one, [&](pid_t thread) { return alive[static_cast<std::size_t>(thread - 1)].load(); });
            }
    });
    for (std::thread& one : threads) one.join();
    over = true;
    controller.join();
    CHECK(shared == 0);
}

TEST_CASE("weights are read as they were written together") {
    const auto from = std::make_unique<cpu_weights>();
    std::array<std::uint32_t, most_cpus> read{};
    std::uint32_t sequence = 1;
    CHECK(read_speeds(*from, read.data(), sequence) == 0);
    CHECK(sequence == 0);

    const std::array<std::uint32_t, 2> two{1, 4};
    publish_speeds(*from, two.data(), 2);
    CHECK(read_speeds(*from, read.data(), sequence) == 2);
    CHECK(sequence == 2);
    CHECK(read[0] == 1);
    CHECK(read[1] == 4);

    from->sequence.store(3);  // the controller was killed while it wrote
    CHECK(read_speeds(*from, read.data(), sequence) == 0);
    publish_speeds(*from, two.data(), 2);
    CHECK(read_speeds(*from, read.data(), sequence) == 2);
    publish_speeds(*from, nullptr, 0);
    CHECK(read_speeds(*from, read.data(), sequence) == 0);
}

TEST_CASE("who lets go of a program leaves nothing that its threads would follow") {
    const auto shared = std::make_unique<page>();
    const std::array<std::uint32_t, 2> two{1, 4};
    for (const std::uint32_t sequence : {0U, 3U}) {  // 3: the controller was killed while it wrote
        publish_speeds(shared->cpu_speeds, two.data(), 2);
        shared->cpu_speeds.sequence.fetch_add(sequence);
        shared->lending = shared->crowded = shared->waits_sleep = shared->steps.hand_over = 1;
        let_go(*shared);
        CHECK(shared->lending + shared->crowded + shared->waits_sleep + shared->steps.hand_over == 0);
        std::array<std::uint32_t, most_cpus> read{};
        std::uint32_t found = 0;
        CHECK(read_speeds(shared->cpu_speeds, read.data(), found) == 0);
        CHECK(shared->cpu_speeds.cpus == 0);
    }
}

TEST_CASE("a reader beside the writer sees no mixture of two weights") {
    const auto both = std::make_unique<cpu_weights>();
    std::atomic<bool> over{false};
    std::thread writer([&] {
        std::array<std::uint32_t, 16> same{};
        for (std::uint32_t value = 1; !over; ++value) {
            same.fill(value);
            publish_speeds(*both, same.data(), 1 + value % 16);
        }
    });
    std::array<std::uint32_t, most_cpus> read{};
    int complete = 0;
    int mixed = 0;
    while (complete < 20'000) {
        std::uint32_t sequence = 0;
        const std::uint32_t count = read_speeds(*both, read.data(), sequence);
        if (count == 0) continue;
        ++complete;
        if (count != 1 + read[0] % 16) ++mixed;
        for (std::uint32_t k = 1; k < count; ++k) mixed += read[k] != read[0];
    }
    over = true;
    writer.join();
    CHECK(mixed == 0);
}

namespace {

const auto never = [] { FAIL("nobody changes its mask"); };
const auto nowhere = [](std::uint16_t) {
    FAIL("nobody moves it");
    return false;
};

bool put_on(hold_word& word, std::uint16_t seat) {
    return begin_hold(word) && confirm_hold(word, seat) && end_hold(word);
}

}  // namespace

TEST_CASE("a_thread_that_keeps_its_own_mask_is_not_held") {
    hold_word one{};
    REQUIRE(put_on(one, 3));
    CHECK(one.read().seat == 3);
    CHECK(one.read().on == 3);
    CHECK(refuse_hold(one, never) == refusal::was_held);
    CHECK_FALSE(begin_hold(one));
    CHECK_FALSE(begin_release(one, becomes_held, never));
    CHECK(refuse_hold(one, never) == refusal::was_refused);
    leave_hold(one);
    CHECK_FALSE(begin_hold(one));
    allow_hold(one);
    CHECK(refuse_hold(one, never) == refusal::was_own);
    allow_hold(one);
    CHECK(begin_hold(one));
}

TEST_CASE("a_thread_may_refuse_while_the_controller_only_looks") {
    hold_word one{};
    REQUIRE(begin_hold(one));
    CHECK(refuse_hold(one, never) == refusal::was_own);
    CHECK_FALSE(confirm_hold(one, 1));
    allow_hold(one);
    REQUIRE(begin_hold(one));
    leave_hold(one);  // it was pinned
    CHECK(one.read().state == is_own);
}

TEST_CASE("a_thread_waits_while_its_mask_is_changed_but_not_for_a_killed_controller") {
    hold_word one{};
    REQUIRE((begin_hold(one) && confirm_hold(one, 1)));
    int pauses = 0;
    CHECK(refuse_hold(one, [&] { pauses += end_hold(one) ? 1 : 1000; }) == refusal::was_held);
    CHECK(pauses == 1);
    allow_hold(one);
    REQUIRE((begin_hold(one) && confirm_hold(one, 1)));
    CHECK(refuse_hold(one, [&] { ++pauses; }) == refusal::was_held);
    CHECK(pauses > 100);
    CHECK_FALSE(end_hold(one));  // so it gives the mask back
}

TEST_CASE("a_held_thread_is_a_guest_elsewhere_and_comes_home") {
    hold_word one{};
    CHECK_FALSE(begin_move(one, {.state = is_held}, 7, 1, nowhere));  // it is not
    REQUIRE(put_on(one, 3));
    const hold_value at_home = one.read();
    std::optional<hold_value> moving = begin_move(one, at_home, 7, 1, nowhere);
    REQUIRE(moving);
    CHECK_FALSE(begin_move(one, at_home, 8, 1, nowhere));  // another lender comes too late
    CHECK(one.read().on == 3);
    CHECK(one.read().next == 7);
    REQUIRE(end_move(one, *moving, is_guest));
    CHECK(one.read().state == is_guest);
    CHECK(one.read().seat == 3);
    CHECK(one.read().on == 7);
    moving = begin_move(one, one.read(), one.read().seat, 1, nowhere);
    REQUIRE((moving && end_move(one, *moving, is_held)));
    CHECK(std::bit_cast<std::uint64_t>(one.read()) == std::bit_cast<std::uint64_t>(at_home));
}

TEST_CASE("who_releases_waits_for_a_lender_but_not_for_a_killed_one") {
    hold_word one{};
    REQUIRE(put_on(one, 3));
    const std::optional<hold_value> moving = begin_move(one, one.read(), 7, 1, nowhere);
    int pauses = 0;
    const std::optional<hold_value> was = begin_release(one, becomes_held, [&] {
        if (++pauses == 5) end_move(one, *moving, is_guest);
    });
    REQUIRE(was);
    CHECK(was->state == is_guest);
    CHECK(was->on == 7);
    CHECK(pauses == 5);
    leave_hold(one);
    CHECK(one.read().state == is_own);

    REQUIRE(put_on(one, 3));
    const std::optional<hold_value> lost = begin_move(one, one.read(), 7, 1, nowhere);
    const std::optional<hold_value> taken = begin_release(one, is_guarded, [&] { ++pauses; });
    REQUIRE(taken);
    CHECK(pauses > 100);
    CHECK(taken->on == 3);  // its mask is one of these two
    CHECK(taken->next == 7);
    CHECK_FALSE(end_move(one, *lost, is_guest));
    leave_hold(one);
    CHECK(one.read().state == is_own);
}

TEST_CASE("a_move_in_flight_is_gone_on_with_and_who_began_it_gives_back_what_he_set_in_vain") {
    hold_word one{};
    REQUIRE(put_on(one, 3));
    const hold_value at_home = one.read();
    CHECK_FALSE(may_go_on(at_home));
    const std::optional<hold_value> begun = begin_move(one, at_home, 7, 1, nowhere);
    REQUIRE(begun);
    CHECK(may_go_on(*begun));
    CHECK(settled(*begun).state == is_guest);
    CHECK(settled(*begun).on == 7);
    // The mask may not be set yet: then the word stays that of who sets it, who may wait for that, too.
    hold_value claimed = *begun;
    claimed.next |= is_claimed;
    REQUIRE(one.change(*begun, claimed));
    int waited = 0;
    cancel_move(one, *begun, at_home, [&] {
        if (++waited == 3) one.change(claimed, *begun);
    });
    CHECK(waited == 3);
    CHECK(one.read().state == is_held);
    cancel_move(one, *begun, *begun, never);  // it is another's by now
    CHECK(one.read().state == is_held);
    REQUIRE(one.change(at_home, *begun));
    CHECK_FALSE(begin_move(one, *begun, 3, 2, [&](std::uint16_t cpu) {
        CHECK(cpu == 7);
        CHECK_FALSE(may_go_on(one.read()));
        CHECK(settled(one.read()).on == 7);
        return false;
    }));
    CHECK(std::bit_cast<std::uint64_t>(one.read()) == std::bit_cast<std::uint64_t>(*begun));
    const std::optional<hold_value> home =
        begin_move(one, *begun, 3, 300, [](std::uint16_t cpu) { return cpu == 7; });
    REQUIRE(home);
    CHECK(home->on == 7);
    CHECK_FALSE(end_move(one, *begun, is_guest));
    CHECK_FALSE(begin_giving_back(one, 7, 1, false));  // another thread has the word
    REQUIRE(end_move(one, *home, is_held));
    CHECK(std::bit_cast<std::uint64_t>(one.read()) == std::bit_cast<std::uint64_t>(at_home));
    CHECK_FALSE(begin_giving_back(one, 3, 1, false));  // it says what was set

    std::optional<taken_word> taken = begin_giving_back(one, 7, 1, false);
    REQUIRE(taken);
    CHECK_FALSE(may_go_on(one.read()));
    end_giving_back(one, *taken);
    CHECK(std::bit_cast<std::uint64_t>(one.read()) == std::bit_cast<std::uint64_t>(at_home));

    REQUIRE(begin_move(one, at_home, 8, 1, nowhere));  // and is killed
    CHECK_FALSE(begin_giving_back(one, 7, 1, false));
    taken = begin_giving_back(one, 7, 1, true);
    REQUIRE(taken);
    end_giving_back(one, *taken);
    CHECK(std::bit_cast<std::uint64_t>(one.read()) == std::bit_cast<std::uint64_t>(at_home));

    REQUIRE(begin_release(one, becomes_held, never));
    CHECK_FALSE(begin_giving_back(one, 7, 1, true));
    leave_hold(one);
    taken = begin_giving_back(one, 7, 1, false);
    REQUIRE(taken);
    CHECK(taken->was.state == is_own);
    CHECK_FALSE(begin_hold(one));
    end_giving_back(one, *taken);
    CHECK(one.read().state == is_own);
}

TEST_CASE("only_who_is_held_by_nobody_is_pulled_and_it_waits_for_its_own_mask") {
    hold_word one{};
    std::optional<taken_word> taken = begin_pull(one, 5, 1);
    REQUIRE(taken);
    CHECK_FALSE(begin_pull(one, 6, 2));
    CHECK_FALSE(begin_hold(one));
    CHECK_FALSE(may_go_on(one.read()));
    CHECK(settled(one.read()).on == 0);  // nobody lends it a CPU
    int pauses = 0;
    CHECK(refuse_hold(one, [&] {
              if (++pauses == 3) end_giving_back(one, *taken);
          }) == refusal::was_own);
    CHECK(pauses == 3);
    CHECK_FALSE(begin_pull(one, 5, 1));
    allow_hold(one);
    REQUIRE(put_on(one, 3));
    CHECK_FALSE(begin_pull(one, 5, 1));

    // Who pulls is slow: the thread takes its word, and gives itself its own mask.
    hold_word other{};
    taken = begin_pull(other, 5, 1);
    REQUIRE(taken);
    CHECK(refuse_hold(other, [] {}) == refusal::was_held);
    end_giving_back(other, *taken);
    CHECK(other.read().state == stays_own);
}

TEST_CASE("a_guard_takes_the_word_of_a_killed_controller_from_its_thread_only_in_its_turn") {
    hold_word one{};
    REQUIRE((begin_hold(one) && confirm_hold(one, 1)));
    CHECK(begin_release(one, is_guarded, never));
    int pauses = 0;
    CHECK(refuse_hold(one, [&] {
              if (++pauses == 3) leave_hold(one);
          }) == refusal::was_own);
    CHECK(pauses == 3);
}

TEST_CASE("no_thread_passes_on_a_mask_that_the_controller_or_a_lender_set") {
    constexpr std::uint32_t given = 0;
    constexpr int starts = 10'000;
    hold_word word{};
    std::atomic<std::uint32_t> mask{given};
    std::atomic<bool> over{false};
    std::atomic<int> moved{0};
    const auto pause = [] { std::this_thread::yield(); };
    // Who has the word gives it back before long, so nobody takes it away.
    const auto patient = [] { std::this_thread::sleep_for(std::chrono::microseconds(1)); };
    std::thread controller([&] {
        for (std::uint16_t seat = 1; !over; seat = static_cast<std::uint16_t>(3 - seat)) {
            if (!begin_hold(word)) continue;
            if (confirm_hold(word, seat)) {
                mask = seat;
                if (!end_hold(word)) mask = given;
            }
            for (int i = 0; i < 30; ++i) pause();
            if (begin_release(word, becomes_held, patient)) {
                mask = given;
                leave_hold(word);
            }
        }
    });
    const auto give_back = [&](hold_value moving, hold_state to, std::uint16_t own) {
        const std::uint16_t set = goal(moving);
        for (;; pause()) {
            const hold_value found = word.read();
            const bool sits = found.state == is_held || found.state == is_guest;
            if ((sits && found.on == set) || mask != set || end_move(word, moving, to)) return;
            const std::optional<taken_word> taken = begin_giving_back(word, set, own, false);
            if (!taken) continue;
            if (taken->was.state != is_own || mask == set) mask = given;
            return end_giving_back(word, *taken);
        }
    };
    std::vector<std::thread> lenders;
    std::atomic<int> gone_on{0};
    for (const std::uint16_t own : {std::uint16_t{11}, std::uint16_t{12}})
        lenders.emplace_back([&, own] {
            for (; !over; pause()) {
                const hold_value found = word.read();
                const hold_value from = settled(found);
                const bool in_flight = found.state == is_moving;
                if (in_flight ? !may_go_on(found) || mask != goal(found)
                              : found.state != is_held && found.state != is_guest)
                    continue;
                const bool lends = from.state == is_held;
                const std::uint16_t next = lends ? own : from.seat;
                const std::optional<hold_value> moving =
                    begin_move(word, found, next, own, [&](std::uint16_t cpu) { return mask == cpu; });
                if (!moving) continue;
                if (mask != from.on) {
                    cancel_move(word, *moving, from, pause);
                    continue;
                }
                mask = next;
                if (own == 11) pause();  // what another one goes on with
                const hold_state to = lends ? is_guest : is_held;
                if (!end_move(word, *moving, to))
                    give_back(*moving, to, own);
                else
                    ++(in_flight ? gone_on : moved);
            }
        });
    std::atomic<int> pulled{0};
    lenders.emplace_back([&] {
        constexpr std::uint16_t own = 13;
        for (; !over; pause()) {
            const std::optional<taken_word> taken = begin_pull(word, own, own);
            if (!taken) continue;
            if (mask == given) {
                mask = own;
                pause();
                if (mask == own) mask = given;
                ++pulled;
            }
            end_giving_back(word, *taken);
        }
    });
    int inherited = 0;
    int held = 0;
    for (int i = 0; i < starts; ++i) {
        if (refuse_hold(word, patient) == refusal::was_held) {
            ++held;
            mask = given;
        }
        inherited += mask != given ? 1 : 0;
        pause();
        inherited += mask != given ? 1 : 0;
        allow_hold(word);
        for (int k = 0; k < i % 50; ++k) pause();
    }
    over = true;
    controller.join();
    for (std::thread& one : lenders) one.join();
    CHECK(inherited == 0);
    CHECK(held > 0);
    CHECK(moved > 0);
    CHECK(gone_on > 0);
    CHECK(pulled > 0);
    if (begin_release(word, becomes_held, patient)) mask = given;
    CHECK(mask == given);
}

}  // namespace tauto::balance
