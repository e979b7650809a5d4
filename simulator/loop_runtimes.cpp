#include "loop_runtimes.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <string_view>

#include <tauto/loop_model.hpp>
#include <tauto/schedule.hpp>

#include "collective.hpp"
#include "finish_tree.hpp"
#include "task_queues.hpp"

namespace tauto::sim {

namespace {

// Processes fork nothing: at the end of the loop each gets the others' parts of the result.
nanoseconds gather_of_result(const machine& on, std::int64_t elements, int processes) {
    collective_request gather;
    gather.operation = "all_gather";
    gather.library = "ompi-1.6";
    gather.ranks = processes;
    gather.words = (elements * static_cast<std::int64_t>(element_bytes) + 7) / 8;
    return to_nanoseconds(simulate_collective(on, gather).seconds);
}

}  // namespace

nanoseconds loop_team::fork_join(int width, bool cold) const {
    if (asked->runtime == "mpi") return gather_of_result(*on, asked->size, width);
    nanoseconds cost = cold ? on->fork_join_cold_libgomp : on->fork_join_libgomp;
    if (asked->runtime == "openmp" && asked->library == "libomp")
        cost = cold ? on->fork_join_cold_libomp : on->fork_join_libomp;
    if (asked->runtime == "tautochrone") cost = cold ? on->fork_join_cold : on->fork_join;
    cost = scaled_to(cost, on->cost_members, width);
    // The launch wakes all sleepers by a tree of calls; the last member to arrive wakes the caller.
    if (asked->wait == "passive" && width > 1)
        cost += (depth_of(width) + 1) * on->wake_caller + 2 * on->wake_sleeper;
    return cost;
}

std::vector<actor_id> loop_runtime::begin() {
    std::vector<actor_id> all(team_.members.size());
    std::iota(all.begin(), all.end(), actor_id{0});
    return all;
}

namespace {

// oneTBB: a range of the worker's own pool is halved and its body is called.
constexpr nanoseconds pool_range = 20;

// A schedule without knowledge of speeds. Ranges that are decided beforehand cost nothing to get.
class plain_runtime : public loop_runtime {
  public:
    plain_runtime(const loop_team& team, schedule chosen)
        : loop_runtime(team),
          chosen_(chosen),
          sharing_(static_cast<int>(team.members.size())),
          equal_speeds_(team.members.size(), 1.0) {}

    std::vector<actor_id> begin() override {
        sharing_.reset(chosen_, size(), equal_speeds_);
        return loop_runtime::begin();
    }
    row_grant next(int position, bool /*begun*/) override { return {sharing_.next(position)}; }

  private:
    schedule chosen_;
    worksharing sharing_;
    std::vector<double> equal_speeds_;
};

// A cache line that one member at a time may change. Requests are served in order; each takes the time to
// transfer the line from the previous member.
class contended_line {
  public:
    // The time at which the member has it, if it asks at `at`.
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

// Chunks from one counter that all members change.
class counter_runtime : public plain_runtime {
  public:
    counter_runtime(const loop_team& team, schedule chosen)
        : plain_runtime(team, chosen), result_lines_(lines_of_result()) {
        if (team.asked->runtime != "openmp") return;
        const nanoseconds measured =
            team.asked->library == "libomp" ? on().dequeue_libomp : on().dequeue_libgomp;
        if (measured == 0) return;
        // Measured during work: the transfer of the counter's line, and the other data that the library
        // reads.
        longest_transfer_ = std::min(on().line_transfer, measured / 2);
        dequeue_beyond_ = measured - longest_transfer_;
    }

    std::vector<actor_id> begin() override {
        counter_.forget();
        for (contended_line& line : result_lines_) line.forget();
        return plain_runtime::begin();
    }

    nanoseconds ask(actor_id member, range done, nanoseconds at) override {
        // The last store may still be under way to a line of the result that others also write. A locked
        // instruction waits for the store; on some machines its own line is fetched meanwhile, and it waits
        // for the later of both.
        nanoseconds stored = at;
        if (!done.empty()) {
            contended_line& result = result_lines_[done.begin * element_size / on().line_bytes];
            stored = result.take(member, at, transfer(result.owner(), member));
        }
        nanoseconds over = transfer(counter_.owner(), member);
        if (longest_transfer_ > 0) over = std::min(over, longest_transfer_);
        const nanoseconds from = on().locked_waits_for_stores ? stored : at;
        return std::max(stored, counter_.take(member, from, over)) + dequeue_beyond_;
    }

  private:
    static constexpr std::int64_t element_size = static_cast<std::int64_t>(element_bytes);

    [[nodiscard]] std::size_t lines_of_result() const {
        const std::int64_t per_line = on().line_bytes / element_size;
        return static_cast<std::size_t>((size() + per_line - 1) / std::max<std::int64_t>(1, per_line));
    }
    // The transfer of a line from its owner; at first it has none.
    [[nodiscard]] nanoseconds transfer(std::int64_t owner, actor_id to) const {
        if (owner < 0) return on().line_transfer;
        return on().transfer(team_.members[static_cast<std::size_t>(owner)].where, team_.members[to].where);
    }

    contended_line counter_;
    std::vector<contended_line> result_lines_;
    nanoseconds dequeue_beyond_ = 0;    // time of a dequeue besides the transfers of its line
    nanoseconds longest_transfer_ = 0;  // of the counter's line; 0: the line's own
};

// libgomp hands out remaining / members; the textbook rule is half of that. Whole chunks, as in the loop
// study's body. Source: the manual's rule and measured chunk sizes.
//
// The released workers get their first chunk before the caller (in 19,966 of 20,000 loops of two threads, AMD
// EPYC). On unequal cores the first chunk decides the time.
class libgomp_guided final : public counter_runtime {
  public:
    explicit libgomp_guided(const loop_team& team) : counter_runtime(team, guided{team.asked->chunk}) {}

    std::vector<actor_id> begin() override {
        given_ = 0;
        return counter_runtime::begin();
    }
    row_grant next(int /*position*/, bool /*begun*/) override {
        const index chunk = team_.asked->chunk;
        const auto members = static_cast<index>(team_.members.size());
        const index chunks = (size() - given_ + chunk - 1) / chunk;
        const index taken = std::max<index>(1, (chunks + members - 1) / members) * chunk;
        const range rows{given_, std::min(size(), given_ + taken)};
        given_ = rows.end;
        return {rows};
    }
    bool caller_asks_last() const override { return team_.members.size() > 1; }

  private:
    index given_ = 0;
};

// oneTBB: ranges are halved, and stolen from a random member.
class tbb_runtime final : public loop_runtime {
  public:
    tbb_runtime(const loop_team& team, int halvings, nanoseconds ask)
        : loop_runtime(team), tasks_(static_cast<int>(team.members.size())), halvings_(halvings), ask_(ask) {}

    std::vector<actor_id> begin() override {
        tasks_.reset(size(), team_.asked->chunk, halvings_);
        steals_ = 0;
        return loop_runtime::begin();
    }
    nanoseconds ask(actor_id /*member*/, range /*done*/, nanoseconds at) override { return at + ask_; }
    row_grant next(int position, bool /*begun*/) override {
        bool stolen = false;
        const range rows = tasks_.next(position, stolen);
        if (!stolen) return {rows};
        ++steals_;
        return {rows, 2 * on().line_transfer + on().task_overhead};
    }
    std::int64_t steals() const override { return steals_; }

  private:
    task_queues tasks_;
    int halvings_;
    nanoseconds ask_;
    std::int64_t steals_ = 0;
};

// tautochrone's schedules that learn the members' speeds.
class learning_runtime : public loop_runtime {
  public:
    explicit learning_runtime(const loop_team& team) : loop_runtime(team), model_(options(team)) {}

    bool learns() const override { return true; }

  protected:
    void record_members(std::span<const actor_id> took_part, std::span<const loop_progress> all,
                        nanoseconds launch, bool own_starts) {
        for (const actor_id member : took_part) {
            const loop_progress& one = all[member];
            const nanoseconds start = own_starts && one.rows > 0 ? one.began - launch : 0;
            model_.record_member(static_cast<int>(member), one.rows,
                                 std::max<nanoseconds>(1, one.ended - launch), start);
        }
    }

    detail::loop_model model_;

  private:
    static detail::loop_model_options options(const loop_team& team) {
        const auto all = static_cast<int>(team.members.size());
        detail::loop_model_options options;
        options.microsecond = 1000;
        const auto add = [&](int width) {
            options.widths.push_back({width, static_cast<double>(team.fork_join(width))});
        };
        for (int width = 1; width < all; width *= 2) add(width);
        add(all);
        return options;
    }
};

class weighted_runtime final : public learning_runtime {
  public:
    explicit weighted_runtime(const loop_team& team)
        : learning_runtime(team), sharing_(static_cast<int>(team.members.size())) {}

    std::vector<actor_id> begin() override {
        sharing_.reset(weighted{}, size(), model_.share_speeds());
        return loop_runtime::begin();
    }
    row_grant next(int position, bool /*begun*/) override { return {sharing_.next(position)}; }
    void learn(std::span<const actor_id> took_part, std::span<const loop_progress> all, nanoseconds launch,
               nanoseconds end) override {
        record_members(took_part, all, launch, false);
        model_.record_speeds(end - launch);
    }

  private:
    worksharing sharing_;
};

// The real runtime's plan and steps, in virtual time.
class adaptive_runtime final : public learning_runtime {
  public:
    explicit adaptive_runtime(const loop_team& team)
        : learning_runtime(team),
          words_(std::make_unique<std::atomic<std::uint64_t>[]>(team.members.size())),
          asked_(team.members.size(), 0) {}

    int width() override {
        // A loop that is known to be too short to fork is rarely timed; a simulated one never grows longer.
        timed_ = !model_.take_inline_call([] { return std::int64_t{0}; });
        return model_.width();
    }
    std::vector<actor_id> begin() override {
        steals_ = 0;
        left_early_ = false;
        loop_.make(model_, size());
        deal_shares(
            loop_.plan(), loop_.bounds(), [this](int position) -> auto& { return word(position); });
        ends_.reset(model_.width());
        for (int position = 0; position < model_.width(); ++position) note_end(position);
        const auto order = model_.order();
        return {order.begin(), order.begin() + model_.width()};
    }
    nanoseconds ask(actor_id member, range done, nanoseconds at) override {
        if (alone()) return at;
        if (!done.empty() && loop_.rights(0).timed)
            model_.record_chunk(static_cast<int>(member), size(), done,
                                std::max<nanoseconds>(1, at - asked_[member]));
        const bool ordered = loop_.plan().order != nullptr;  // then all take from one share
        return asked_[member] = at + (ordered ? on().line_transfer : own_atomic);
    }
    row_grant next(int position, bool begun) override {
        // Alone, the caller runs the whole loop at once.
        if (alone()) return {begun ? range{} : range{0, size()}};
        int victim = position;
        const auto victim_of = [&](int thief) { return victim = ends_.last_to_finish(thief); };
        const auto share_of = [this](int p) -> auto& {
            return word(p);
        };
        int steals = 0;
        bool left_early = false;
        const range rows = member_next(loop_.plan(), loop_.rights(position), word(position), share_of,
                                       victim_of, position, begun, steals, left_early);
        note_end(position);
        if (victim >= 0) note_end(victim);
        if (left_early) ++early_ends_;
        left_early_ = left_early_ || left_early;
        steals_ += steals;
        if (steals == 0) return {rows};
        return {rows, on().line_transfer * (2 + loop_.plan().members / overlapping_transfers)};
    }
    std::vector<range> left_behind() override {
        std::vector<range> rest;
        for (int position = 0; left_early_ && position < loop_.plan().members; ++position) {
            for_each_left(loop_.plan(), word(position).load(std::memory_order_relaxed), [&](range left) {
                rest.push_back(left);
                return true;
            });
        }
        return rest;
    }
    void learn(std::span<const actor_id> took_part, std::span<const loop_progress> all, nanoseconds launch,
               nanoseconds end) override {
        if (!timed_) return;
        if (!alone()) record_members(took_part, all, launch, true);
        model_.record(size(), end - launch);
    }
    std::int64_t steals() const override { return steals_; }
    std::int64_t early_ends() const override { return early_ends_; }

  private:
    [[nodiscard]] bool alone() const { return loop_.plan().members == 1; }
    [[nodiscard]] std::atomic<std::uint64_t>& word(int position) const { return words_[position]; }
    // Updates the value that last_to_finish would read for this member.
    void note_end(int position) {
        const auto left = detail::share_size(word(position).load(std::memory_order_relaxed));
        ends_.set(position, left / loop_.speeds()[position]);
    }

    std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
    std::vector<nanoseconds> asked_;  // when each member began its last chunk
    detail::adaptive_loop loop_;
    finish_tree ends_;  // of the shares in words_
    bool timed_ = true;
    bool left_early_ = false;  // a member, in this loop
    std::int64_t steals_ = 0;
    std::int64_t early_ends_ = 0;
};

using made = std::unique_ptr<loop_runtime>;

template <class Runtime>
made make(const loop_team& team) {
    return std::make_unique<Runtime>(team);
}
// A schedule of schedule.hpp, with the request's chunk if it takes one.
template <class Runtime, class Schedule>
made make(const loop_team& team) {
    Schedule chosen;
    if constexpr (requires { chosen.chunk; }) chosen.chunk = team.asked->chunk;
    return std::make_unique<Runtime>(team, chosen);
}
made make_openmp_guided(const loop_team& team) {
    return team.asked->library == "libomp" ? make<counter_runtime, guided>(team) : make<libgomp_guided>(team);
}
made make_halving_tbb(const loop_team& team) {
    return std::make_unique<tbb_runtime>(team, task_queues::initial_depth, pool_range);
}
made make_simple_tbb(const loop_team& team) {
    return std::make_unique<tbb_runtime>(team, task_queues::whole_depth, team.on->task_overhead);
}

// Whether a member has the same rows in each loop. With two oneTBB workers the thief always gets the other
// half.
enum class places : std::uint8_t { kept, kept_by_two, by_chance };
// The rows in a call of the body; as_chunk: one if the chunk is 1.
enum class rows_a_call : std::uint8_t { several, one, as_chunk };

struct way {
    std::string_view runtime;
    std::string_view schedule;
    bool chunked;
    places found;
    rows_a_call rows;
    bool settles;  // a member's share changes from loop to loop
    made (*make)(const loop_team&);
};

constexpr auto kept = places::kept;
constexpr auto by_chance = places::by_chance;
constexpr auto several = rows_a_call::several;
constexpr auto as_chunk = rows_a_call::as_chunk;
constexpr std::array ways = {
    way{"openmp", "static", false, kept, several, false, make<plain_runtime, static_>},
    way{"openmp", "static_chunk", true, kept, as_chunk, false, make<plain_runtime, static_chunk>},
    way{"openmp", "dynamic", true, by_chance, as_chunk, false, make<counter_runtime, dynamic>},
    way{"openmp", "guided", true, by_chance, as_chunk, false, make_openmp_guided},
    way{"openmp", "auto", true, kept, as_chunk, false, make<plain_runtime, static_>},
    way{"openmp", "pragma", false, kept, rows_a_call::one, false, make<plain_runtime, static_>},
    way{"tbb", "auto", true, places::kept_by_two, several, true, make_halving_tbb},
    way{"tbb", "static", false, kept, several, false, make<plain_runtime, static_>},
    way{"tbb", "simple", true, places::kept_by_two, several, true, make_simple_tbb},
    way{"tbb", "affinity", true, kept, several, true, make_halving_tbb},
    way{"tautochrone", "adaptive", false, kept, several, true, make<adaptive_runtime>},
    way{"tautochrone", "static", false, kept, several, false, make<plain_runtime, static_>},
    way{"tautochrone", "static_chunk", true, kept, as_chunk, false, make<plain_runtime, static_chunk>},
    way{"tautochrone", "dynamic", true, by_chance, as_chunk, false, make<counter_runtime, dynamic>},
    way{"tautochrone", "guided", true, by_chance, as_chunk, false, make<counter_runtime, guided>},
    way{"tautochrone", "weighted", false, kept, several, true, make<weighted_runtime>},
    way{"mpi", "static", false, kept, several, false, make<plain_runtime, static_>},
    way{"serial", "static", false, kept, several, false, make<plain_runtime, static_>},
};

const way* find_way(std::string_view runtime, std::string_view schedule) {
    const auto found = std::find_if(ways.begin(), ways.end(), [&](const way& one) {
        return one.runtime == runtime && one.schedule == schedule;
    });
    return found == ways.end() ? nullptr : found;
}

const way& way_of(const loop_request& asked) {
    const std::vector<std::string> schedules = loop_schedules(asked.runtime);
    if (const way* found = find_way(asked.runtime, asked.schedule)) return *found;
    std::string list;
    for (const std::string& schedule : schedules) list += (list.empty() ? "" : ", ") + schedule;
    throw input_error(asked.runtime + " has no schedule '" + asked.schedule + "'; choose from " + list);
}

}  // namespace

std::vector<std::string> loop_schedules(const std::string& runtime) {
    std::vector<std::string> schedules;
    for (const way& one : ways) {
        if (one.runtime == runtime) schedules.emplace_back(one.schedule);
    }
    if (schedules.empty())
        throw input_error("runtime '" + runtime +
                          "' is unknown; choose from openmp, tbb, tautochrone, mpi, serial");
    return schedules;
}

bool loop_schedule_has_chunk(const std::string& runtime, const std::string& schedule) {
    const way* found = find_way(runtime, schedule);
    return found != nullptr && found->chunked;
}

std::unique_ptr<loop_runtime> make_runtime(const loop_team& team) {
    return way_of(*team.asked).make(team);
}

reading_habits habits_of(const loop_request& asked, std::size_t members) {
    const way& chosen = way_of(asked);
    return {
        .keeps_places = chosen.found == places::kept || (chosen.found == places::kept_by_two && members <= 2),
        .single_rows =
            chosen.rows == rows_a_call::one || (chosen.rows == rows_a_call::as_chunk && asked.chunk == 1),
        .settles = chosen.settles,
        .chain = asked.kernel == "published"};
}

}  // namespace tauto::sim
