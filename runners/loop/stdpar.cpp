// The loop study on std::execution::par of libstdc++, which runs on oneTBB; hence oneTBB's pinning.

#include <execution>
#include <numeric>
#include <vector>

#include "runners/loop/run.hpp"
#include "runners/shared/tbb_team.hpp"

namespace {

using namespace tauto::runner;

class stdpar_adapter : public tbb_team {
  public:
    static constexpr std::string_view executable = "tauto-loop-stdpar";

    static description describe() {
        description stdpar = tbb_team::describe_stdpar();
        stdpar.schedules = {{"par", true}};
        // Blocks of 1, 4, 16, 32, 64, 128 rows: 11.7, 10.5, 7.4, 7.0, 6.7, 6.7 microseconds at order 500 on
        // two cores.
        stdpar.default_chunk = 64;
        return stdpar;
    }

    explicit stdpar_adapter(const loop_request& asked)
        : tbb_team{asked}, block_{asked.chunk_size()}, blocks_(asked.pieces_of(asked.size)) {
        // Numbers in memory, because iterators of iota_view count as input iterators for the parallel
        // algorithms, which then run on one thread.
        std::iota(blocks_.begin(), blocks_.end(), std::size_t{0});
    }

    template <class Body>
    void for_rows(std::size_t n, Body&& body) {
        std::for_each(std::execution::par, blocks_.begin(), blocks_.end(),
                      [&](std::size_t block) { body(block * block_, std::min(n, (block + 1) * block_)); });
    }

  private:
    std::size_t block_;
    std::vector<std::size_t> blocks_;
};

}  // namespace

int main(int argc, char** argv) {
    return run_loop<stdpar_adapter>(argc, argv);
}
