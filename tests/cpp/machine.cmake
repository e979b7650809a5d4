# The trees are written by a script that the Python tests import as well.
find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
set(builder ${PROJECT_SOURCE_DIR}/tests/fake_trees/build_trees.py)
set(trees ${CMAKE_CURRENT_BINARY_DIR}/fake_trees)
add_custom_command(OUTPUT ${trees}.stamp
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${trees}
    COMMAND ${Python3_EXECUTABLE} ${builder} ${trees}
    COMMAND ${CMAKE_COMMAND} -E touch ${trees}.stamp
    DEPENDS ${builder} VERBATIM)
add_custom_target(fake_trees DEPENDS ${trees}.stamp)

tauto_test(machine_test machine_test.cpp LIBRARIES tautochrone)
add_dependencies(machine_test fake_trees)
target_compile_definitions(machine_test PRIVATE TAUTO_FAKE_TREES="${trees}")

if(TARGET tauto_probe_parts)
    tauto_test(probe_test probe_test.cpp LIBRARIES tauto_probe_parts)
    add_dependencies(probe_test fake_trees)
    target_compile_definitions(probe_test PRIVATE TAUTO_FAKE_TREES="${trees}")
    # It spins on every CPU; beside other tests it would only measure those.
    set_tests_properties(probe_test PROPERTIES RUN_SERIAL TRUE)
    if(TAUTO_SANITIZE STREQUAL "thread")
        # The OpenMP libraries that are probed synchronise in ways that it cannot see.
        set_tests_properties(probe_test PROPERTIES
            ENVIRONMENT "TSAN_OPTIONS=halt_on_error=1 ignore_noninstrumented_modules=1")
    endif()
endif()
