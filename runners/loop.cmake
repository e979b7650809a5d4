# The loop study's runners, one for each runtime under test. A peer that is not installed is left out with one line.
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)

add_library(tauto_loop_common STATIC
    common/check.cpp
    common/cpus.cpp
    common/environment.cpp
    common/memory.cpp
    common/options.cpp
    common/read_witness.cpp
    common/row.cpp
)
target_link_libraries(tauto_loop_common
    PUBLIC tauto_kernels nlohmann_json::nlohmann_json
    PRIVATE CLI11::CLI11 tauto_warnings)

# tauto_loop_runner(NAME libraries...): runners/loop_NAME.cpp as tauto-loop-NAME.
function(tauto_loop_runner name)
    add_executable(tauto-loop-${name} loop_${name}.cpp)
    target_link_libraries(tauto-loop-${name} PRIVATE tauto_loop_common tauto_warnings ${CMAKE_DL_LIBS} ${ARGN})
    install(TARGETS tauto-loop-${name} RUNTIME DESTINATION ${TAUTO_BIN_DIR})
endfunction()

tauto_loop_runner(serial)

find_package(OpenMP COMPONENTS CXX)
if(OpenMP_CXX_FOUND)
    tauto_loop_runner(openmp OpenMP::OpenMP_CXX)
else()
    message(STATUS "tauto-loop-openmp left out: ${CMAKE_CXX_COMPILER_ID} finds no OpenMP here")
endif()

find_package(TBB QUIET)
if(TBB_FOUND)
    tauto_loop_runner(tbb TBB::tbb)
    # libstdc++'s parallel algorithms are built on oneTBB; without it they silently run on one thread.
    tauto_loop_runner(stdpar TBB::tbb)
else()
    message(STATUS "tauto-loop-tbb and tauto-loop-stdpar left out: oneTBB is missing (Debian: libtbb-dev)")
endif()

pkg_check_modules(openblas QUIET IMPORTED_TARGET openblas)
if(openblas_FOUND)
    tauto_loop_runner(openblas PkgConfig::openblas)
else()
    message(STATUS "tauto-loop-openblas left out: OpenBLAS is missing (Debian: libopenblas-pthread-dev)")
endif()

if(EXISTS ${PROJECT_SOURCE_DIR}/include/tauto/tauto.hpp)
    tauto_loop_runner(tautochrone tautochrone::tautochrone)
    target_compile_definitions(tauto-loop-tautochrone PRIVATE TAUTO_VERSION="${PROJECT_VERSION}")
else()
    message(STATUS "tauto-loop-tautochrone left out: include/tauto/tauto.hpp is missing")
endif()
