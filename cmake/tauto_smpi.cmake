# SimGrid's SMPI, which runs an MPI program's ranks in one process in virtual time. Its program is an object
# that smpirun loads.

find_program(tauto_smpicxx NAMES smpicxx)
find_program(tauto_smpirun NAMES smpirun)
mark_as_advanced(tauto_smpicxx tauto_smpirun)
# smpirun itself is not instrumented, and loads no object that is, nor one for another machine.
if(TAUTO_SANITIZE STREQUAL "" AND NOT CMAKE_CROSSCOMPILING)
    if(tauto_smpicxx AND tauto_smpirun)
        tauto_add_mpi(smpi ${tauto_smpicxx} libsimgrid-dev)
    else()
        message(STATUS "the runners on SMPI left out: smpicxx and smpirun are missing (Debian: libsimgrid-dev)")
    endif()
endif()

# tauto_smpi_runner(STUDY): smpi.cpp of this folder as tauto-STUDY-smpi.so.
function(tauto_smpi_runner study)
    if(NOT TARGET tauto_mpi_smpi)
        return()
    endif()
    # The memory of CPUs at start needs another place in an object that is loaded.
    add_library(tauto-${study}-smpi MODULE smpi.cpp ${PROJECT_SOURCE_DIR}/runners/shared/cpus.cpp)
    tauto_reads_options(smpi.cpp)
    target_compile_definitions(tauto-${study}-smpi PRIVATE TAUTO_LOADED_OBJECT)
    target_link_libraries(tauto-${study}-smpi PRIVATE tauto_${study}_runner tautochrone::tautochrone tauto_mpi_smpi
                                                      tauto_warnings)
    set_target_properties(tauto-${study}-smpi PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY
                                                         "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
    install(TARGETS tauto-${study}-smpi LIBRARY DESTINATION ${TAUTO_BIN_DIR})
endfunction()
