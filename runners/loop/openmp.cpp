// The loop study on OpenMP, whichever library is loaded.

#include <omp.h>

#include <algorithm>

#include "runners/loop/run.hpp"
#include "runners/shared/openmp_library.hpp"
#include "runners/shared/signed.hpp"

namespace {

using namespace tauto::runner;

class openmp_adapter : public openmp_team {
  public:
    static constexpr std::string_view executable = "tauto-loop-openmp";

    static description describe() {
        description openmp = openmp_description();
        openmp.schedules = {{"pragma", false}, {"static", false}, {"static_chunk", true},
                            {"dynamic", true}, {"guided", true},  {"auto", true}};
        openmp.default_chunk = default_chunk_rows;
        return openmp;
    }

    explicit openmp_adapter(const options& asked)
        : openmp_team{asked}, chunk_{asked.chunk_size()}, schedule_{named(asked.schedule)} {}

    // The loops run over chunks of rows, so that a thread gets a whole chunk at a time as every other
    // runtime's does; the chunk of a schedule is therefore 1. `pragma` is the loop as the published program
    // has it.
    template <class Body>
    void for_rows(std::size_t n, Body&& body) {
        const std::size_t chunks = (n + chunk_ - 1) / chunk_;
        const auto run_chunk = [&](std::size_t index) {
            body(index * chunk_, std::min(n, (index + 1) * chunk_));
        };
        switch (schedule_) {
            case kind::pragma:
#pragma omp parallel for
                for (std::size_t i = 0; i < n; ++i) body(i, i + 1);
                break;
            case kind::equal:
#pragma omp parallel
            {
                const auto rank = usize(omp_get_thread_num());
                const auto size = usize(omp_get_num_threads());
                if (n * rank / size < n * (rank + 1) / size) body(n * rank / size, n * (rank + 1) / size);
            } break;
            case kind::static_chunk:
#pragma omp parallel for schedule(static, 1)
                for (std::size_t i = 0; i < chunks; ++i) run_chunk(i);
                break;
            case kind::dynamic:
#pragma omp parallel for schedule(dynamic, 1)
                for (std::size_t i = 0; i < chunks; ++i) run_chunk(i);
                break;
            case kind::guided:
#pragma omp parallel for schedule(guided, 1)
                for (std::size_t i = 0; i < chunks; ++i) run_chunk(i);
                break;
            case kind::automatic:
#pragma omp parallel for schedule(auto)
                for (std::size_t i = 0; i < chunks; ++i) run_chunk(i);
                break;
        }
    }

  private:
    enum class kind { pragma, equal, static_chunk, dynamic, guided, automatic };

    static kind named(std::string_view schedule) {
        if (schedule == "static") return kind::equal;
        if (schedule == "static_chunk") return kind::static_chunk;
        if (schedule == "dynamic") return kind::dynamic;
        if (schedule == "guided") return kind::guided;
        if (schedule == "auto") return kind::automatic;
        return kind::pragma;
    }

    std::size_t chunk_;
    kind schedule_;
};

}  // namespace

int main(int argc, char** argv) {
    return run_loop<openmp_adapter>(argc, argv);
}
