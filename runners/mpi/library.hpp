#pragma once
// The MPI that a runner was built for. Includes <mpi.h>: for the runners' own files only.

#include <mpi.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "runners/mpi/launch.hpp"
#include "runners/shared/options.hpp"

namespace tauto::runner {

/// What is loaded, without its schedules.
inline description mpi_description() {
    // "Open MPI v4.1.4, package: …", "MPICH Version:\t4.0.2\nMPICH …", "Intel(R) MPI Library 2021.10 for …"
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string whole{text};
    description mpi;
    mpi.runtime = TAUTO_MPI_NAME;
    mpi.library = whole.starts_with("Open MPI") ? "openmpi"
                  : whole.starts_with("Intel")  ? "intelmpi"
                                                : "mpich";
    const auto begin = std::ranges::find_if(whole, [](unsigned char one) { return std::isdigit(one) != 0; });
    const auto end = std::find_if(begin, whole.end(),
                                  [](unsigned char one) { return std::isdigit(one) == 0 && one != '.'; });
    mpi.library_version = {begin, end};
    mpi.most_threads = 1024;
    return mpi;
}

inline mpi_launcher this_launcher() {
    return {TAUTO_MPI_LAUNCHER, std::string_view{TAUTO_MPI_NAME} == "openmpi"};
}

}  // namespace tauto::runner
