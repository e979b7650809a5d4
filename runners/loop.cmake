# The loop study's runners, one for each runtime under test. A peer that is not installed is left out with one line.
find_package(PkgConfig REQUIRED)

add_library(tauto_loop_common STATIC
    common/check.cpp
    common/loop_request.cpp
    common/loop_row.cpp
    common/read_witness.cpp
)
target_link_libraries(tauto_loop_common
    PUBLIC tauto_runner_common tauto_kernels
    PRIVATE CLI11::CLI11 tauto_warnings)

tauto_runner(loop serial)

if(OpenMP_CXX_FOUND)
    tauto_runner(loop openmp OpenMP::OpenMP_CXX)
else()
    message(STATUS "tauto-loop-openmp left out: ${tauto_no_openmp}")
endif()

if(TBB_FOUND)
    tauto_runner(loop tbb TBB::tbb)
    # libstdc++'s parallel algorithms are built on oneTBB; without it they silently run on one thread.
    tauto_runner(loop stdpar TBB::tbb)
else()
    message(STATUS "tauto-loop-tbb and tauto-loop-stdpar left out: ${tauto_no_tbb}")
endif()

pkg_check_modules(openblas QUIET IMPORTED_TARGET openblas)
if(openblas_FOUND)
    tauto_runner(loop openblas PkgConfig::openblas)
else()
    message(STATUS "tauto-loop-openblas left out: OpenBLAS is missing (Debian: libopenblas-pthread-dev)")
endif()

tauto_tautochrone_runner(loop tauto.hpp)
