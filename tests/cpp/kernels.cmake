tauto_test(kernels_test ${CMAKE_CURRENT_LIST_DIR}/kernels_test.cpp LIBRARIES tauto_kernels)
if(TARGET tauto_loop_common)
    tauto_test(loop_runner_test ${CMAKE_CURRENT_LIST_DIR}/loop_runner_test.cpp LIBRARIES tauto_loop_common)
endif()
