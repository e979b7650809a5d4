#include "balance/waits/shares.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <new>

#include "balance/waits/marks.hpp"
#include "balance/waits/static_loop.hpp"

namespace tauto::balance {

namespace {

// In memory of its own: in each thread's static memory it would take room from small stacks, and it cannot
// come from malloc, which may be the caller.
team_shares* this_threads_team() noexcept {
    if (this_thread.team == nullptr) {
        void* memory =
            mmap(nullptr, sizeof(team_shares), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory != MAP_FAILED) this_thread.team = new (memory) team_shares;
    }
    return this_thread.team;
}

// The weight of the CPU of each member; false where the weights do not fit the team: each member must have a
// CPU that counts, no two the same, and every CPU that counts a member.
bool weights_of_members(const team_shares& team, const std::uint32_t* of_cpu, std::uint32_t cpus,
                        std::uint32_t* weights) noexcept {
    const std::uint32_t size = team.size.load(std::memory_order_relaxed);
    std::uint32_t counted = 0;
    for (std::uint32_t k = 0; k < cpus; ++k) counted += of_cpu[k] > 0;
    if (size < 2 || size > most_members || size != counted) return false;
    std::array<bool, most_cpus> taken{};
    bool differ = false;
    for (std::uint32_t k = 0; k < size; ++k) {
        const std::uint32_t cpu = team.cpu[k].load(std::memory_order_relaxed);
        if (cpu >= cpus || of_cpu[cpu] == 0 || taken[cpu]) return false;
        taken[cpu] = true;
        weights[k] = of_cpu[cpu];
        differ |= weights[k] != weights[0];
    }
    return differ;
}

void make_shares(team_shares& team, const cpu_weights& published) noexcept {
    team.members = 0;
    std::array<std::uint32_t, most_cpus> of_cpu;
    std::array<std::uint32_t, most_members> weights;
    const std::uint32_t cpus = read_speeds(published, of_cpu.data(), team.sequence);
    if (cpus == 0 || !weights_of_members(team, of_cpu.data(), cpus, weights.data())) return;
    const std::uint32_t size = team.size.load(std::memory_order_relaxed);
    std::uint64_t all = 0;
    for (std::uint32_t k = 0; k < size; ++k) all += weights[k];
    std::uint64_t sum = 0;
    for (std::uint32_t k = 0; k < size; ++k) {
        team.before[k] = static_cast<std::uint32_t>(sum * whole / all);
        sum += weights[k];
    }
    team.before[size] = whole;
    team.members = size;
}

}  // namespace

team_shares* shares_of_next_region() noexcept {
    if (this_thread.in_region) return nullptr;
    const cpu_weights* published = published_speeds();
    if (published == nullptr) return nullptr;
    const std::uint32_t sequence = published->sequence.load(std::memory_order_acquire);
    if (!static_loops_are_known()) return nullptr;
    static std::atomic<bool> told{false};
    if (!told.load(std::memory_order_relaxed)) {
        told.store(true, std::memory_order_relaxed);
        tell_of_static_loops();
    }
    if (sequence == 0) return nullptr;
    team_shares* team = this_threads_team();
    if (team == nullptr) return nullptr;
    if (sequence != team->sequence || team->moved.load(std::memory_order_relaxed)) {
        team->moved.store(false, std::memory_order_relaxed);
        make_shares(*team, *published);
    }
    return team;
}

void note_member(team_shares& team, std::int32_t member) noexcept {
    if (member < 0 || static_cast<std::uint32_t>(member) >= most_members) return;
    const auto set = [&](auto& word, auto value) {
        if (word.load(std::memory_order_relaxed) == value) return;
        word.store(value, std::memory_order_relaxed);
        team.moved.store(true, std::memory_order_relaxed);
    };
    set(team.cpu[static_cast<std::size_t>(member)], static_cast<std::uint16_t>(sched_getcpu()));
    if (member == 0) set(team.size, team_size());
}

void forget_team() noexcept {
    if (this_thread.team != nullptr) munmap(this_thread.team, sizeof(team_shares));
    this_thread.team = nullptr;
}

}  // namespace tauto::balance
