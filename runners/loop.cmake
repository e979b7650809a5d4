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
tauto_peer_runners(loop)

pkg_check_modules(openblas QUIET IMPORTED_TARGET openblas)
if(openblas_FOUND)
    tauto_runner(loop openblas PkgConfig::openblas)
else()
    message(STATUS "tauto-loop-openblas left out: OpenBLAS is missing (Debian: libopenblas-pthread-dev)")
endif()

tauto_tautochrone_runner(loop tauto.hpp)
