if(TARGET tauto_command_parts)
    tauto_test(command_test ${CMAKE_CURRENT_LIST_DIR}/command_test.cpp LIBRARIES tauto_command_parts ONE_THREAD)
endif()
