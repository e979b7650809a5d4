# The MPIs that are installed: Debian has Open MPI and MPICH side by side, each with wrappers of its own; what a wrapper
# would add to a command line is asked of it here.

# tauto_add_mpi(NAME WRAPPER PACKAGE): the target tauto_mpi_NAME, with the compiler's and linker's options that the
# wrapper prints; nothing but a line where it prints none.
function(tauto_add_mpi name wrapper package)
    execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE shown RESULT_VARIABLE failed
                    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(failed)
        message(STATUS "the runners on ${name} left out: ${wrapper} -show failed (Debian: ${package})")
        return()
    endif()
    separate_arguments(words UNIX_COMMAND "${shown}")
    list(POP_FRONT words)
    add_library(tauto_mpi_${name} INTERFACE)
    set(included FALSE)
    foreach(word IN LISTS words)
        if(included)
            target_compile_options(tauto_mpi_${name} INTERFACE "SHELL:-include ${word}")
            set(included FALSE)
        elseif(word STREQUAL "-include")
            set(included TRUE)
        elseif(word MATCHES "^-I(.+)")
            # As a system's header: its warnings are not ours.
            target_include_directories(tauto_mpi_${name} SYSTEM INTERFACE ${CMAKE_MATCH_1})
        # Without the C++ bindings, which are gone from the standard.
        elseif(word MATCHES "^-(l|L|Wl,)" AND NOT word MATCHES "cxx$")
            target_link_libraries(tauto_mpi_${name} INTERFACE ${word})
        endif()
    endforeach()
    # Nor their headers; nor another malloc.
    target_compile_definitions(tauto_mpi_${name} INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX
                                                           SMPI_NO_OVERRIDE_MALLOC)
endfunction()

# tauto_find_mpi(NAME LAUNCHER PACKAGE): the target of mpicxx.NAME, and tauto_mpi_NAME_launcher; nothing but a line
# where there is none.
function(tauto_find_mpi name launcher package)
    find_program(tauto_mpicxx_${name} NAMES mpicxx.${name})
    find_program(tauto_mpiexec_${name} NAMES ${launcher})
    mark_as_advanced(tauto_mpicxx_${name} tauto_mpiexec_${name})
    if(NOT tauto_mpicxx_${name} OR NOT tauto_mpiexec_${name})
        message(STATUS "the runners on ${name} left out: mpicxx.${name} and ${launcher} are missing (Debian: ${package})")
        return()
    endif()
    tauto_add_mpi(${name} ${tauto_mpicxx_${name}} ${package})
    cmake_path(GET tauto_mpiexec_${name} FILENAME program)
    set(tauto_mpi_${name}_launcher ${program} PARENT_SCOPE)
endfunction()

if(NOT CMAKE_CROSSCOMPILING) # the wrappers name this machine's libraries
    tauto_find_mpi(openmpi mpirun.openmpi libopenmpi-dev)
    tauto_find_mpi(mpich mpiexec.mpich libmpich-dev)
endif()

# tauto_mpi_runners(STUDY): mpi.cpp of this folder as tauto-STUDY-NAME, built once for each MPI.
function(tauto_mpi_runners study)
    foreach(mpi openmpi mpich)
        if(NOT TARGET tauto_mpi_${mpi})
            continue()
        endif()
        add_executable(tauto-${study}-${mpi} mpi.cpp ${PROJECT_SOURCE_DIR}/runners/mpi/launch.cpp)
        target_compile_definitions(tauto-${study}-${mpi} PRIVATE TAUTO_MPI_NAME="${mpi}"
            TAUTO_MPI_LAUNCHER="${tauto_mpi_${mpi}_launcher}")
        target_link_libraries(tauto-${study}-${mpi} PRIVATE tauto_${study}_runner tautochrone::tautochrone
            tauto_mpi_${mpi} tauto_warnings)
        install(TARGETS tauto-${study}-${mpi} RUNTIME DESTINATION ${TAUTO_BIN_DIR})
    endforeach()
endfunction()
