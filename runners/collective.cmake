# The collective study's runners: tautochrone's threads, and one for each MPI that is installed.
include(${CMAKE_CURRENT_LIST_DIR}/smpi.cmake)

add_library(tauto_collective_common STATIC
    common/collective_request.cpp
    common/collective_row.cpp
)
target_link_libraries(tauto_collective_common
    PUBLIC tauto_runner_common
    PRIVATE CLI11::CLI11 tauto_warnings)

if(EXISTS ${PROJECT_SOURCE_DIR}/include/tauto/member.hpp)
    tauto_runner(collective threads tautochrone::tautochrone)
    target_compile_definitions(tauto-collective-threads PRIVATE TAUTO_VERSION="${PROJECT_VERSION}")
else()
    message(STATUS "tauto-collective-threads left out: include/tauto/member.hpp is missing")
endif()

tauto_mpi_runners(collective)
tauto_smpi_runner(collective)
