# mpi.hpp with each MPI that is installed, on 2, 3 and 4 processes: a second or two on two idle cores. MPICH's ranks wait
# in a spin that gives no CPU away, so with more ranks than CPUs, or on a busy machine, each message takes a time slice:
# hence the limits. An MPI library knows nothing of the sanitizers.
if(NOT TAUTO_SANITIZE)
    foreach(mpi openmpi mpich)
        if(NOT TARGET tauto_mpi_${mpi})
            continue()
        endif()
        add_executable(mpi_${mpi}_test mpi_test.cpp mpi_names.cpp)
        target_compile_options(mpi_${mpi}_test PRIVATE ${tauto_test_optimises})
        target_link_libraries(mpi_${mpi}_test PRIVATE doctest::doctest tautochrone tauto_mpi_${mpi} tauto_warnings)
        add_dependencies(tauto_tests mpi_${mpi}_test)
        set(launch ${tauto_mpiexec_${mpi}})
        set(environment "")
        if(mpi STREQUAL openmpi)
            list(APPEND launch --quiet --oversubscribe --bind-to none)
            # What --allow-run-as-root asks for; of no effect for others.
            set(environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
        endif()
        foreach(processes 2 3 4)
            set(name mpi_${mpi}_test_${processes})
            add_test(NAME ${name} COMMAND ${launch} -n ${processes} $<TARGET_FILE:mpi_${mpi}_test>)
            set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS timed RUN_SERIAL TRUE
                ENVIRONMENT "${environment}" FAIL_REGULAR_EXPRESSION "test cases: +0 ")
        endforeach()
        # The last rank throws while the others wait for it: they must not wait for ever.
        set(name mpi_${mpi}_exception_ends_all)
        add_test(NAME ${name} COMMAND ${launch} -n 3 $<TARGET_FILE:mpi_${mpi}_test> --throw)
        set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS timed RUN_SERIAL TRUE ENVIRONMENT "${environment}"
            PASS_REGULAR_EXPRESSION "rank 2: error: the last rank gives up")
    endforeach()
endif()
