// The loop study on OpenMP. GCC builds it against libgomp; with LLVM's libomp preloaded, which has GCC's
// entry points, the same binary runs on that one.
//
// Both libraries read their settings once, when they are loaded, so the runner restarts itself with the
// settings that suit the library it finds, and without whatever was set outside. That also avoids a trap:
// with OMP_PROC_BIND set, libgomp's start-up code pins the main thread even when libomp is preloaded, libomp
// then sees one CPU and runs one thread. So libomp is never given OMP_PROC_BIND or OMP_PLACES, but
// KMP_AFFINITY, which libgomp does not read.

#include <dlfcn.h>
#include <omp.h>

#include <cstdlib>
#include <filesystem>

#include "runners/common/run_loop.hpp"

namespace {

using namespace tauto::runner;

struct loaded_library {
    bool is_libomp;
    std::filesystem::path file;
};

loaded_library find_library() {
    const bool is_libomp = dlsym(RTLD_DEFAULT, "kmp_get_blocktime") != nullptr;
    Dl_info information{};
    std::filesystem::path file;
    if (dladdr(reinterpret_cast<void*>(&omp_get_num_threads), &information) != 0 &&
        information.dli_fname != nullptr) {
        std::error_code ignored;
        file = std::filesystem::canonical(information.dli_fname, ignored);
    }
    return {is_libomp, file};
}

// Neither library tells its version; the file's name does, and for LLVM the folder that Debian installs it
// in.
std::string version_of(const loaded_library& library) {
    for (const auto& part : library.file)
        if (part.string().starts_with("llvm-")) return "LLVM " + part.string().substr(5);
    return library.file.filename().string();
}

environment_changes cleared() {
    environment_changes changes;
    for (const char* name : {"OMP_PLACES",        "OMP_PROC_BIND",         "OMP_NUM_THREADS",
                             "OMP_THREAD_LIMIT",  "OMP_DYNAMIC",           "OMP_SCHEDULE",
                             "OMP_WAIT_POLICY",   "OMP_MAX_ACTIVE_LEVELS", "OMP_NESTED",
                             "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT",        "KMP_AFFINITY",
                             "KMP_HW_SUBSET",     "KMP_PLACE_THREADS",     "KMP_BLOCKTIME",
                             "KMP_LIBRARY",       "KMP_ALL_THREADS",       "KMP_DEVICE_THREAD_LIMIT",
                             "KMP_SCHEDULE",      "KMP_DYNAMIC_MODE"})
        changes.emplace_back(name, std::nullopt);
    return changes;
}

class openmp_adapter {
  public:
    static constexpr std::string_view executable = "tauto-loop-openmp";

    static description describe() {
        const loaded_library library = find_library();
        description openmp;
        openmp.runtime = "openmp";
        openmp.library = library.is_libomp ? "libomp" : "libgomp";
        openmp.library_version = version_of(library);
        openmp.schedules = {{"pragma", false}, {"static", false}, {"static_chunk", true},
                            {"dynamic", true}, {"guided", true},  {"auto", true}};
        openmp.wait_policies = {"default", "active", "passive"};
        return openmp;
    }

    static environment_changes environment(const options& asked) {
        environment_changes changes = cleared();
        if (find_library().is_libomp) {
            changes.emplace_back("KMP_AFFINITY",
                                 "granularity=fine,explicit,proclist=[" + cpus_text(asked.cpus) + "]");
            if (asked.wait == "active") changes.emplace_back("KMP_BLOCKTIME", "infinite");
            if (asked.wait == "passive") changes.emplace_back("KMP_BLOCKTIME", "0");
        } else {
            changes.emplace_back("OMP_PLACES", "{" + cpus_text(asked.cpus, "},{") + "}");
            changes.emplace_back("OMP_PROC_BIND", "true");
        }
        if (asked.wait != "default") changes.emplace_back("OMP_WAIT_POLICY", asked.wait);
        return changes;
    }

    explicit openmp_adapter(const options& asked)
        : threads_{asked.threads}, chunk_{asked.chunk_rows()}, schedule_{named(asked.schedule)} {
        omp_set_dynamic(0);
        omp_set_num_threads(threads_);
    }

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
                const auto rank = static_cast<std::size_t>(omp_get_thread_num());
                const auto size = static_cast<std::size_t>(omp_get_num_threads());
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

    std::string diagnosis() const {
        return describe().library + " sees " + std::to_string(omp_get_num_procs()) +
               " CPUs (omp_get_num_procs) and was told to use " + std::to_string(omp_get_max_threads()) +
               " threads (omp_get_max_threads); look for OMP_, GOMP_ and KMP_ variables set outside";
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

    int threads_;
    std::size_t chunk_;
    kind schedule_;
};

}  // namespace

int main(int argc, char** argv) {
    return run_loop<openmp_adapter>(argc, argv);
}
