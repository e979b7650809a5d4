if(TARGET tauto_simulator)
    tauto_test(simulator_test ${CMAKE_CURRENT_LIST_DIR}/simulator_test.cpp LIBRARIES tauto_simulator ONE_THREAD)
endif()
