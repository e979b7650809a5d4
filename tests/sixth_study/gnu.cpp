// The runner of the sixth study: std::sort, and the sorts of GCC's parallel mode.

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <parallel/algorithm>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/fnv1a.hpp"
#include "runners/shared/command_line.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/openmp_library.hpp"
#include "runners/shared/run_job.hpp"

namespace {

using namespace tauto::runner;

struct sort_request : options {
    std::int64_t count = 1'000'000;
};

sort_request parse(int argc, char** argv, std::string_view executable, const description& runtime) {
    sort_request asked;
    command_line line{"Random numbers that are sorted", "Numbers", executable, runtime, asked};
    line.add("--count", asked.count, "Numbers to sort");
    if (!line.parse(argc, argv)) return asked;
    require_from_one("--count", asked.count);
    line.check();
    if (asked.schedule == "serial" && asked.threads != 1)
        throw input_error("schedule 'serial' takes one thread, and --threads is " +
                          std::to_string(asked.threads) + "; use --threads 1");
    return asked;
}

class sort_job : public job {
  public:
    static constexpr std::string_view executable = "tauto-sort-gnu";

    static description describe() {
        description gnu = openmp_description();
        gnu.runtime = "gnu";
        gnu.schedules = {{"serial", false}, {"multiway", false}, {"quick", false}, {"balanced", false}};
        return gnu;
    }

    static environment_changes environment(const options& asked) {
        return openmp_environment(asked.cpus, asked.wait);
    }

    explicit sort_job(const sort_request& asked) : asked_{asked} {
        omp_set_num_threads(asked.threads);
        std::mt19937_64 generator;  // default seed; its numbers are fixed by the standard
        for (std::int64_t i = 0; i < asked.count; ++i) unsorted_.push_back(generator());
    }

    /// Copies the numbers, which is a small part of the time, and sorts the copy.
    void repeat() override {
        sorted_ = unsorted_;
        const auto first = sorted_.begin();
        const auto last = sorted_.end();
        const auto threads = static_cast<__gnu_parallel::_ThreadIndex>(asked_.threads);
        if (asked_.schedule == "serial") std::sort(first, last);
        if (asked_.schedule == "multiway")
            __gnu_parallel::sort(first, last, __gnu_parallel::multiway_mergesort_tag{threads});
        if (asked_.schedule == "quick")
            __gnu_parallel::sort(first, last, __gnu_parallel::quicksort_tag{threads});
        if (asked_.schedule == "balanced")
            __gnu_parallel::sort(first, last, __gnu_parallel::balanced_quicksort_tag{threads});
    }

    job_answer check() override {
        const std::span words{reinterpret_cast<const char*>(sorted_.data()),
                              sorted_.size() * sizeof sorted_[0]};
        return {std::ranges::is_sorted(sorted_),
                tauto::fnv1a_text(tauto::fnv1a({words.data(), words.size()})),
                "the numbers are not in order"};
    }

    json detail(double) const override { return {{"count", asked_.count}}; }
    std::string diagnosis() const override {
        return "OpenMP sees " + std::to_string(omp_get_max_threads()) + " threads";
    }
    /// A quicksort may give all of a small range to one thread.
    bool may_drop_workers() const override { return true; }

  private:
    sort_request asked_;
    std::vector<std::uint64_t> unsorted_;
    std::vector<std::uint64_t> sorted_;
};

}  // namespace

int main(int argc, char** argv) {
    return run_job<sort_job>(argc, argv, parse);
}
