# The nbody study's runners. A peer that is not installed is left out with one line.
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

if(OpenMP_CXX_FOUND)
    tauto_runner(nbody openmp OpenMP::OpenMP_CXX)
else()
    message(STATUS "tauto-nbody-openmp left out: ${tauto_no_openmp}")
endif()
