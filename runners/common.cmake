# What the runners of all studies are made of, and the peers that they may find.
include_guard()
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenMP COMPONENTS CXX)
find_package(TBB QUIET)

add_library(tauto_runner_common STATIC
    common/command_line.cpp
    common/cpus.cpp
    common/environment.cpp
    common/memory.cpp
    common/missing_workers.cpp
    common/row.cpp
)
target_include_directories(tauto_runner_common PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(tauto_runner_common PUBLIC nlohmann_json::nlohmann_json PRIVATE CLI11::CLI11 tauto_warnings)

# tauto_runner(STUDY RUNTIME libraries...): runners/STUDY_RUNTIME.cpp as tauto-STUDY-RUNTIME.
function(tauto_runner study runtime)
    add_executable(tauto-${study}-${runtime} ${study}_${runtime}.cpp)
    target_link_libraries(tauto-${study}-${runtime} PRIVATE tauto_${study}_common tauto_warnings ${CMAKE_DL_LIBS}
                                                            ${ARGN})
    install(TARGETS tauto-${study}-${runtime} RUNTIME DESTINATION ${TAUTO_BIN_DIR})
endfunction()

# tauto_peer_runners(STUDY): the runners of the peers that every study has, on OpenMP and on oneTBB.
function(tauto_peer_runners study)
    if(OpenMP_CXX_FOUND)
        tauto_runner(${study} openmp OpenMP::OpenMP_CXX)
    else()
        message(STATUS "tauto-${study}-openmp left out: ${CMAKE_CXX_COMPILER_ID} finds no OpenMP here")
    endif()
    if(TBB_FOUND)
        tauto_runner(${study} tbb TBB::tbb)
        # libstdc++'s parallel algorithms are built on oneTBB; without it they silently run on one thread.
        tauto_runner(${study} stdpar TBB::tbb)
    else()
        message(STATUS "tauto-${study}-tbb and tauto-${study}-stdpar left out: oneTBB is missing (Debian: libtbb-dev)")
    endif()
endfunction()

# tauto_tautochrone_runner(STUDY HEADER): the same for tautochrone itself, where include/tauto/HEADER exists.
function(tauto_tautochrone_runner study header)
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/include/tauto/${header})
        message(STATUS "tauto-${study}-tautochrone left out: include/tauto/${header} is missing")
        return()
    endif()
    tauto_runner(${study} tautochrone tautochrone::tautochrone)
    target_compile_definitions(tauto-${study}-tautochrone PRIVATE TAUTO_VERSION="${PROJECT_VERSION}")
endfunction()
