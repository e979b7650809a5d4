# The libraries that the runners of all studies may find, and how a runner is built.
find_package(nlohmann_json REQUIRED)
find_package(OpenMP COMPONENTS CXX)
find_package(TBB QUIET)

# tauto_runner(STUDY RUNTIME [NOT_INSTALLED] libraries...): RUNTIME.cpp of this folder as tauto-STUDY-RUNTIME. What
# the study's runners share is the library tauto_STUDY_runner, where there is one.
function(tauto_runner study runtime)
    cmake_parse_arguments(runner "NOT_INSTALLED" "" "" ${ARGN})
    set(name tauto-${study}-${runtime})
    add_executable(${name} ${runtime}.cpp)
    target_link_libraries(${name} PRIVATE $<TARGET_NAME_IF_EXISTS:tauto_${study}_runner> tauto_shared tauto_warnings
                                          ${CMAKE_DL_LIBS} ${runner_UNPARSED_ARGUMENTS})
    if(NOT runner_NOT_INSTALLED)
        install(TARGETS ${name} RUNTIME DESTINATION ${TAUTO_BIN_DIR})
    endif()
endfunction()

# tauto_openmp_runner(STUDY): openmp.cpp of this folder as tauto-STUDY-openmp.
function(tauto_openmp_runner study)
    if(OpenMP_CXX_FOUND)
        tauto_runner(${study} openmp OpenMP::OpenMP_CXX)
    else()
        message(STATUS "tauto-${study}-openmp left out: ${CMAKE_CXX_COMPILER_ID} finds no OpenMP here")
    endif()
endfunction()

# tauto_peer_runners(STUDY): the runners of the libraries on OpenMP and on oneTBB.
function(tauto_peer_runners study)
    tauto_openmp_runner(${study})
    if(TBB_FOUND)
        tauto_runner(${study} tbb TBB::tbb)
        # libstdc++'s parallel algorithms are built on oneTBB; without it they silently run on one thread.
        tauto_runner(${study} stdpar TBB::tbb)
    else()
        message(STATUS "tauto-${study}-tbb and tauto-${study}-stdpar left out: oneTBB is missing (Debian: libtbb-dev)")
    endif()
endfunction()
