#include "balance/waits/shares.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include "balance/waits/marks.hpp"
#include "balance/waits/static_loop.hpp"

namespace tauto::balance {

namespace {

constexpr std::uint32_t places_of_a_code = 4;  // in the table of regions
constexpr double short_region = 1.8e6;         // ns from barrier to barrier
constexpr double short_no_more = 2.2e6;        // the same, for one that was short
constexpr double follows = 0.2;                // of the length in a run
constexpr int spin_milliseconds = 1;           // the least that the runtime knows

// In memory of its own: in each thread's static memory it would take room from small stacks, and it cannot
// come from malloc, which may be the caller. Pages that nobody touches cost nothing.
team_shares* this_threads_team() noexcept {
    if (this_thread.team == nullptr) {
        void* memory =
            mmap(nullptr, sizeof(team_shares), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory != MAP_FAILED) this_thread.team = new (memory) team_shares;
    }
    return this_thread.team;
}

std::uint64_t now() noexcept {
    return static_cast<std::uint64_t>(timer::now());
}

std::uint32_t cpu_of(const team_shares& team, std::uint32_t member) noexcept {
    return team.parts[member].cpu.load(std::memory_order_relaxed);
}

// The weight of the CPU of each member; false where the weights do not fit the team: each member must have a
// CPU that counts, no two the same, and every CPU that counts a member.
bool weigh(team_shares& team, const std::uint32_t* of_cpu, std::uint32_t cpus, std::uint32_t size) noexcept {
    std::uint32_t counted = 0;
    for (std::uint32_t k = 0; k < cpus; ++k) counted += of_cpu[k] > 0;
    if (size < 2 || size > most_members || size != counted) return false;
    std::array<bool, most_cpus> taken{};
    bool differ = false;
    for (std::uint32_t k = 0; k < size; ++k) {
        const std::uint32_t cpu = cpu_of(team, k);
        if (cpu >= cpus || of_cpu[cpu] == 0 || taken[cpu]) return false;
        taken[cpu] = true;
        differ |= of_cpu[cpu] != of_cpu[cpu_of(team, 0)];
    }
    if (!differ) return false;
    bool is_new = false;
    for (std::uint32_t k = 0; k < size; ++k) {
        const auto cpu = static_cast<std::uint16_t>(cpu_of(team, k));
        is_new |= cpu != team.cpus[k] || team.weights[k] == 0;
        team.cpus[k] = cpu;
        team.weights[k] = of_cpu[cpu];
    }
    for (std::uint32_t k = size; k < most_members && team.weights[k] != 0; ++k) {
        team.weights[k] = 0;
        is_new = true;
    }
    team.seats += is_new ? 1 : 0;
    return true;
}

void find_weights(team_shares& team, const cpu_weights& published) noexcept {
    std::array<std::uint32_t, most_cpus> of_cpu;
    const std::uint32_t cpus = read_speeds(published, of_cpu.data(), team.sequence);
    const std::uint32_t size = team.size.load(std::memory_order_relaxed);
    team.members = cpus > 0 && weigh(team, of_cpu.data(), cpus, size) ? size : 0;
}

// Where none of its places is free, another region is forgotten.
team_shares::region& region_of(team_shares& team, const void* code) noexcept {
    const std::size_t hash = (reinterpret_cast<std::uintptr_t>(code) >> 4) * 0x9e37'79b9'7f4a'7c15U >> 32;
    team_shares::region* chosen = nullptr;
    for (std::uint32_t k = 0; k < places_of_a_code; ++k) {
        team_shares::region& one = team.regions[(hash + k) % most_regions];
        if (one.code != nullptr && one.code != code) continue;
        chosen = &one;
        break;
    }
    if (chosen == nullptr) chosen = &team.regions[hash % most_regions];
    if (chosen->code != code || chosen->seats != team.seats) {
        chosen->code = code;
        chosen->seats = team.seats;
        chosen->is_shared = true;
        chosen->length = 0;
        chosen->is_short = false;
        chosen->shares.begin(std::span(team.weights).first(team.members));
    }
    return *chosen;
}

// In a short region whose members have a CPU each and end together, to sleep and to be woken up takes longer
// than to wait. In a longer one who waits sleeps, and lends its CPU (lending.hpp).
bool suits_spinning(team_shares::region& one) noexcept {
    one.is_short = one.length > 0 && one.length < (one.is_short ? short_no_more : short_region);
    return one.is_shared && one.is_short;
}

void spin(team_shares& team, int milliseconds) noexcept {
    if (!may_spin() || !can_spin()) return;
    const bool was_told = team.usual_spin_time >= 0;
    if (was_told && team.spin_time == milliseconds) return;
    if (!was_told) team.usual_spin_time = spin_time();
    team.spin_time = milliseconds;
    spin_for(milliseconds);
}

void spin_as_usual(team_shares& team) noexcept {
    if (team.usual_spin_time >= 0 && can_spin()) spin_for(team.usual_spin_time);
    team.usual_spin_time = -1;
}

}  // namespace

shared_run begin_run(const void* code) noexcept {
    if (this_thread.in_region) return {};
    const cpu_weights* published = published_speeds();
    if (published == nullptr) return {};
    const std::uint32_t sequence = published->sequence.load(std::memory_order_acquire);
    if (!static_loops_are_known()) return {};
    static std::atomic<bool> told{false};
    if (!told.load(std::memory_order_relaxed)) {
        told.store(true, std::memory_order_relaxed);
        tell_of_static_loops();
    }
    if (sequence == 0) return {};
    team_shares* team = this_threads_team();
    if (team == nullptr) return {};
    if (sequence != team->sequence || team->moved.load(std::memory_order_relaxed)) {
        team->moved.store(false, std::memory_order_relaxed);
        find_weights(*team, *published);
    }
    if (team->members == 0) {
        spin_as_usual(*team);
        return {team};
    }
    team_shares::region& region = region_of(*team, code);
    // Waits of a program with tasks are not marked, and who spins would be taken for one who works.
    const bool spins =
        suits_spinning(region) && may_spin() && can_spin() && !tasks_seen.load(std::memory_order_relaxed);
    spin(*team, spins ? spin_milliseconds : 0);
    return {team, &region, &region.shares, spins, now(), ++team->runs};
}

void end_run(const shared_run& run) noexcept {
    if (run.shares == nullptr) return;
    team_shares& team = *run.team;
    const std::uint32_t size = run.shares->members();
    if (team.size.load(std::memory_order_relaxed) != size) return;
    const auto since_fork = [&](std::uint64_t at) {
        return static_cast<double>(at - std::min(at, run.forked));
    };
    double longest = 0;
    bool asked = false;
    for (std::uint32_t k = 0; k < size; ++k) {
        const member_part& part = team.parts[k];
        if (part.run.load(std::memory_order_relaxed) != run.number) return;
        team.seen[k] = {since_fork(part.begun.load(std::memory_order_relaxed)),
                        since_fork(part.ended.load(std::memory_order_relaxed)),
                        static_cast<double>(part.waited.load(std::memory_order_relaxed)),
                        part.moved.load(std::memory_order_relaxed)};
        longest = std::max(longest, team.seen[k].ended);
        asked |= part.asked.load(std::memory_order_relaxed);
    }
    run.region->is_shared = asked;
    const double each = longest / (1 + team.parts[0].barriers.load(std::memory_order_relaxed));
    double& length = run.region->length;
    length += (length > 0 ? follows : 1) * (each - length);
    if (!asked) return;
    for (std::uint32_t k = 0; k < size; ++k) tell_of_work(team.cpus[k], run.shares->share(k) * longest);
    run.shares->learn(std::span(team.seen).first(size));
}

void note_begin(const shared_run& run, std::int32_t member) noexcept {
    if (run.team == nullptr || member < 0 || static_cast<std::uint32_t>(member) >= most_members) return;
    team_shares& team = *run.team;
    const auto set = [&](auto& word, auto value) {
        if (word.load(std::memory_order_relaxed) == value) return;
        word.store(value, std::memory_order_relaxed);
        team.moved.store(true, std::memory_order_relaxed);
    };
    member_part& part = team.parts[static_cast<std::size_t>(member)];
    set(part.cpu, static_cast<std::uint16_t>(sched_getcpu()));
    if (member == 0) set(team.size, team_size());
    if (run.shares != nullptr) part.begun.store(now(), std::memory_order_relaxed);
}

void note_end(const shared_run& run, std::int32_t member, const shared_part& told) noexcept {
    if (run.shares == nullptr || member < 0 || static_cast<std::uint32_t>(member) >= most_members) return;
    member_part& part = run.team->parts[static_cast<std::size_t>(member)];
    part.ended.store(now(), std::memory_order_relaxed);
    part.waited.store(told.waited, std::memory_order_relaxed);
    part.barriers.store(told.barriers, std::memory_order_relaxed);
    part.asked.store(told.asked, std::memory_order_relaxed);
    part.moved.store(static_cast<std::uint16_t>(sched_getcpu()) != part.cpu.load(std::memory_order_relaxed),
                     std::memory_order_relaxed);
    part.run.store(run.number, std::memory_order_relaxed);
}

void forget_team() noexcept {
    if (this_thread.team != nullptr) munmap(this_thread.team, sizeof(team_shares));
    this_thread.team = nullptr;
}

}  // namespace tauto::balance
