# The nbody study's runners. A peer that is not installed is left out with one line.
include(${CMAKE_CURRENT_LIST_DIR}/smpi.cmake)
add_library(tauto_nbody_common STATIC
    common/nbody_request.cpp
    common/nbody_row.cpp
)
target_link_libraries(tauto_nbody_common
    PUBLIC tauto_runner_common tauto_nbody
    PRIVATE CLI11::CLI11 tauto_warnings)
# Ranges of indices are tautochrone's everywhere; that header alone needs no library.
target_include_directories(tauto_nbody_common PUBLIC ${PROJECT_SOURCE_DIR}/include)

if(EXISTS ${PROJECT_SOURCE_DIR}/include/tauto/member.hpp)
    tauto_runner(nbody serial tautochrone::tautochrone)
endif()
tauto_tautochrone_runner(nbody member.hpp)
tauto_runner(nbody frames)

if(OpenMP_CXX_FOUND)
    tauto_runner(nbody openmp OpenMP::OpenMP_CXX)
else()
    message(STATUS "tauto-nbody-openmp left out: ${CMAKE_CXX_COMPILER_ID} finds no OpenMP here")
endif()

tauto_mpi_runners(nbody)
tauto_smpi_runner(nbody)

# The front end, which becomes one of these.
add_executable(tauto-nbody nbody.cpp mpi_launch.cpp)
target_include_directories(tauto-nbody PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(tauto-nbody PRIVATE tauto_warnings)
install(TARGETS tauto-nbody RUNTIME DESTINATION ${TAUTO_BIN_DIR})
