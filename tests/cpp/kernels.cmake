tauto_test(kernels_test ${CMAKE_CURRENT_LIST_DIR}/kernels_test.cpp LIBRARIES tauto_kernels ONE_THREAD)
