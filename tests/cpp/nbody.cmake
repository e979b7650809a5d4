tauto_test(nbody_test ${CMAKE_CURRENT_LIST_DIR}/nbody_test.cpp LIBRARIES tauto_nbody ONE_THREAD)
if(TARGET tauto_nbody_common)
    tauto_test(nbody_runner_test ${CMAKE_CURRENT_LIST_DIR}/nbody_runner_test.cpp LIBRARIES tauto_nbody_common)
    if(EXISTS ${PROJECT_SOURCE_DIR}/include/tauto/member.hpp)
        tauto_test(nbody_scheme_test ${CMAKE_CURRENT_LIST_DIR}/nbody_scheme_test.cpp
                   LIBRARIES tauto_nbody_common tautochrone TIMEOUT 240)
    endif()
endif()
