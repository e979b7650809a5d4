if(TARGET tauto_emulate_parts)
    tauto_test(emulate_test ${CMAKE_CURRENT_LIST_DIR}/emulate_test.cpp LIBRARIES tauto_emulate_parts)
endif()
