// The loop study with OpenBLAS's own sgemv in place of our row kernel.
//
// OpenBLAS chooses its kernels by CPU model. For a model that its release does not know it takes the kernels
// for a Prescott: 0.3.21 does so on a Sapphire Rapids without AMX, and its sgemv then takes 62 instead of 13
// microseconds at order 500. Such a choice is corrected with OPENBLAS_CORETYPE, which it reads when it is
// loaded.

#include <cblas.h>
#include <dlfcn.h>
#include <sched.h>

#include <array>
#include <cstdlib>

#include "kernels/instruction_set.hpp"
#include "runners/loop/run.hpp"
#include "runners/shared/signed.hpp"

namespace {

using namespace tauto::runner;

using set_affinity_function = int (*)(int thread, std::size_t bytes, cpu_set_t* cpus);

std::string chosen_core() {
    return openblas_get_corename();
}

// "OpenBLAS 0.3.21 DYNAMIC_ARCH …" to "0.3.21".
std::string version() {
    const std::string text = openblas_get_config();
    const auto start = text.find(' ') + 1;
    return text.substr(start, text.find(' ', start) - start);
}

// The kernels that OpenBLAS should have taken, if those that it took are older than the CPU's vector
// instructions.
std::optional<std::string> better_core() {
    const auto best = tauto::best_instruction_set();
    const std::string core = chosen_core();
    for (const char* old :
         {"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Atom", "Katmai", "Banias", "Generic"})
        if (core == old && best == tauto::instruction_set::avx512)
            return "SkylakeX";
        else if (core == old && best == tauto::instruction_set::avx2)
            return "Haswell";
    return std::nullopt;
}

class openblas_adapter {
  public:
    static constexpr std::string_view executable = "tauto-loop-openblas";

    static description describe() {
        description openblas;
        openblas.runtime = "openblas";
        openblas.library = "OpenBLAS";
        openblas.library_version = version();
        openblas.schedules = {{"sgemv", false}};
        openblas.wait_policies = {"default", "active", "passive"};
        openblas.most_threads = openblas_get_num_procs() > 64 ? openblas_get_num_procs() : 64;
        return openblas;
    }

    static environment_changes environment(const options& asked) {
        environment_changes changes{{"OPENBLAS_NUM_THREADS", std::to_string(asked.threads)},
                                    {"OPENBLAS_THREAD_TIMEOUT", std::nullopt},
                                    {"GOTO_NUM_THREADS", std::nullopt},
                                    {"OMP_NUM_THREADS", std::nullopt}};
        // Idle threads give the CPU away with sched_yield for 2^timeout clock cycles before they sleep; 4
        // to 30.
        if (asked.wait == "active") changes.emplace_back("OPENBLAS_THREAD_TIMEOUT", "30");
        if (asked.wait == "passive") changes.emplace_back("OPENBLAS_THREAD_TIMEOUT", "4");
        if (std::getenv("OPENBLAS_CORETYPE") == nullptr)
            if (const auto core = better_core()) changes.emplace_back("OPENBLAS_CORETYPE", *core);
        return changes;
    }

    explicit openblas_adapter(const options& asked) {
        openblas_set_num_threads(asked.threads);
        // Index threads - 1 is the calling thread. Not every build has the function; the mask holds then.
        const auto set_affinity =
            reinterpret_cast<set_affinity_function>(dlsym(RTLD_DEFAULT, "openblas_setaffinity"));
        for (int rank = 0; rank < asked.threads && set_affinity != nullptr; ++rank) {
            cpu_set_t cpu;
            CPU_ZERO(&cpu);
            CPU_SET(usize(asked.cpu_of(rank)), &cpu);
            set_affinity((rank + asked.threads - 1) % asked.threads, sizeof cpu, &cpu);
        }
    }

    void multiply(const tauto::dense_matrix& a, const tauto::aligned_floats& x, tauto::aligned_floats& y) {
        const auto n = static_cast<blasint>(a.order());
        cblas_sgemv(CblasRowMajor, CblasNoTrans, n, n, 1.0F, a.row(0), static_cast<blasint>(a.pitch()),
                    x.data(), 1, 0.0F, y.data(), 1);
    }

    void complete(json& row) const { set_field(row, "core_type", chosen_core()); }

    std::string diagnosis() const {
        return "OpenBLAS sees " + std::to_string(openblas_get_num_procs()) + " CPUs and has " +
               std::to_string(openblas_get_num_threads()) +
               " threads; it uses one for products below about 100 rows";
    }
};

}  // namespace

int main(int argc, char** argv) {
    return run_loop<openblas_adapter>(argc, argv);
}
