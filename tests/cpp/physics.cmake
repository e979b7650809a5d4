tauto_test(physics_test ${CMAKE_CURRENT_LIST_DIR}/physics_test.cpp LIBRARIES tauto_physics ONE_THREAD)
if(TARGET tauto_power_common)
    tauto_test(power_runner_test ${CMAKE_CURRENT_LIST_DIR}/power_runner_test.cpp LIBRARIES tauto_power_common)
    tauto_test(control_group_test ${CMAKE_CURRENT_LIST_DIR}/control_group_test.cpp
        LIBRARIES tauto_power_common ONE_THREAD)
endif()
