#include "balance/waits.hpp"

#include <algorithm>
#include <cstdlib>

namespace tauto::balance {

const std::vector<wait_setting>& wait_settings() {
    static const std::vector<wait_setting> all{
        {"OMP_WAIT_POLICY", "passive", "every OpenMP"},
        {"GOMP_SPINCOUNT", "0", "GCC's libgomp"},
        {"KMP_BLOCKTIME", "0", "LLVM's libomp and Intel's, which MKL uses"},
        {"OPENBLAS_THREAD_TIMEOUT", "4", "OpenBLAS: 2^4 turns, its least"},
        {"OMPI_MCA_mpi_yield_when_idle", "1", "Open MPI"},
        // It binds a rank to a core by itself, which is good on equal ones. What is bound cannot be moved.
        {"OMPI_MCA_hwloc_base_binding_policy", "none", "Open MPI 4"},
        {"PRTE_MCA_hwloc_default_binding_policy", "none", "Open MPI 5"},
    };
    return all;
}

std::vector<std::string> set_waits() {
    std::vector<std::string> set;
    for (const wait_setting& one : wait_settings()) {
        if (std::getenv(one.variable) != nullptr) continue;
        setenv(one.variable, one.value, 1);
        set.push_back(std::string(one.variable) + "=" + one.value);
    }
    return set;
}

bool may_spin_in_openmp(const std::vector<std::string>& set) {
    return std::ranges::all_of(wait_settings(), [&](const wait_setting& one) {
        const std::string name = one.variable;
        const bool speaks_of_it = name == "OMP_WAIT_POLICY" || name == "KMP_BLOCKTIME";
        return !speaks_of_it || std::ranges::find(set, name + "=" + one.value) != set.end();
    });
}

}  // namespace tauto::balance
