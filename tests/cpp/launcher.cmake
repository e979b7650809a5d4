if(TARGET tauto_launcher_parts)
    tauto_test(launcher_test ${CMAKE_CURRENT_LIST_DIR}/launcher_test.cpp LIBRARIES tauto_launcher_parts ONE_THREAD)
endif()
