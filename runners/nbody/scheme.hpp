#pragma once
// The N-body step shared among members, written once against tauto::spmd_member. Every member has all
// particles; a block ends with the same bits on each of them. A block has one collective, and no part that
// one member does while the others wait. (The exception: where sharing does not pay. auto finds that out with
// one more collective every few blocks.)
//
//   serial      every member does everything; nothing is exchanged
//   by targets  ("i") each predicts all and moves its share of the targets; all_gather of their new state
//   by sources  ("j") each predicts and sums its slice of the sources; all_reduce of the forces; every member
//               corrects all targets
//   grid        ("AxB") group r mod A of the targets, slice r div A of the sources; all_gather of the partial
//               forces, which every member adds in the order of the slices
//
// Any of the last three may be run by the members of the lowest ranks alone, as many as the scheme is wide.
// The others have no targets and no sources: they only join the collective and do what all members do.
//
// By targets has the bits of the serial run for any number of members. By sources and grid have the bits of
// each other for the same number of slices.
//
// The one-dimensional schemes and the grid: S. F. Portegies Zwart et al., New Astronomy 13 (2008) 285;
// K. Nitadori, J. Makino, G. Abe, astro-ph/0606105.

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include <tauto/member.hpp>

#include "kernels/nbody/block_times.hpp"
#include "kernels/nbody/hermite.hpp"
#include "runners/nbody/clock.hpp"
#include "runners/nbody/cost.hpp"
#include "runners/nbody/share.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/timing.hpp"

namespace tauto::runner {

/// One block as rank 0 saw it. Times in ticks of its clock.
struct block_record {
    double time;
    std::size_t active;
    scheme how;
    double predicted_seconds;  ///< 0 where nothing was predicted
    std::int64_t ticks;
    std::int64_t collective_ticks;
};

template <spmd_member Member, class Clock = machine_clock>
class block_stepper {
  public:
    using hermite = kernels::nbody::hermite;

    /// All must outlive it. All members give the same system.
    block_stepper(Member& me, hermite& system, Clock& clock)
        : me_{me},
          system_{system},
          clock_{clock},
          times_{system},
          targets_{system},
          part_(system.changed_columns() * system.size()),
          bounds_(usize(me.size()) + 1) {
        make_room_for(scheme{});
    }

    /// Forces and first steps of all particles, shared by targets.
    void start() {
        std::vector<std::size_t> everyone(system_.size());
        std::iota(everyone.begin(), everyone.end(), std::size_t{0});
        const double time = system_.time();
        // The snap needs the accelerations of the sources, so they are summed first.
        for (int pass = system_.order() == 4 ? 1 : 0; pass < 2; ++pass)
            by_targets(me_.size(), time, everyone, [&] { targets_.accept_forces(); });
        system_.choose_first_steps();
        times_.read_all();
    }

    /// Always this scheme.
    void use(const scheme& which) {
        fixed_ = which;
        make_room_for(which);
    }
    /// For each block the one that costs least by the model fitted here. All members must call it.
    void use_cheapest() {
        for (const scheme& which : schemes_for(me_.size())) make_room_for(which);
        use_cheapest(fitted());
    }
    /// The same by another model, which all members give.
    void use_cheapest(cost_model model) {
        fixed_.reset();
        model_ = std::move(model);
        const auto candidates = schemes_for(me_.size(), model_.paces);
        for (const scheme& which : candidates) make_room_for(which);
        table_.emplace(model_, candidates);
    }
    const cost_model& model() const { return model_; }
    /// Predictions for a fixed scheme as well. All members must call it.
    void predict_costs() { predict_costs(fitted()); }
    /// The same by another model, which all members give.
    void predict_costs(cost_model model) { model_ = std::move(model); }

    /// Runs one block.
    block_record step() { return step_with(fixed_); }

    std::int64_t blocks() const { return blocks_; }

    /// Runs blocks until is_over(time, blocks), with the cheapest scheme alone where sharing does not pay as
    /// predicted. Rank 0 has all records.
    template <class IsOver>
    void run(std::vector<block_record>& records, IsOver&& is_over) {
        do {
            records.push_back(step());
            if (fixed_ || records.back().how == scheme{}) continue;
            const auto active = as_double(records.back().active);
            watch_.add(as_double(records.back().ticks) * seconds_of_a_tick(), model_.predicted_alone(active));
            if (!watch_.due()) continue;
            std::int64_t alone = 0;
            in_last_block(records, [&] { alone = watch_.judge(me_.all_reduce(watch_.ratio(), larger{})); });
            if (alone > 0 && !is_over(system_.time(), blocks_)) run_alone(records, alone, is_over);
        } while (!is_over(system_.time(), blocks_));
    }

    /// Rank 0 runs up to `count` blocks, the others wait and take its particles over.
    template <class IsOver>
    void run_alone(std::vector<block_record>& records, std::int64_t count, IsOver&& is_over) {
        std::array<double, 2> reached{};
        if (me_.rank() == 0) {
            for (const std::int64_t end = blocks_ + count; blocks_ < end;) {
                records.push_back(step_with(scheme{}));
                if (model_.particles > 0.0)
                    records.back().predicted_seconds =
                        model_.predicted_alone(count_of(records.back().active));
                if (is_over(system_.time(), blocks_)) break;
            }
            reached = {system_.time(), as_double(blocks_)};
        }
        in_last_block(records, [&] {
            me_.broadcast(std::span<double>{reached}, 0);
            me_.broadcast(system_.bodies().state().storage(), 0);
            system_.end_block(reached[0]);
            times_.read_all();
        });
        blocks_ = static_cast<std::int64_t>(reached[1]);
    }

  private:
    using indices = std::span<const std::size_t>;

    // What is done between two blocks is part of the first one's time.
    template <class Work>
    void in_last_block(std::vector<block_record>& records, Work&& work) {
        const std::int64_t begin = clock_.ticks();
        work();
        const std::int64_t ticks = clock_.ticks() - begin;
        records.back().ticks += ticks;
        records.back().collective_ticks += ticks;
    }

    block_record step_with(const std::optional<scheme>& given) {
        const std::int64_t begin = clock_.ticks();
        collective_ticks_ = 0;
        const double time = times_.next_time();
        const auto active = due(time);
        scheme how;
        double predicted = 0.0;
        if (given) {
            how = *given;
            if (model_.particles > 0.0) predicted = model_.predicted(how, as_double(active.size()));
        } else {
            const auto& choice = table_->of(active.size());
            how = choice.which;
            predicted = choice.predicted_seconds;
        }
        share(how, time, active);
        times_.moved(active, time);
        system_.end_block(time);
        clock_.spend({.blocks = 1.0});
        ++blocks_;
        return {time, active.size(), how, predicted, clock_.ticks() - begin, collective_ticks_};
    }

    // For what its collective gathers.
    void make_room_for(const scheme& which) {
        const std::size_t slices = which.how == sharing::grid ? usize(which.slices) : 1;
        const std::size_t words =
            std::max(system_.changed_columns(), system_.force_columns() * slices) * system_.size();
        if (words > whole_.size()) whole_.resize(words);
    }

    void share(const scheme& how, double time, indices active) {
        switch (how.how) {
            case sharing::targets:
                by_targets(how.width(), time, active, [&] { targets_.correct(time); });
                return;
            case sharing::sources:
                by_sources(how.width(), time, active);
                return;
            case sharing::grid:
                by_both(how, time, active);
                return;
            default:
                sum_slice({0, std::ssize(system_)}, time, active);
                correct_all(time);
        }
    }

    // The parts of a block, each with what it costs in the time of the clock.
    indices due(double time) {
        const auto active = times_.due(time, due_);
        clock_.spend({.scanned = count_of(system_.size())});
        return active;
    }
    void predict(double time, std::size_t first, std::size_t last) {
        system_.predict_sources(time, first, last);
        clock_.spend({.sources = count_of(last - first)});
    }
    void take(double time, indices which) {
        targets_.take(time, which);
        clock_.spend({.targets = count_of(which.size())});
    }
    void sum_forces(std::size_t first, std::size_t last) {
        targets_.sum_forces(first, last);
        const double targets = count_of(targets_.size());
        clock_.spend({.pairs = targets * count_of(last - first), .summed_targets = targets});
    }
    void correct_all(double time) {
        targets_.correct(time);
        targets_.put(time, system_);
        clock_.spend({.puts = count_of(targets_.size())});
    }
    static double count_of(std::size_t things) { return as_double(things); }

    template <class Collective>
    void timed(Collective&& collective) {
        const std::int64_t begin = clock_.ticks();
        collective();
        collective_ticks_ += clock_.ticks() - begin;
    }

    // Over all members, each of which does some of the additions.
    void add_up(std::span<double> data) {
        if constexpr (Clock::is_exact) {
            std::size_t added = 0;
            me_.all_reduce(data, [&](double a, double b) {
                ++added;
                return a + b;
            });
            clock_.spend({.words = count_of(added)});
        } else {
            me_.all_reduce(data, std::plus<>{});
        }
    }

    // part_ of rank r to whole_[bounds_[r], bounds_[r + 1]).
    void gather(std::size_t mine) {
        const std::span<const double> part{part_.data(), mine};
        const std::span<double> whole{whole_.data(), usize(bounds_.back())};
        timed([&] { me_.all_gather(part, whole, std::span<const index>{bounds_}); });
    }

    template <class Finish>
    void by_targets(int width, double time, indices active, Finish&& finish) {
        const auto share = [&](int rank) { return share_among_first(active.size(), width, rank); };
        const range mine = share(me_.rank());
        const auto count = usize(mine.size());
        const std::size_t columns = system_.changed_columns();
        if (count > 0) predict(time, 0, system_.size());
        take(time, active.subspan(usize(mine.begin), count));
        sum_forces(0, system_.size());
        finish();
        for (std::size_t c = 0; c < columns; ++c)
            std::ranges::copy(targets_.packed(kernels::nbody::step_of + c), part_.data() + c * count);
        for (int r = 0; r <= me_.size(); ++r) at(bounds_, r) = static_cast<index>(columns) * share(r).begin;
        gather(columns * count);
        for (int r = 0; r < width; ++r) {
            const range theirs = share(r);
            const auto length = usize(theirs.size());
            const auto from = usize(at(bounds_, r));
            system_.put(time, active.subspan(usize(theirs.begin), length),
                        {whole_.data() + from, columns * length});
        }
        clock_.spend({.puts = count_of(active.size())});
    }

    void by_sources(int width, double time, indices active) {
        if (has_work(width)) {
            sum_slice(slice_of(system_.size(), width, me_.rank()), time, active);
        } else {
            take(time, active);
            // x + -0 is x, whatever x is; -0 + 0 is not -0.
            std::ranges::fill(targets_.forces(), -0.0);
        }
        timed([&] { add_up(targets_.forces()); });
        correct_all(time);
    }

    void by_both(const scheme& how, double time, indices active) {
        const auto share = [&](int rank) {
            return rank < how.width() ? share_of(active.size(), how.groups, rank % how.groups) : range{};
        };
        const auto columns = static_cast<index>(system_.force_columns());
        const range mine = share(me_.rank());
        if (has_work(how.width())) {
            sum_slice(slice_of(system_.size(), how.slices, me_.rank() / how.groups), time,
                      active.subspan(usize(mine.begin), usize(mine.size())));
            std::ranges::copy(targets_.forces(), part_.begin());
        }
        for (int r = 0; r < me_.size(); ++r)
            bounds_[usize(r) + 1] = at(bounds_, r) + columns * share(r).size();
        gather(usize(columns * mine.size()));
        take(time, active);
        add_parts(how, active.size());
        clock_.spend({.words = count_of(targets_.forces().size()) * (how.slices - 1)});
        correct_all(time);
    }

    // The forces of each group from its slices, in their order.
    void add_parts(const scheme& how, std::size_t targets) {
        const auto total = targets_.forces();
        for (int group = 0; group < how.groups; ++group) {
            const range theirs = share_of(targets, how.groups, group);
            const auto count = usize(theirs.size());
            for (std::size_t c = 0; c < system_.force_columns(); ++c) {
                double* const sum = total.data() + c * targets + usize(theirs.begin);
                for (int slice = 0; slice < how.slices; ++slice) {
                    const auto rank = usize(group + slice * how.groups);
                    const double* const part = whole_.data() + usize(bounds_[rank]) + c * count;
                    for (std::size_t k = 0; k < count; ++k) sum[k] = slice == 0 ? part[k] : sum[k] + part[k];
                }
            }
        }
    }

    // In a scheme that is so wide.
    bool has_work(int width) const { return me_.rank() < width; }

    void sum_slice(const range& slice, double time, indices targets) {
        const auto first = usize(slice.begin);
        const auto last = usize(slice.end);
        predict(time, first, last);
        take(time, targets);
        sum_forces(first, last);
    }

    // The model's constants: each part of a block timed on the particles themselves, which it leaves as they
    // are; the slowest member's figures, and how much faster the first ones are, for all, so that all choose
    // alike.
    cost_model fitted() {
        cost_model model;
        const std::size_t n = system_.size();
        const auto count = as_double(n);
        model.particles = count;
        model.members = me_.size();
        model.changed_words = as_double(system_.changed_columns());
        model.force_words = as_double(system_.force_columns());
        const double time = times_.next_time();
        std::vector<std::size_t> some(std::min<std::size_t>(n, 32));
        for (std::size_t k = 0; k < some.size(); ++k) some[k] = k * n / some.size();
        const indices few{some};
        const auto targets = as_double(few.size());

        model.source = best_seconds([&] { predict(time, 0, n); }) / count;
        // All of it grows with the particles but for those that are listed, few in this block.
        model.scan = best_seconds([&] {
                         sink_ += times_.next_time();
                         sink_ += count_of(due(time).size());
                     }) /
                     count;
        take(time, few);
        const double half = std::floor(count / 2.0);
        const double all_sources = best_seconds([&] { sum_forces(0, n); }) / targets;
        const double half_sources =
            best_seconds([&] { sum_forces(0, static_cast<std::size_t>(half)); }) / targets;
        model.pair = half < count ? std::max(0.0, all_sources - half_sources) / (count - half) : 0.0;
        model.target_force = std::max(0.0, all_sources - count * model.pair);
        const auto handle = [&](indices which) {
            take(time, which);
            std::ranges::fill(targets_.forces(), 1.0);
            targets_.correct(time);
        };
        const double one = best_seconds([&] { handle(few.first(1)); });
        const double several = best_seconds([&] { handle(few); });
        model.target = few.size() > 1 ? std::max(0.0, several - one) / (targets - 1.0) : one;
        model.block = std::max(0.0, one - model.target);
        model.put = model.target / 4.0;
        if (me_.size() > 1) {
            fit_collectives(model);
            // A member that was disturbed a while ago should not be left out of all blocks because of that.
            take(time, few);
            const double again =
                best_seconds([&] { predict(time, 0, n); }) + best_seconds([&] { sum_forces(0, n); });
            fit_paces(model, std::min(again, count * model.source + targets * all_sources));
        }
        std::array<double, 7> constants{model.pair, model.target_force, model.source, model.target,
                                        model.put,  model.scan,         model.block};
        me_.all_reduce(std::span<double>{constants}, larger{});
        model.pair = constants[0], model.target_force = constants[1], model.source = constants[2];
        model.target = constants[3], model.put = constants[4], model.scan = constants[5];
        model.block = constants[6];
        return model;
    }

    // `mine` is what this member takes for the work that all did.
    void fit_paces(cost_model& model, double mine) {
        model.paces.resize(usize(me_.size()));
        me_.all_gather(std::span<const double>{&mine, 1}, std::span<double>{model.paces});
        std::partial_sum(model.paces.begin(), model.paces.end(), model.paces.begin(), larger{});
        const double slowest = model.paces.back();
        for (double& pace : model.paces) pace = slowest > 0.0 ? pace / slowest : 1.0;
    }

    void fit_collectives(cost_model& model) {
        const auto members = usize(me_.size());
        const std::size_t most = whole_.size();
        choose_rounds(members);
        for (std::size_t words = members; words <= most; words *= 4) {
            const auto length = as_double(words);
            model.gather.add(length, gather_seconds(words, me_.size()));
            if (words <= part_.size()) model.gather_one.add(length, gather_seconds(words, 1));
            model.reduce.add(length, collective_seconds([&] {
                                 const std::span<double> all{whole_.data(), words};
                                 timed([&] { add_up(all); });
                             }));
        }
        me_.all_reduce(model.gather.seconds(), larger{});
        me_.all_reduce(model.gather_one.seconds(), larger{});
        me_.all_reduce(model.reduce.seconds(), larger{});
        model.gather.smooth();
        model.gather_one.smooth();
        model.reduce.smooth();
        std::ranges::fill(bounds_, index{0});
    }

    // Members that share CPUs may take a time slice for each message. A few rounds tell as much of that, and
    // the usual number takes seconds.
    void choose_rounds(std::size_t words) {
        if constexpr (!Clock::is_exact) {
            collective_rounds_ = few_rounds;
            double seconds = gather_seconds(words, me_.size());
            me_.all_reduce(std::span<double>{&seconds, 1}, larger{});
            if (seconds < slow_collective_seconds) collective_rounds_ = usual_rounds;
        }
    }

    // To gather `words`, of which each of the first `parts` members brings a share.
    double gather_seconds(std::size_t words, int parts) {
        const auto share = [&](int rank) { return share_among_first(words, parts, rank); };
        return collective_seconds([&] {
            for (int r = 0; r <= me_.size(); ++r) at(bounds_, r) = share(r).begin;
            gather(usize(share(me_.rank()).size()));
        });
    }

    struct larger {
        double operator()(double a, double b) const { return a < b ? b : a; }
    };

    static constexpr int usual_rounds = 15;
    static constexpr int few_rounds = 3;
    // No network takes as long for a word a member.
    static constexpr double slow_collective_seconds = 1e-3;

    // How often something is timed: `usual` times where times vary.
    static constexpr int rounds_of(int usual) { return Clock::is_exact ? 1 : usual; }

    template <class Work>
    double best_seconds(Work&& work) {
        double best = std::numeric_limits<double>::infinity();
        for (int round = 0; round < rounds_of(7); ++round) {
            const std::int64_t begin = clock_.ticks();
            work();
            best = std::min(best, as_double(clock_.ticks() - begin));
        }
        return best * seconds_of_a_tick();
    }

    // The data are written anew before each call, as in a block: data that did not change since the last call
    // are still in the readers' caches, and the call would seem several times as fast.
    template <class Collective>
    double collective_seconds(Collective&& collective) {
        std::vector<double> seconds;
        for (int round = 0; round < rounds_of(collective_rounds_); ++round) {
            std::ranges::fill(part_, as_double(round));
            std::ranges::fill(whole_, 0.0);
            me_.barrier();
            collective_ticks_ = 0;
            collective();
            seconds.push_back(as_double(collective_ticks_) * seconds_of_a_tick());
        }
        return median(seconds);
    }

    double seconds_of_a_tick() {
        if (tick_seconds_ == 0.0) tick_seconds_ = clock_.tick_seconds();
        return tick_seconds_;
    }

    Member& me_;
    hermite& system_;
    Clock& clock_;
    kernels::nbody::block_times times_;
    kernels::nbody::target_block targets_;
    std::vector<std::size_t> due_;
    std::vector<double> part_;
    std::vector<double> whole_;
    std::vector<index> bounds_;
    std::optional<scheme> fixed_ = scheme{};
    cost_model model_;
    std::optional<scheme_table> table_;
    sharing_watch watch_;
    std::int64_t blocks_ = 0;
    std::int64_t collective_ticks_ = 0;
    int collective_rounds_ = usual_rounds;
    double tick_seconds_ = 0.0;
    double sink_ = 0.0;
};

}  // namespace tauto::runner
