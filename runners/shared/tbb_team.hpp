#pragma once
// oneTBB with a given number of workers, each pinned to its CPU. For the runners built on oneTBB.

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>
#include <tbb/version.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "runners/shared/cpus.hpp"
#include "runners/shared/options.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

class tbb_team {
  public:
    explicit tbb_team(const options& asked)
        : workers_{tbb::global_control::max_allowed_parallelism, usize(asked.threads)},
          arena_{asked.threads},
          pinning_{arena_, asked} {}

    /// Loops started inside task run on the team; entering it costs more than a small loop, so enter once.
    template <class Task>
    void run(Task&& task) {
        arena_.execute(std::forward<Task>(task));
    }

    /// Without its schedules.
    static description describe() {
        description tbb;
        tbb.runtime = "tbb";
        tbb.library = "oneTBB";
        tbb.library_version = version();
        return tbb;
    }

    /// The same for libstdc++'s parallel algorithms, which are built on oneTBB.
    static description describe_stdpar() {
        description stdpar;
        stdpar.runtime = "stdpar";
        stdpar.library = "libstdc++";
        stdpar.library_version = std::to_string(__GLIBCXX__) + " on oneTBB " + version();
        return stdpar;
    }

    std::string diagnosis() const {
        return "oneTBB's arena takes " + std::to_string(arena_.max_concurrency()) +
               " threads and the library allows " +
               std::to_string(
                   tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
    }

  private:
    static std::string version() {
        return std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR);
    }

    // A worker that leaves the arena may come back with another index; it is pinned again.
    class pinning : public tbb::task_scheduler_observer {
      public:
        pinning(tbb::task_arena& arena, options asked)
            : task_scheduler_observer{arena}, asked_{std::move(asked)} {
            observe(true);
        }
        ~pinning() override { observe(false); }
        void on_scheduler_entry(bool) override {
            pin_to(std::array{asked_.cpu_of(tbb::this_task_arena::current_thread_index())});
        }

      private:
        options asked_;
    };

    tbb::global_control workers_;
    tbb::task_arena arena_;
    pinning pinning_;
};

}  // namespace tauto::runner
