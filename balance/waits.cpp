#include "balance/waits.hpp"

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

bool may_spin_in_openmp() {
    return std::getenv("OMP_WAIT_POLICY") == nullptr && std::getenv("KMP_BLOCKTIME") == nullptr;
}

}  // namespace tauto::balance
