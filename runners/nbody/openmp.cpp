// The nbody study on OpenMP, whichever library is loaded. All threads share one set of particles; each has
// its own targets. Two ways, both by targets (i) and by sources (j):
//
//   loops   a parallel loop for each stage of a block, the serial parts between them
//   region  one parallel region around all blocks, two barriers a block; what is short is done by every
//   thread

#include <omp.h>

#include <atomic>
#include <exception>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "kernels/nbody/block_times.hpp"
#include "runners/nbody/run.hpp"
#include "runners/nbody/share.hpp"
#include "runners/shared/openmp_library.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/task_clock.hpp"

namespace {

using namespace tauto::runner;
using tauto::range;
using tauto::kernels::nbody::hermite;
using tauto::kernels::nbody::target_block;
using indices = std::span<const std::size_t>;

// An exception must not leave the parallel region it was thrown in; the first one is kept, with the block it
// happened in. All threads stop after that block: one that is late must not take a failure in the next block,
// where the others are by then, for one in its own.
class first_failure {
  public:
    template <class Work>
    void guard(std::int64_t block, Work&& work) noexcept {
        try {
            work();
        } catch (...) {
            if (taken_.test_and_set()) return;
            failure_ = std::current_exception();
            block_.store(block, std::memory_order_release);
        }
    }
    bool failed_in(std::int64_t block) const { return block_.load(std::memory_order_acquire) <= block; }
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    std::atomic_flag taken_;
    std::atomic<std::int64_t> block_{std::numeric_limits<std::int64_t>::max()};
    std::exception_ptr failure_;
};

// One thread's part of the work on the shared system.
class worker {
  public:
    worker(hermite& system, int threads, int thread)
        : system_{system}, targets_{system}, threads_{threads}, thread_{thread} {}

    void predict_slice(double time) {
        const range slice = slice_of(system_.size(), threads_, thread_);
        system_.predict_sources(time, usize(slice.begin), usize(slice.end));
    }

    // By targets: all forces on a share of the targets, and their move.
    template <class Finish>
    void move_share(double time, indices active, Finish&& finish) {
        targets_.take(time, share(active));
        targets_.sum_forces(0, system_.size());
        finish(targets_);
        targets_.put(time, system_);
    }

    // By sources: the forces of a slice on all targets.
    void sum_slice(double time, indices active) {
        const range slice = slice_of(system_.size(), threads_, thread_);
        targets_.take(time, active);
        targets_.sum_forces(usize(slice.begin), usize(slice.end));
    }
    std::span<const double> parts() { return targets_.forces(); }

    // A share of the targets from everybody's parts; in the order of the slices.
    void move_summed_share(double time, indices active, std::vector<worker>& all) {
        const range mine = share_of(active.size(), threads_, thread_);
        const std::size_t count = usize(mine.size());
        summed_.take(time, share(active));
        const auto total = summed_.forces();
        for (std::size_t c = 0; c < system_.force_columns(); ++c)
            for (std::size_t k = 0; k < count; ++k) {
                const std::size_t place = c * active.size() + usize(mine.begin) + k;
                double sum = all[0].parts()[place];
                for (std::size_t r = 1; r < all.size(); ++r) sum += all[r].parts()[place];
                total[c * count + k] = sum;
            }
        summed_.correct(time);
        summed_.put(time, system_);
    }

    // Each thread that asks remembers for itself which particles move when.
    void read_times() { times_.read_all(); }
    double next_time() const { return times_.next_time(); }
    indices due(double time) { return times_.due(time, due_); }
    void moved(indices active, double time) { times_.moved(active, time); }

  private:
    indices share(indices active) const {
        const range mine = share_of(active.size(), threads_, thread_);
        return active.subspan(usize(mine.begin), usize(mine.size()));
    }

    hermite& system_;
    target_block targets_;
    target_block summed_{system_};
    tauto::kernels::nbody::block_times times_{system_};
    int threads_;
    int thread_;
    std::vector<std::size_t> due_;
};

class openmp_adapter : public openmp_team {
  public:
    static constexpr std::string_view executable = "tauto-nbody-openmp";

    static description describe() {
        description openmp = openmp_description();
        openmp.schedules = {{"loops-i", false}, {"loops-j", false}, {"region-i", false}, {"region-j", false}};
        return openmp;
    }

    explicit openmp_adapter(const nbody_request& asked)
        : openmp_team{asked},
          threads_{asked.threads},
          by_sources_{asked.schedule.ends_with("-j")},
          region_{asked.schedule.starts_with("region")} {}

    nbody_pass run(const nbody_start& start, const nbody_request& asked, work_account& account) {
        hermite system{start.bodies, asked.hermite, start.time};
        std::vector<worker> workers;
        workers.reserve(usize(threads_));
        for (int thread = 0; thread < threads_; ++thread) workers.emplace_back(system, threads_, thread);
        nbody_pass pass;
        pass.blocks.reserve(4096);
        const double begin = monotonic_seconds();
        first_forces(system, workers);
        pass.start_seconds = monotonic_seconds() - begin;
        if (region_)
            run_region(system, workers, asked, pass, account);
        else
            run_loops(system, workers, asked, pass, account);
        finish_pass(pass, system, asked);
        return pass;
    }

    bool repeats_bits() const { return true; }

  private:
    static worker& mine(std::vector<worker>& workers) { return at(workers, omp_get_thread_num()); }

    // The longest time that a thread worked in each stage is useful; the rest is start, join and waiting.
    struct alignas(128) useful_ticks {
        std::int64_t ticks = 0;
    };
    std::int64_t longest() const {
        std::int64_t most = 0;
        for (const auto& one : useful_) most = std::max(most, one.ticks);
        return most;
    }

    // A parallel loop over the threads' parts; fork and join at each stage.
    template <class Stage>
    std::int64_t loop(std::vector<worker>& workers, first_failure& failure, Stage&& stage) {
        const auto parts = int_size(workers);
#pragma omp parallel for schedule(static, 1)
        for (int part = 0; part < parts; ++part) {
            const std::int64_t begin = task_ticks();
            failure.guard(0, [&] { stage(at(workers, part)); });
            at(useful_, part).ticks = task_ticks() - begin;
        }
        failure.rethrow();
        return longest();
    }

    void first_forces(hermite& system, std::vector<worker>& workers) {
        std::vector<std::size_t> everyone(system.size());
        for (std::size_t i = 0; i < everyone.size(); ++i) everyone[i] = i;
        first_failure failure;
        useful_.assign(workers.size(), {});
        for (int pass = system.order() == 4 ? 1 : 0; pass < 2; ++pass) {
            system.predict_sources(system.time(), 0, system.size());
            loop(workers, failure, [&](worker& one) {
                one.move_share(system.time(), everyone,
                               [](target_block& targets) { targets.accept_forces(); });
            });
        }
        system.choose_first_steps();
    }

    void run_loops(hermite& system, std::vector<worker>& workers, const nbody_request& asked,
                   nbody_pass& pass, work_account& account) {
        const tick_length tick;
        first_failure failure;
        std::vector<std::pair<std::int64_t, std::int64_t>> ticks;
        worker& first = workers[0];
        first.read_times();
        do {
            const std::int64_t begin = task_ticks();
            const double time = first.next_time();
            const indices active = first.due(time);
            const std::int64_t serial = task_ticks() - begin;
            std::int64_t useful = serial;
            useful += loop(workers, failure, [&](worker& one) { one.predict_slice(time); });
            if (by_sources_) {
                useful += loop(workers, failure, [&](worker& one) { one.sum_slice(time, active); });
                useful += loop(workers, failure,
                               [&](worker& one) { one.move_summed_share(time, active, workers); });
            } else {
                useful += loop(workers, failure, [&](worker& one) {
                    one.move_share(time, active, [&](target_block& targets) { targets.correct(time); });
                });
            }
            const std::int64_t moved = task_ticks();
            first.moved(active, time);
            system.end_block(time);
            useful += task_ticks() - moved;
            pass.blocks.push_back(
                {system.start() + time, active.size(), asked.schedule, threads_, 0.0, 0.0, 0.0});
            const std::int64_t all = task_ticks() - begin;
            ticks.emplace_back(all, all - useful);
        } while (!is_over(asked, system.time(), pass.blocks.size()));
        count_workers(pass, account);
        set_seconds(pass, ticks, tick.seconds());
    }

    void run_region(hermite& system, std::vector<worker>& workers, const nbody_request& asked,
                    nbody_pass& pass, work_account& account) {
        const tick_length tick;
        first_failure failure;
        std::vector<std::pair<std::int64_t, std::int64_t>> ticks;
        ticks.reserve(4096);
#pragma omp parallel
        {
            worker& me = mine(workers);
            const bool first = omp_get_thread_num() == 0;
            std::int64_t blocks = 0;
            double time = 0.0;
            failure.guard(blocks, [&] { me.read_times(); });
            while (blocks == 0 || !is_over(asked, time, usize(blocks))) {
                const std::int64_t begin = task_ticks();
                indices active;
                // Every thread finds the next block by itself: shorter than a barrier.
                failure.guard(blocks, [&] {
                    time = me.next_time();
                    active = me.due(time);
                    me.predict_slice(time);
                    if (by_sources_) me.sum_slice(time, active);
                });
                std::int64_t waited = barrier();
                failure.guard(blocks, [&] {
                    if (failure.failed_in(blocks)) return;
                    if (first) system.end_block(time);
                    if (by_sources_)
                        me.move_summed_share(time, active, workers);
                    else
                        me.move_share(time, active, [&](target_block& targets) { targets.correct(time); });
                });
                waited += barrier();
                failure.guard(blocks, [&] { me.moved(active, time); });
                if (first) {
                    pass.blocks.push_back(
                        {system.start() + time, active.size(), asked.schedule, threads_, 0.0, 0.0, 0.0});
                    ticks.emplace_back(task_ticks() - begin, waited);
                }
                if (failure.failed_in(blocks++)) break;
            }
            account.add(blocks);
        }
        failure.rethrow();
        set_seconds(pass, ticks, tick.seconds());
    }

    static std::int64_t barrier() {
        const std::int64_t begin = task_ticks();
#pragma omp barrier
        return task_ticks() - begin;
    }

    static void count_workers(const nbody_pass& pass, work_account& account) {
        const auto blocks = std::ssize(pass.blocks);
#pragma omp parallel
        account.add(blocks);
    }

    static void set_seconds(nbody_pass& pass, const std::vector<std::pair<std::int64_t, std::int64_t>>& ticks,
                            double seconds) {
        for (std::size_t k = 0; k < pass.blocks.size(); ++k) {
            pass.blocks[k].seconds = as_double(ticks[k].first) * seconds;
            pass.blocks[k].shared_seconds = as_double(ticks[k].second) * seconds;
        }
    }

    int threads_;
    bool by_sources_;
    bool region_;
    std::vector<useful_ticks> useful_;
};

}  // namespace

int main(int argc, char** argv) {
    return run_nbody<openmp_adapter>(argc, argv);
}
