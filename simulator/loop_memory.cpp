#include "loop_memory.hpp"

#include <algorithm>

namespace tauto::sim {

namespace {

// Vectors of the conjugate gradients: the solution, the residual, the direction, and the product.
constexpr double solver_vectors = 4;
// How fast the bytes that a member reads in a loop follow its share, if the share changes between loops.
constexpr double set_memory = 0.25;

}  // namespace

loop_memory::loop_memory(const machine& on, std::span<const loop_member> members, std::int64_t size,
                         reading_habits habits)
    : machine_(on),
      members_(members),
      size_(size),
      habits_(habits),
      streams_(members.size()),
      reading_on_(on.cores(), 0) {}

void loop_memory::begin(std::span<const actor_id> taking_part, std::span<const loop_progress> before,
                        nanoseconds iteration) {
    taking_part_ = taking_part;
    reading_ = static_cast<int>(taking_part.size());
    from_memory_ = past_port_ = 0;
    learn_sets(before);
    for (stream& one : streams_) one.reads = false;
    std::fill(reading_on_.begin(), reading_on_.end(), 0);
    for (const actor_id member : taking_part) {
        streams_[member].reads = true;
        ++reading_on_[members_[member].where.core];
    }
    share_caches(iteration);
    set_flows();
}

// The bytes that each member reads in a loop: as in the last loops, or its share of the whole.
void loop_memory::learn_sets(std::span<const loop_progress> before) {
    const double row = static_cast<double>(size_) * element_bytes;
    const double whole = row * static_cast<double>(size_);
    std::int64_t done = 0;
    for (const actor_id member : taking_part_) done += before[member].rows;
    for (const actor_id member : taking_part_) {
        double& set = streams_[member].set;
        const double last = row * static_cast<double>(before[member].rows);
        if (done == 0) {
            set = whole / static_cast<double>(taking_part_.size());
        } else if (!habits_.settles) {
            set = last;
        } else {
            // Shares follow speeds and speeds follow shares, so the change is damped. A cache remembers more
            // than one loop.
            set += set_memory * (last - set);
        }
    }
}

bool loop_memory::is_cold(int members) const {
    const double row = static_cast<double>(size_) * element_bytes;
    return row * static_cast<double>(size_) / members > members_.front().kind->l2_bytes;
}

// Each member's part of its L2 cache, and the part of all rows that some cache still holds.
void loop_memory::share_caches(nanoseconds iteration) {
    std::vector<int> on_l2;
    for (const actor_id member : taking_part_) {
        const auto cluster = static_cast<std::size_t>(members_[member].where.cluster);
        if (on_l2.size() <= cluster) on_l2.resize(cluster + 1, 0);
        ++on_l2[cluster];
    }
    double private_room = 0;
    whole_ = 0;
    for (const actor_id member : taking_part_) {
        stream& own = streams_[member];
        own.own_cache = members_[member].kind->l2_bytes / on_l2[members_[member].where.cluster];
        whole_ += own.set;
        private_room += own.own_cache;
    }
    // Data evicted from an L2 goes into the shared cache unless that is inclusive. Together they then act as
    // one cache.
    const double room = machine_.last_level_inclusive ? std::max(machine_.last_level_bytes, private_room)
                                                      : machine_.last_level_bytes + private_room;
    // Since a row was last read, all other rows were read, and data of the host's other guests.
    const double since = whole_ + machine_.foreign_bytes_per_second * static_cast<double>(iteration) * 1e-9;
    anywhere_ = machine_.last_level_retention.known() ? machine_.last_level_retention.at(since)
                                                      : retained(since, room);
}

// Members with equal kind and share are equal, so each such group is looked up once.
void loop_memory::set_flows() {
    const auto alike = [this](actor_id a, actor_id b) {
        const loop_member& one = members_[a];
        const loop_member& other = members_[b];
        return one.kind == other.kind && streams_[a].set == streams_[b].set &&
               streams_[a].own_cache == streams_[b].own_cache && one.hertz == other.hertz &&
               one.sharers == other.sharers;
    };
    for (std::size_t p = 0; p < taking_part_.size(); ++p) {
        const actor_id member = taking_part_[p];
        if (p > 0 && alike(taking_part_[p - 1], member)) {
            streams_[member].flow = streams_[taking_part_[p - 1]].flow;
        } else {
            set_flow(member);
        }
    }
}

// The caches that a member's bytes come from, and the rate that follows.
//
// Members that keep their rows find the part of their share that is still in their own L2. Other members find
// a row there only if they get the same row again by chance. The shared cache holds what no L2 holds or, if
// it is inclusive, the L2 contents too.
void loop_memory::set_flow(actor_id member) {
    const loop_member& one = members_[member];
    const core_kind& kind = *one.kind;
    stream& own = streams_[member];
    // Each cache also holds the multiplied vector and, for the first member, the solver's four other vectors.
    const double vectors = static_cast<double>(size_) * element_bytes *
                           (member == taking_part_.front() ? 1 + solver_vectors : 1);
    const double beside_rows = own.set + vectors;
    // Measured for one core alone on its L2 cache.
    double local = kind.l2_retention.known() && own.own_cache > 0
                       ? kind.l2_retention.at(beside_rows * kind.l2_bytes / own.own_cache)
                       : retained(beside_rows, own.own_cache);
    local = std::min(anywhere_, local);
    // Without fixed places, the chance to get a row again is the member's share of all rows.
    if (!habits_.keeps_places && whole_ > 0) local *= own.set / whole_;
    const double on_chip = local < 1 ? (anywhere_ - local) / (1 - local) : 1;
    const double from_memory = (1 - local) * (1 - on_chip);
    const double past_port = 1 - local;
    const int beside = std::max(1, reading_on_[one.where.core]);
    const double share_of_core = beside > 1 ? habits_.smt_yield(kind) / beside : 1;
    const double compute = one.hertz / habits_.cycles_per_byte(kind) * share_of_core;
    const double l2 = one.hertz * kind.l2_bytes_per_cycle / kind.l2_shared_by_cores / one.sharers;
    const auto of_single = [&](double single, double several) {
        return (habits_.single_rows && single > 0 ? std::min(single, several) : several) / one.sharers;
    };
    const double ring =
        of_single(kind.single_row_last_level_bytes_per_second, kind.last_level_bytes_per_second);
    double memory = of_single(kind.single_row_memory_bytes_per_second, kind.memory_bytes_per_second);
    if (kind.cluster_memory_bytes_per_second > 0)
        memory =
            std::min(memory, kind.cluster_memory_bytes_per_second / kind.l2_shared_by_cores / one.sharers);
    // The parts are read one after the other, each at the rate of its bottleneck.
    const double per_byte = local / std::min(compute, l2) +
                            (past_port - from_memory) / std::min(compute, ring) +
                            from_memory / std::min({compute, ring, memory});
    // In its windows, a core that a thief leaves to itself first reads again what it had near.
    own.flow.limit = (1 - kind.stolen_reading_share) / (1 - kind.stolen_share) / per_byte;
    own.flow.weight = kind.outstanding_lines * one.hertz / kind.turbo(1) / one.sharers;
    own.flow.last_level = past_port;
    own.flow.memory = from_memory;
}

// The rate of each member while it has its core, by position; limit 0: it has left.
//
// A core with a thief reads at full speed in its windows and not at all between them, so a bus may be full in
// a part of each turn only. The parts of several such cores begin together, the longer ones around the
// shorter.
std::vector<flow> loop_memory::shared_rates() const {
    std::vector<flow> rates;
    rates.reserve(taking_part_.size());
    const auto part_of = [this](std::size_t p) { return 1 - members_[taking_part_[p]].kind->stolen_share; };
    bool slow = false;
    bool alike = true;
    for (const actor_id member : taking_part_) {
        flow one = streams_[member].flow;
        if (!streams_[member].reads) one.limit = 0;
        slow = slow || (one.limit > 0 && members_[member].where.kind != 0);
        rates.push_back(one);
        alike = alike && part_of(rates.size() - 1) == part_of(0);
    }
    const double port = machine_.last_level_bytes_per_second * (slow ? machine_.slow_ring_share : 1.0);
    if (alike) {
        share_fairly(rates, port, machine_.memory_bytes_per_second);
        return rates;
    }
    std::vector<double> parts;
    for (std::size_t p = 0; p < rates.size(); ++p) parts.push_back(part_of(p));
    std::vector<double> ends = parts;
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    std::vector<flow> mean = rates;
    for (flow& one : mean) one.rate = 0;
    double begin = 0;
    for (const double end : ends) {
        std::vector<flow> present = rates;
        for (std::size_t p = 0; p < present.size(); ++p)
            if (parts[p] < end) present[p].limit = 0;
        share_fairly(present, port, machine_.memory_bytes_per_second);
        for (std::size_t p = 0; p < present.size(); ++p)
            if (parts[p] >= end) mean[p].rate += present[p].rate * (end - begin) / parts[p];
        begin = end;
    }
    return mean;
}

double loop_memory::read(actor_id member, std::int64_t rows) {
    const loop_member& one = members_[member];
    const flow& own = streams_[member].flow;
    const double bytes = static_cast<double>(rows) * static_cast<double>(size_) * element_bytes;
    from_memory_ += bytes * own.memory;
    past_port_ += bytes * own.last_level;
    return bytes + static_cast<double>(rows) * one.kind->row_cycles / one.hertz * own.rate;
}

bool loop_memory::leave(actor_id member) {
    streams_[member].reads = false;
    --reading_;
    --reading_on_[members_[member].where.core];
    const bool faster = speed_up_siblings(member);
    // With very many members, the rates are recomputed each time 1/64 of them has left; the difference is not
    // visible.
    return reading_ > 0 && (bus_full_ || faster) && ++left_ * 64 >= static_cast<int>(taking_part_.size());
}

// The other members of its core get a larger part of the core. True if there are any.
bool loop_memory::speed_up_siblings(actor_id member) {
    const loop_member& one = members_[member];
    if (reading_on_[one.where.core] == 0 || habits_.smt_yield(*one.kind) >= one.sharers) return false;
    // Members are ordered by core, so the members of one core are neighbours.
    const auto same_core = [&](actor_id other) {
        return other < members_.size() && members_[other].where.core == one.where.core;
    };
    actor_id other = member;
    while (other > 0 && same_core(other - 1)) --other;
    bool faster = false;
    for (; same_core(other); ++other) {
        if (!streams_[other].reads) continue;
        set_flow(other);
        faster = true;
    }
    return faster;
}

void loop_memory::come_back(actor_id member) {
    streams_[member].reads = true;
    ++reading_;
    ++reading_on_[members_[member].where.core];
    set_flow(member);
}

}  // namespace tauto::sim
