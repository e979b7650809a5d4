#include "loop.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include <tauto/loop_model.hpp>
#include <tauto/schedule.hpp>

#include "finish_tree.hpp"
#include "sharing.hpp"
#include "task_queues.hpp"

namespace tauto::sim {

namespace {

constexpr double element_bytes = 4;
// The work between two loops on the first member: two sums of n products, each a chain of additions, and
// three updates of a vector, a cycle an element each, or where the core does several at once as fast as it
// reads and writes twelve floats.
constexpr double serial_chains = 2;
constexpr double serial_update_cycles = 3;
constexpr double serial_update_bytes = 12 * element_bytes;
// Of the conjugate gradients: the solution, the residual, the direction, and the product.
constexpr double solver_vectors = 4;
// How fast what a member reads in a loop follows what it is given, where that changes from loop to loop.
constexpr double set_memory = 0.25;
// oneTBB: a range of the worker's own pool is halved and its body is called.
constexpr nanoseconds pool_range = 20;
// Members look at up to this many of the others' lines in the time of one transfer: loads overlap.
constexpr int overlapping_looks = 8;

// A place that one member at a time may change: requests are served in their order, and each takes the time
// that the line needs to come over from the one before.
class contended_line {
  public:
    // When the member has it, if it asks at `at`.
    nanoseconds take(actor_id member, nanoseconds at, nanoseconds transfer) {
        const nanoseconds begin = std::max(at, free_at_);
        free_at_ = begin + (owner_ == static_cast<std::int64_t>(member) ? own_atomic : transfer);
        owner_ = member;
        return free_at_;
    }
    [[nodiscard]] std::int64_t owner() const noexcept { return owner_; }
    void forget() noexcept { free_at_ = 0; }

  private:
    nanoseconds free_at_ = 0;
    std::int64_t owner_ = -1;
};

class loop_run {
  public:
    loop_run(const machine& on, const loop_request& asked);
    loop_result run();

  private:
    enum class phase : std::uint8_t { absent, away, asking, fetching, working, done };
    struct member {
        hardware_thread where;
        phase now = phase::absent;
        double left = 0;  // bytes of the chunk in hand
        nanoseconds since = 0;
        range chunk;
        std::int64_t rows = 0;
        double set = 0;  // bytes that it reads in a loop, as far as is known beforehand
        double own_cache = 0;
        double hertz = 0;
    };

    [[nodiscard]] const core_kind& kind(const member& one) const {
        return machine_.kinds[static_cast<std::size_t>(one.where.kind)];
    }
    [[nodiscard]] bool adaptive() const { return asked_.schedule == "adaptive"; }
    [[nodiscard]] bool tbb() const { return asked_.runtime == "tbb" && asked_.schedule != "static"; }
    [[nodiscard]] bool from_counter() const {
        return asked_.schedule == "dynamic" || asked_.schedule == "guided";
    }
    [[nodiscard]] bool single_rows() const;
    [[nodiscard]] schedule schedule_object() const;
    [[nodiscard]] range next_guided_of_libgomp();
    [[nodiscard]] nanoseconds window(const member& one) const;
    [[nodiscard]] nanoseconds finish(const member& one, nanoseconds at, nanoseconds work) const;
    [[nodiscard]] nanoseconds served(const member& one, nanoseconds from, nanoseconds to) const;
    [[nodiscard]] bool keeps_places() const;
    [[nodiscard]] nanoseconds transfer(std::int64_t from, actor_id to) const;
    void place_members();
    void set_clocks();
    void learn_sets();
    void set_flow(actor_id rank);
    void begin_loop(nanoseconds at);
    void begin_adaptive();
    void note_end(int position);
    void step(actor_id rank, nanoseconds at);
    void come_to_ask(actor_id rank, nanoseconds at);
    void ask(actor_id rank, nanoseconds at);
    void answer(actor_id rank, nanoseconds at);
    void work(actor_id rank, range chunk, nanoseconds at);
    void leave(actor_id rank, nanoseconds at);
    void share(nanoseconds at);
    void record_speeds(nanoseconds begin, nanoseconds end);
    [[nodiscard]] nanoseconds serial_part() const;
    [[nodiscard]] nanoseconds fork_join(int members) const;
    [[nodiscard]] nanoseconds duration(actor_id rank) const;
    [[nodiscard]] std::int64_t spinning(const member& one) const {
        return kind(one).spinning_milliwatts(one.hertz) / sharers_[static_cast<std::size_t>(one.where.core)];
    }
    [[nodiscard]] std::int64_t busy(const member& one) const {
        return kind(one).active_milliwatts(one.hertz) / sharers_[static_cast<std::size_t>(one.where.core)];
    }

    const machine& machine_;
    loop_request asked_;
    std::vector<member> members_;
    std::vector<flow> flows_;
    std::vector<int> sharers_;  // members by core
    std::vector<int> active_on_core_;
    event_queue events_;
    ledger accounts_;
    worksharing sharing_;
    task_queues tasks_;
    contended_line counter_;
    std::vector<contended_line> result_lines_;
    std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
    std::vector<actor_id> ranks_;  // taking part in this loop, by position
    std::vector<int> position_;    // of a member among them
    std::vector<double> speeds_;
    adaptive_plan plan_;
    finish_tree ends_;  // of the shares in words_
    std::unique_ptr<detail::loop_model> model_;
    nanoseconds steal_cost_ = 0;
    std::int64_t steals_ = 0;
    int running_ = 0;
    int changed_ = 0;
    bool full_ = false;  // a bus was, when rates were last set
    nanoseconds last_done_ = 0;
    double bytes_from_memory_ = 0;
    double bytes_past_port_ = 0;
    double whole_ = 0;                  // bytes that this loop reads
    double private_room_ = 0;           // of all members' L2 caches
    double anywhere_ = 0;               // the part of the whole that some cache still holds
    nanoseconds iteration_ = 0;         // how long the last one took
    nanoseconds dequeue_beyond_ = 0;    // what a dequeue takes beside the transfers of its line
    nanoseconds counter_transfer_ = 0;  // at most, of the counter's line; 0: the line's own
    index guided_next_ = 0;
};

loop_run::loop_run(const machine& on, const loop_request& asked)
    : machine_(on),
      asked_(asked),
      events_(static_cast<std::size_t>(on.hardware_threads())),
      accounts_(0, 0, false),
      sharing_(on.hardware_threads()),
      tasks_(1) {
    if (asked.size < 1 || asked.size > 2'000'000)
        throw input_error("size " + std::to_string(asked.size) +
                          " is out of range; choose from 1 to 2000000");
    const auto& known = loop_schedules(asked.runtime);
    if (std::find(known.begin(), known.end(), asked.schedule) == known.end()) {
        std::string list;
        for (const auto& one : known) list += (list.empty() ? "" : ", ") + one;
        throw input_error(asked.runtime + " has no schedule '" + asked.schedule + "'; choose from " + list);
    }
    if (asked.chunk < 1) throw input_error("chunk must be at least 1");
    if (asked.wait != "default" && asked.wait != "active" && asked.wait != "passive")
        throw input_error("wait '" + asked.wait + "' is unknown; choose from default, active, passive");
    if (asked.library != "libgomp" && asked.library != "libomp")
        throw input_error("library '" + asked.library + "' is unknown; choose from libgomp, libomp");
    place_members();
    const std::size_t count = members_.size();
    std::int64_t rest = on.uncore_active_milliwatts + on.platform_milliwatts;
    for (const hardware_thread& one : sim::hardware_threads(on)) {
        if (one.thread == 0 && sharers_[static_cast<std::size_t>(one.core)] == 0)
            rest += on.kinds[static_cast<std::size_t>(one.kind)].sleeping_milliwatts();
    }
    accounts_ = ledger(count, rest, asked.timeline);
    tasks_ = task_queues(static_cast<int>(count));
    words_ = std::make_unique<std::atomic<std::uint64_t>[]>(count);
    flows_.resize(count);
    position_.resize(count);
    const auto per_line = static_cast<std::int64_t>(on.line_bytes / element_bytes);
    result_lines_.resize(
        static_cast<std::size_t>((asked.size + per_line - 1) / std::max<std::int64_t>(1, per_line)));
    steal_cost_ = 2 * on.line_transfer;
    if (asked.runtime == "openmp") {
        const nanoseconds measured = asked.library == "libomp" ? on.dequeue_libomp : on.dequeue_openmp;
        if (measured > 0) {
            // Measured beside work: the counter's line comes over, and what else the library looks at.
            counter_transfer_ = std::min(on.line_transfer, measured / 2);
            dequeue_beyond_ = measured - counter_transfer_;
        }
    }
    if (adaptive() || asked.schedule == "weighted") {
        detail::loop_model_options options;
        options.microsecond = 1000;
        for (int width = 1; width < static_cast<int>(count); width *= 2)
            options.widths.push_back({width, static_cast<double>(fork_join(width)), width});
        options.widths.push_back({static_cast<int>(count),
                                  static_cast<double>(fork_join(static_cast<int>(count))),
                                  static_cast<int>(count)});
        model_ = std::make_unique<detail::loop_model>(options);
    }
}

void loop_run::place_members() {
    std::vector<hardware_thread> chosen = select(machine_, asked_.placement);
    if (asked_.runtime == "serial") chosen.resize(1);
    sharers_.assign(static_cast<std::size_t>(machine_.cores()), 0);
    active_on_core_ = sharers_;
    // As places in a list of cores are filled: the threads of one core one after the other.
    std::stable_sort(chosen.begin(), chosen.end(), [](const hardware_thread& a, const hardware_thread& b) {
        return a.core != b.core ? a.core < b.core : a.thread < b.thread;
    });
    for (const hardware_thread& where : chosen) {
        member one;
        one.where = where;
        members_.push_back(one);
        ++sharers_[static_cast<std::size_t>(where.core)];
    }
    set_clocks();
}

// Waiting members spin, so all of the team's cores stay awake and the turbo clock is that of the whole team.
void loop_run::set_clocks() {
    std::vector<int> active(machine_.kinds.size(), 0);
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (i == 0 || members_[i].where.core != members_[i - 1].where.core)
            ++active[static_cast<std::size_t>(members_[i].where.kind)];
    }
    for (member& one : members_)
        one.hertz = kind(one).turbo(active[static_cast<std::size_t>(one.where.kind)]) *
                    kind(one).spread(one.where.core_of_kind);
}

bool loop_run::keeps_places() const {
    // Of two workers of oneTBB the one that steals always finds the other half.
    return asked_.schedule == "static" || asked_.schedule == "static_chunk" ||
           asked_.schedule == "weighted" || asked_.schedule == "adaptive" || asked_.schedule == "pragma" ||
           asked_.schedule == "affinity" || (asked_.runtime == "openmp" && asked_.schedule == "auto") ||
           (tbb() && members_.size() <= 2);
}

// True where each call of the body gets one row.
bool loop_run::single_rows() const {
    return asked_.schedule == "pragma" ||
           (loop_schedule_has_chunk(asked_.runtime, asked_.schedule) && !tbb() && asked_.chunk == 1);
}

// An emulated slow core runs in windows: the rest of each turn a thief has. Full speed in the window.
nanoseconds loop_run::window(const member& one) const {
    const nanoseconds turn = kind(one).stolen_turn;
    return turn - static_cast<nanoseconds>(static_cast<double>(turn) * kind(one).stolen_share + 0.5);
}

// When `work` nanoseconds of its own time are done that the member begins at `at`.
nanoseconds loop_run::finish(const member& one, nanoseconds at, nanoseconds work) const {
    const nanoseconds turn = kind(one).stolen_turn;
    if (turn == 0) return at + work;
    const nanoseconds own = window(one);
    const nanoseconds stolen = turn - own;
    const nanoseconds place = at % turn;
    const nanoseconds begin = at - place;
    // Counted from the window that it is in, or that comes next.
    const nanoseconds done = std::max<nanoseconds>(0, place - stolen) + work;
    const nanoseconds turns = done > own ? (done - 1) / own : 0;
    return begin + turns * turn + stolen + (done - turns * own);
}

// The member's own time from one moment to a later one.
nanoseconds loop_run::served(const member& one, nanoseconds from, nanoseconds to) const {
    const nanoseconds turn = kind(one).stolen_turn;
    if (turn == 0) return to - from;
    const nanoseconds own = window(one);
    const auto until = [&](nanoseconds at) {
        return at / turn * own + std::max<nanoseconds>(0, at % turn - (turn - own));
    };
    return until(to) - until(from);
}

schedule loop_run::schedule_object() const {
    if (asked_.schedule == "static_chunk") return static_chunk{asked_.chunk};
    if (asked_.schedule == "dynamic") return dynamic{asked_.chunk};
    if (asked_.schedule == "guided") return guided{asked_.chunk};
    return static_{};
}

// libgomp hands out remaining / members, where the textbook has half of that; in whole chunks, as the loop
// study's body has it. Source: the rule in the manual's terms, measured chunk sizes.
range loop_run::next_guided_of_libgomp() {
    const index left = asked_.size - guided_next_;
    const index chunks = (left + asked_.chunk - 1) / asked_.chunk;
    const auto members = static_cast<index>(ranks_.size());
    const index taken = std::max<index>(1, (chunks + members - 1) / members) * asked_.chunk;
    const range chunk{guided_next_, std::min(asked_.size, guided_next_ + taken)};
    guided_next_ = chunk.end;
    return chunk;
}

nanoseconds loop_run::transfer(std::int64_t from, actor_id to) const {
    if (from < 0) return machine_.line_transfer;
    const hardware_thread& a = members_[static_cast<std::size_t>(from)].where;
    const hardware_thread& b = members_[to].where;
    if (a.core == b.core) return machine_.line_transfer_siblings;
    const int per_package = std::max(1, machine_.cores() / machine_.packages);
    if (a.core / per_package != b.core / per_package) return machine_.line_transfer_packages;
    if (a.kind != 0 || b.kind != 0) return machine_.line_transfer_slow;
    return machine_.line_transfer;
}

nanoseconds loop_run::fork_join(int members) const {
    nanoseconds cost = machine_.fork_join_openmp;
    if (asked_.runtime == "openmp" && asked_.library == "libomp") cost = machine_.fork_join_libomp;
    if (asked_.runtime == "tautochrone") cost = machine_.fork_join;
    cost = scaled_to(cost, machine_.cost_members, members);
    // The launch wakes all sleepers, a tree of calls deep; the last to arrive wakes the caller.
    if (asked_.wait == "passive" && members > 1)
        cost += (depth_of(members) + 1) * machine_.wake_caller + 2 * machine_.wake_sleeper;
    return cost;
}

nanoseconds loop_run::serial_part() const {
    const core_kind& first = kind(members_[0]);
    const double cycles =
        static_cast<double>(asked_.size) *
        (serial_chains * first.stream_cycles_per_byte * element_bytes +
         std::min(serial_update_cycles, serial_update_bytes * first.stream_cycles_per_byte));
    return static_cast<nanoseconds>(cycles / members_[0].hertz * 1e9 + 0.5);
}

// How many bytes each member reads in a loop: what it read in the last ones, or its share of the whole.
void loop_run::learn_sets() {
    const double row = static_cast<double>(asked_.size) * element_bytes;
    const double whole = row * static_cast<double>(asked_.size);
    std::int64_t done = 0;
    for (const actor_id rank : ranks_) done += members_[rank].rows;
    for (const actor_id rank : ranks_) {
        member& one = members_[rank];
        if (done == 0) {
            one.set = whole / static_cast<double>(ranks_.size());
        } else if (!model_ && !tbb()) {
            one.set = row * static_cast<double>(one.rows);
        } else {
            // Shares that follow speeds that follow shares: a cache remembers more than one loop.
            one.set += set_memory * (row * static_cast<double>(one.rows) - one.set);
        }
    }
}

// Where a member's bytes come from, and so how fast it can be.
//
// Members that keep their places find again in their own L2 what is still there of their share. Members that
// do not find only what chance gives them the same row. What left the L2 is in the shared cache, which holds
// what no L2 holds (or, where it is inclusive, everything again).
void loop_run::set_flow(actor_id rank) {
    member& one = members_[rank];
    const core_kind& own = kind(one);
    // The vector that is multiplied lies beside the rows, and on the first member the solver's four others.
    const double vectors =
        static_cast<double>(asked_.size) * element_bytes * (rank == ranks_.front() ? 1 + solver_vectors : 1);
    const double beside_rows = one.set + vectors;
    // Measured for one core that has its L2 cache for itself.
    double local = own.l2_retention.known() && one.own_cache > 0
                       ? own.l2_retention.at(beside_rows * own.l2_bytes / one.own_cache)
                       : retained(beside_rows, one.own_cache);
    local = std::min(anywhere_, local);
    // Whoever takes what comes has a row again with the chance that its part of all rows gives it.
    if (!keeps_places() && whole_ > 0) local *= one.set / whole_;
    const double on_chip = local < 1 ? (anywhere_ - local) / (1 - local) : 1;
    const double from_memory = (1 - local) * (1 - on_chip);
    const double past_port = 1 - local;
    const auto core = static_cast<std::size_t>(one.where.core);
    const int beside = std::max(1, active_on_core_[core]);
    const double share_of_core = beside > 1 ? own.smt_yield / beside : 1;
    const double cycles = single_rows() ? own.single_row_cycles_per_byte : own.stream_cycles_per_byte;
    const double compute = one.hertz / cycles * share_of_core;
    const double sharers = static_cast<double>(sharers_[core]);
    const double l2 = one.hertz * own.l2_bytes_per_cycle / own.l2_shared_by_cores / sharers;
    const auto of_single = [&](double single, double several) {
        return (single_rows() && single > 0 ? std::min(single, several) : several) / sharers;
    };
    const double ring =
        of_single(own.single_row_last_level_bytes_per_second, own.last_level_bytes_per_second);
    double memory = of_single(own.single_row_memory_bytes_per_second, own.memory_bytes_per_second);
    if (own.cluster_memory_bytes_per_second > 0)
        memory = std::min(memory, own.cluster_memory_bytes_per_second / own.l2_shared_by_cores / sharers);
    // The parts come one after the other, each at the pace of its narrowest place.
    const double per_byte = local / std::min(compute, l2) +
                            (past_port - from_memory) / std::min(compute, ring) +
                            from_memory / std::min({compute, ring, memory});
    flow& mine = flows_[rank];
    mine.limit = 1 / per_byte;
    mine.weight = own.outstanding_lines * one.hertz / own.turbo(1) / sharers;
    mine.last_level = past_port;
    mine.memory = from_memory;
}

void loop_run::begin_adaptive() {
    const auto order = model_->order();
    const int width = adaptive() ? model_->width() : static_cast<int>(members_.size());
    ranks_.clear();
    for (int i = 0; i < width; ++i)
        ranks_.push_back(adaptive() ? static_cast<actor_id>(order[static_cast<std::size_t>(i)])
                                    : static_cast<actor_id>(i));
    speeds_.clear();
    for (const actor_id rank : ranks_) speeds_.push_back(model_->share_speeds()[rank]);
    if (!adaptive()) return sharing_.reset(weighted{}, asked_.size, speeds_);
    plan_ = {.n = asked_.size,
             .unit_shift = unit_shift_for(asked_.size),
             .members = width,
             .grain = 1,
             .divisor = 4,
             .speeds = speeds_.data()};
    const double per_iteration = model_->ticks_per_iteration();
    const double rows = static_cast<double>(asked_.size);
    const double grain =
        per_iteration > 0 ? static_cast<double>(steal_cost_) / per_iteration : rows / (64.0 * width);
    plan_.grain = static_cast<std::uint32_t>(std::clamp(grain, 1.0, 1e9));
    const bool steal = per_iteration <= 0 || rows * per_iteration > 16'000;
    plan_.divisor = !steal ? 1 : model_->speeds_known() ? 2 : 4;
    std::vector<index> bounds(ranks_.size() + 1);
    weighted_bounds(asked_.size, speeds_, bounds);
    for (std::size_t p = 0; p < ranks_.size(); ++p)
        words_[p].store(detail::pack_share(static_cast<std::uint32_t>(bounds[p] >> plan_.unit_shift),
                                           p + 1 == ranks_.size() ? plan_.units()
                                                                  : static_cast<std::uint32_t>(
                                                                        bounds[p + 1] >> plan_.unit_shift)),
                        std::memory_order_relaxed);
    ends_.reset(width);
    for (int p = 0; p < width; ++p) note_end(p);
}

// Keeps in step with the share of a member what last_to_finish would read there.
void loop_run::note_end(int position) {
    const auto left =
        detail::share_size(words_[static_cast<std::size_t>(position)].load(std::memory_order_relaxed));
    ends_.set(position, static_cast<double>(left) / speeds_[static_cast<std::size_t>(position)]);
}

void loop_run::begin_loop(nanoseconds at) {
    if (model_) {
        begin_adaptive();
    } else {
        if (ranks_.empty()) {
            for (std::size_t i = 0; i < members_.size(); ++i) ranks_.push_back(static_cast<actor_id>(i));
            speeds_.assign(ranks_.size(), 1.0);
        }
        sharing_.reset(schedule_object(), asked_.size, speeds_);
        guided_next_ = 0;
        if (tbb())
            tasks_.reset(asked_.size, asked_.chunk,
                         asked_.schedule == "simple" ? task_queues::whole_depth : task_queues::initial_depth);
    }
    learn_sets();
    steals_ = 0;
    bytes_from_memory_ = bytes_past_port_ = 0;
    counter_.forget();
    for (contended_line& line : result_lines_) line.forget();
    std::fill(active_on_core_.begin(), active_on_core_.end(), 0);
    std::vector<int> on_l2;
    for (const actor_id rank : ranks_) {
        const auto cluster = static_cast<std::size_t>(members_[rank].where.cluster);
        if (on_l2.size() <= cluster) on_l2.resize(cluster + 1, 0);
        ++on_l2[cluster];
        ++active_on_core_[static_cast<std::size_t>(members_[rank].where.core)];
    }
    for (const actor_id rank : ranks_) {
        member& one = members_[rank];
        one.own_cache = kind(one).l2_bytes / on_l2[static_cast<std::size_t>(one.where.cluster)];
    }
    whole_ = private_room_ = 0;
    for (const actor_id rank : ranks_) {
        const member& one = members_[rank];
        whole_ += one.set;
        private_room_ += one.own_cache;
    }
    // What leaves an L2 goes into the shared cache where that is not inclusive: together they are one room.
    const double room = machine_.last_level_inclusive ? std::max(machine_.last_level_bytes, private_room_)
                                                      : machine_.last_level_bytes + private_room_;
    // Since a row was read last, all others were, and what the machine's other guests read.
    const double since = whole_ + machine_.foreign_bytes_per_second * static_cast<double>(iteration_) * 1e-9;
    anywhere_ = machine_.last_level_retention.known() ? machine_.last_level_retention.at(since)
                                                      : retained(since, room);
    // Members of one kind and share are alike: look each sort of member up once.
    for (std::size_t p = 0; p < ranks_.size(); ++p) {
        member& one = members_[ranks_[p]];
        if (p > 0) {
            const member& before = members_[ranks_[p - 1]];
            if (before.where.kind == one.where.kind && before.set == one.set &&
                before.own_cache == one.own_cache && before.hertz == one.hertz &&
                sharers_[static_cast<std::size_t>(before.where.core)] ==
                    sharers_[static_cast<std::size_t>(one.where.core)]) {
                flows_[ranks_[p]] = flows_[ranks_[p - 1]];
                continue;
            }
        }
        set_flow(ranks_[p]);
    }
    running_ = static_cast<int>(ranks_.size());
    for (std::size_t p = 0; p < ranks_.size(); ++p) {
        member& one = members_[ranks_[p]];
        position_[ranks_[p]] = static_cast<int>(p);
        one.rows = 0;
        one.chunk = {};
        one.now = phase::asking;
    }
    share(at);
    // The workers that libgomp's caller releases are at their first guided chunk before it (19,966 of 20,000
    // loops of two threads, AMD EPYC): on unequal cores the first chunk decides.
    const bool caller_is_last = asked_.runtime == "openmp" && asked_.library == "libgomp" &&
                                asked_.schedule == "guided" && ranks_.size() > 1;
    for (const actor_id rank : ranks_) {
        if (rank != ranks_.front() || !caller_is_last) ask(rank, at);
    }
    if (caller_is_last) come_to_ask(ranks_.front(), at + machine_.line_transfer);
}

void loop_run::come_to_ask(actor_id rank, nanoseconds at) {
    members_[rank].now = phase::away;
    events_.schedule(rank, at);
}

// Sets the rates of all that stream, and moves the ends of their chunks.
void loop_run::share(nanoseconds at) {
    std::vector<flow> streaming;
    streaming.reserve(ranks_.size());
    bool slow = false;
    for (const actor_id rank : ranks_) {
        flow one = flows_[rank];
        if (members_[rank].now == phase::done) one.limit = 0;
        // A core that is taken away for a part of each turn takes that much less of a bus.
        const double part = 1 - kind(members_[rank]).stolen_share;
        one.limit *= part;
        one.weight *= part;
        slow = slow || (one.limit > 0 && members_[rank].where.kind != 0);
        streaming.push_back(one);
    }
    const double port = machine_.last_level_bytes_per_second * (slow ? machine_.slow_ring_share : 1.0);
    share_fairly(streaming, port, machine_.memory_bytes_per_second);
    full_ = false;
    changed_ = 0;
    for (std::size_t p = 0; p < ranks_.size(); ++p) {
        const actor_id rank = ranks_[p];
        flow& mine = flows_[rank];
        if (streaming[p].limit <= 0) continue;
        member& one = members_[rank];
        const double rate = streaming[p].rate / (1 - kind(one).stolen_share);
        full_ = full_ || rate < mine.limit;
        if (rate == mine.rate) continue;
        if (one.now == phase::working) {
            one.left -= mine.rate * static_cast<double>(served(one, one.since, at)) * 1e-9;
            if (one.left < 0) one.left = 0;
            one.since = at;
            mine.rate = rate;
            events_.schedule(rank, finish(one, at, duration(rank)));
        } else {
            mine.rate = rate;
        }
    }
}

nanoseconds loop_run::duration(actor_id rank) const {
    return static_cast<nanoseconds>(members_[rank].left / flows_[rank].rate * 1e9 + 0.5);
}

// A member without work goes for some; its event is the moment at which it has the answer.
void loop_run::ask(actor_id rank, nanoseconds at) {
    member& one = members_[rank];
    // Nobody asks while a thief has its core, and nobody waits for it meanwhile.
    if (const nanoseconds back = finish(one, at, 0); back > at) return come_to_ask(rank, back);
    one.now = phase::asking;
    nanoseconds have = at;
    if (from_counter()) {
        // The last store may be on its way to a line of the result that others write as well. A locked
        // instruction waits until it is done; where its own line is fetched meanwhile, for the later of both.
        nanoseconds stored = at;
        if (!one.chunk.empty()) {
            const auto line = static_cast<std::size_t>(
                one.chunk.begin * static_cast<std::int64_t>(element_bytes) / machine_.line_bytes);
            contended_line& result = result_lines_[line];
            stored = result.take(rank, at, transfer(result.owner(), rank));
        }
        nanoseconds over = transfer(counter_.owner(), rank);
        if (counter_transfer_ > 0) over = std::min(over, counter_transfer_);
        const nanoseconds from = machine_.locked_waits_for_stores ? stored : at;
        have = std::max(stored, counter_.take(rank, from, over)) + dequeue_beyond_;
    } else if (tbb()) {
        have += asked_.schedule == "simple" ? machine_.task_overhead : pool_range;
    } else if (adaptive()) {
        have += own_atomic;
    }
    events_.schedule(rank, finish(one, have, 0));
}

void loop_run::answer(actor_id rank, nanoseconds at) {
    range chunk;
    // What it takes to look at the others and to fetch the range comes after it is this member's.
    nanoseconds fetch = 0;
    if (adaptive()) {
        int stolen = 0;
        int victim = position_[rank];
        const auto victim_of = [&](int thief) { return victim = ends_.last_to_finish(thief); };
        const auto share_of = [this](int p) -> auto& {
            return words_[static_cast<std::size_t>(p)];
        };
        chunk = adaptive_next(plan_, share_of, victim_of, position_[rank], stolen);
        note_end(position_[rank]);
        if (victim >= 0) note_end(victim);
        if (stolen > 0) {
            steals_ += stolen;
            fetch = steal_cost_ + machine_.line_transfer * (plan_.members / overlapping_looks);
        }
    } else if (asked_.schedule == "guided" && asked_.runtime == "openmp" && asked_.library == "libgomp") {
        chunk = next_guided_of_libgomp();
    } else if (tbb()) {
        bool stolen = false;
        chunk = tasks_.next(position_[rank], stolen);
        if (stolen) {
            ++steals_;
            fetch = 2 * machine_.line_transfer + machine_.task_overhead;
        }
    } else {
        chunk = sharing_.next(position_[rank]);
    }
    if (chunk.empty()) return leave(rank, at);
    if (fetch == 0) return work(rank, chunk, at);
    members_[rank].now = phase::fetching;
    members_[rank].chunk = chunk;
    events_.schedule(rank, finish(members_[rank], at, fetch));
}

void loop_run::work(actor_id rank, range chunk, nanoseconds at) {
    member& one = members_[rank];
    const double rows = static_cast<double>(chunk.size());
    const double bytes = rows * static_cast<double>(asked_.size) * element_bytes;
    one.chunk = chunk;
    one.rows += chunk.size();
    one.now = phase::working;
    one.since = at;
    // What a row costs besides is counted in bytes at the present rate.
    one.left = bytes + rows * kind(one).row_cycles / one.hertz * flows_[rank].rate;
    bytes_from_memory_ += bytes * flows_[rank].memory;
    bytes_past_port_ += bytes * flows_[rank].last_level;
    accounts_.enter(rank, activity::working, busy(one), at);
    events_.schedule(rank, finish(one, at, duration(rank)));
}

void loop_run::leave(actor_id rank, nanoseconds at) {
    member& one = members_[rank];
    one.now = phase::done;
    one.since = at;
    last_done_ = std::max(last_done_, at);
    accounts_.enter(rank, activity::waiting, spinning(one), at);
    --running_;
    const auto core = static_cast<std::size_t>(one.where.core);
    --active_on_core_[core];
    bool faster = false;
    if (active_on_core_[core] > 0 && kind(one).smt_yield < sharers_[core]) {
        // Members stand by cores, so those of one core are neighbours.
        const auto same_core = [&](std::size_t other) {
            return other < members_.size() && members_[other].where.core == one.where.core;
        };
        std::size_t other = rank;
        while (other > 0 && same_core(other - 1)) --other;
        for (; same_core(other); ++other) {
            if (members_[other].now == phase::done || members_[other].now == phase::absent) continue;
            set_flow(static_cast<actor_id>(other));
            faster = true;
        }
    }
    // With very many members the rates are set anew after each 64th part of them has left: nobody sees the
    // difference.
    if (running_ == 0 || !(full_ || faster)) return;
    if (++changed_ * 64 >= static_cast<int>(ranks_.size())) share(at);
}

void loop_run::step(actor_id rank, nanoseconds at) {
    member& one = members_[rank];
    if (one.now == phase::away) return ask(rank, at);
    if (one.now == phase::asking) return answer(rank, at);
    if (one.now == phase::fetching) return work(rank, one.chunk, at);
    accounts_.enter(rank, activity::waiting, spinning(one), at);
    ask(rank, at);
}

void loop_run::record_speeds(nanoseconds begin, nanoseconds end) {
    for (const actor_id rank : ranks_)
        model_->record_member(static_cast<int>(rank), members_[rank].rows,
                              std::max<nanoseconds>(1, members_[rank].since - begin));
    if (adaptive()) {
        model_->record(asked_.size, end - begin);
    } else {
        model_->record_speeds(end - begin);
    }
}

loop_result loop_run::run() {
    // What others bring depends on how long an iteration takes, and that on what they bring. Where a core has
    // turns, some iterations fall into better parts of them than others: many are needed, and their mean.
    const bool in_turns = std::any_of(members_.begin(), members_.end(),
                                      [this](const member& one) { return kind(one).stolen_turn > 0; });
    const int fixed = model_ || in_turns ? 400 : machine_.foreign_bytes_per_second > 0 ? 21 : 7;
    const int repetitions = asked_.repetitions > 0 ? asked_.repetitions : fixed;
    const nanoseconds long_enough = model_ ? 60'000'000 : 8'000'000;
    constexpr std::int64_t enough_events = 10'000'000;  // where each of very many members has several a loop
    nanoseconds now = 0;
    for (std::size_t i = 0; i < members_.size(); ++i)
        accounts_.enter(static_cast<actor_id>(i), activity::waiting, spinning(members_[i]), 0);
    std::vector<nanoseconds> iterations;
    std::vector<nanoseconds> loops;
    loop_result result;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        const nanoseconds begin = now;
        accounts_.enter(0, activity::working, busy(members_[0]), now);
        now = finish(members_[0], now, serial_part());
        accounts_.enter(0, activity::waiting, spinning(members_[0]), now);
        const nanoseconds launch = now;
        const int width = adaptive() ? model_->width() : static_cast<int>(members_.size());
        const nanoseconds around = fork_join(width);
        last_done_ = 0;
        begin_loop(now + around / 2);
        while (!events_.empty()) {
            const event next = events_.take();
            step(next.actor, next.at);
        }
        now = finish(members_[0], last_done_ + (around - around / 2), 0);
        std::int64_t rows = 0;
        for (const actor_id rank : ranks_) rows += members_[rank].rows;
        if (rows != asked_.size)
            throw std::logic_error("the schedule handed out " + std::to_string(rows) + " of " +
                                   std::to_string(asked_.size) + " rows");
        if (model_) record_speeds(launch, now);
        iteration_ = now - begin;
        iterations.push_back(iteration_);
        loops.push_back(now - launch);
        result.fork_join = around;
        // What is learned settles; a person's run would be longer than this.
        if ((model_ || in_turns) && asked_.repetitions == 0 && repetition >= 20 &&
            (now > long_enough || events_.taken() > enough_events))
            break;
    }
    accounts_.close(now);
    accounts_.check();
    const auto typical = [in_turns](std::vector<nanoseconds> values) {
        const std::size_t from = values.size() / 2;
        if (in_turns) {
            const auto last = values.begin() + static_cast<std::ptrdiff_t>(from);
            return std::accumulate(last, values.end(), nanoseconds{0}) / (values.end() - last);
        }
        std::sort(values.begin() + static_cast<std::ptrdiff_t>(from), values.end());
        return values[from + (values.size() - from) / 2];
    };
    result.joules =
        static_cast<double>(accounts_.total_picojoules()) * 1e-12 / static_cast<double>(iterations.size());
    result.iteration = typical(iterations);
    result.loop = typical(loops);
    result.memory_bytes = bytes_from_memory_;
    result.last_level_bytes = bytes_past_port_;
    const double working = static_cast<double>(accounts_.total(activity::working));
    const double waiting = static_cast<double>(accounts_.total(activity::waiting));
    result.waiting_share = working + waiting > 0 ? waiting / (working + waiting) : 0;
    result.events = events_.taken();
    result.steals = steals_;
    result.members = static_cast<int>(members_.size());
    result.width = static_cast<int>(ranks_.size());
    result.rows.assign(members_.size(), 0);
    for (const actor_id rank : ranks_) result.rows[rank] = members_[rank].rows;
    for (const member& one : members_) result.threads.push_back(one.where);
    result.accounts = std::move(accounts_);
    return result;
}

}  // namespace

const std::vector<std::string>& loop_schedules(const std::string& runtime) {
    static const std::vector<std::string> openmp = {"static", "static_chunk", "dynamic",
                                                    "guided", "auto",         "pragma"};
    static const std::vector<std::string> tbb = {"auto", "static", "simple", "affinity"};
    static const std::vector<std::string> ours = {"adaptive", "static", "static_chunk",
                                                  "dynamic",  "guided", "weighted"};
    static const std::vector<std::string> serial = {"static"};
    if (runtime == "openmp") return openmp;
    if (runtime == "tbb") return tbb;
    if (runtime == "tautochrone") return ours;
    if (runtime == "serial") return serial;
    throw input_error("runtime '" + runtime + "' is unknown; choose from openmp, tbb, tautochrone, serial");
}

bool loop_schedule_has_chunk(const std::string& runtime, const std::string& schedule) {
    return schedule == "dynamic" || schedule == "guided" || schedule == "static_chunk" ||
           (runtime == "openmp" && schedule == "auto") || (runtime == "tbb" && schedule != "static");
}

loop_result simulate_loop(const machine& on, const loop_request& asked) {
    return loop_run(on, asked).run();
}

}  // namespace tauto::sim
