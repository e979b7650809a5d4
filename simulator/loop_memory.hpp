#pragma once
// How fast the members of a loop read their rows: the cache that each byte comes from, and each member's part
// of the shared buses.

#include <span>
#include <vector>

#include "loop_members.hpp"
#include "sharing.hpp"

namespace tauto::sim {

inline constexpr double element_bytes = 4;

// The properties of a schedule and of its kernel that matter for caches.
struct reading_habits {
    bool keeps_places = true;  // a member has the same rows in each loop, and finds them in its own cache
    bool single_rows = false;  // each call of the body gets one row
    bool settles = false;      // a member's share changes from loop to loop
    bool chain = false;        // a row's sum is one chain of additions: the published kernel

    [[nodiscard]] double cycles_per_byte(const core_kind& kind) const {
        if (chain) return kind.chain_cycles_per_byte;
        return single_rows ? kind.single_row_cycles_per_byte : kind.stream_cycles_per_byte;
    }
    [[nodiscard]] double smt_yield(const core_kind& kind) const {
        return chain ? kind.chain_smt_yield : kind.smt_yield;
    }
};

class loop_memory {
  public:
    // Both must outlive this. `size`: rows, and elements in each.
    loop_memory(const machine& on, std::span<const loop_member> members, std::int64_t size,
                reading_habits habits);

    // Begins a loop of these members, the caller first. `before`: by member, the loops until now;
    // `iteration`: the length of the last iteration.
    void begin(std::span<const actor_id> taking_part, std::span<const loop_progress> before,
               nanoseconds iteration);

    // Whether each of so many members reads more in a loop than the caller's L2 cache holds.
    [[nodiscard]] bool is_cold(int members) const;

    // Sets the rates of all reading members, and calls changed(member, old rate) for each changed rate.
    template <class Changed>
    void share(Changed&& changed);

    // The member stops reading. True if the other rates should be set again.
    [[nodiscard]] bool leave(actor_id member);
    // It reads again, alone.
    void come_back(actor_id member);

    // Bytes a second.
    [[nodiscard]] double rate(actor_id member) const { return streams_[member].flow.rate; }
    // Counts the bytes that these rows move. Returns those bytes plus the fixed costs of the rows, counted as
    // bytes at the present rate.
    [[nodiscard]] double read(actor_id member, std::int64_t rows);

    // Of this loop.
    [[nodiscard]] double bytes_from_memory() const { return from_memory_; }
    [[nodiscard]] double bytes_past_port() const { return past_port_; }

  private:
    struct stream {
        sim::flow flow;
        double set = 0;  // bytes that it reads in a loop, as far as is known beforehand
        double own_cache = 0;
        bool reads = false;  // takes part in this loop and has not left it
    };

    void learn_sets(std::span<const loop_progress> before);
    void share_caches(nanoseconds iteration);
    void set_flows();
    void set_flow(actor_id member);
    [[nodiscard]] std::vector<flow> shared_rates() const;
    [[nodiscard]] bool speed_up_siblings(actor_id member);

    const machine& machine_;
    std::span<const loop_member> members_;
    std::int64_t size_;
    reading_habits habits_;
    std::vector<stream> streams_;  // by member
    std::vector<int> reading_on_;  // members, by core
    std::span<const actor_id> taking_part_;
    double whole_ = 0;     // bytes that this loop reads
    double anywhere_ = 0;  // the part of the whole that some cache still holds
    int reading_ = 0;
    int left_ = 0;           // since rates were last set
    bool bus_full_ = false;  // when they were
    double from_memory_ = 0;
    double past_port_ = 0;
};

template <class Changed>
void loop_memory::share(Changed&& changed) {
    const std::vector<flow> rates = shared_rates();
    bus_full_ = false;
    left_ = 0;
    for (std::size_t p = 0; p < taking_part_.size(); ++p) {
        if (rates[p].limit <= 0) continue;
        const actor_id member = taking_part_[p];
        flow& own = streams_[member].flow;
        const double rate = rates[p].rate;
        bus_full_ = bus_full_ || rate < own.limit;
        if (rate == own.rate) continue;
        const double before = own.rate;
        own.rate = rate;
        changed(member, before);
    }
}

}  // namespace tauto::sim
