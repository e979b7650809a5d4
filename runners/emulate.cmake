find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)

# The parts are a library of their own, so that a test can use them without the executable.
add_library(tauto_emulate_parts STATIC
    ${CMAKE_CURRENT_LIST_DIR}/emulate_calibration.cpp
    ${CMAKE_CURRENT_LIST_DIR}/emulate_command.cpp
    ${CMAKE_CURRENT_LIST_DIR}/emulate_emulation.cpp
    ${CMAKE_CURRENT_LIST_DIR}/emulate_hold.cpp
    ${CMAKE_CURRENT_LIST_DIR}/emulate_laboratory.cpp
    ${CMAKE_CURRENT_LIST_DIR}/emulate_process.cpp
    ${CMAKE_CURRENT_LIST_DIR}/emulate_request.cpp
    ${CMAKE_CURRENT_LIST_DIR}/emulate_session.cpp
    ${CMAKE_CURRENT_LIST_DIR}/emulate_slowdown.cpp
    ${CMAKE_CURRENT_LIST_DIR}/emulate_thief.cpp
    ${CMAKE_CURRENT_LIST_DIR}/emulate_watch.cpp)
target_include_directories(tauto_emulate_parts PUBLIC ${CMAKE_CURRENT_LIST_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(tauto_emulate_parts PUBLIC Threads::Threads nlohmann_json::nlohmann_json
                                          PRIVATE tauto_warnings)

add_executable(tauto-emulate ${CMAKE_CURRENT_LIST_DIR}/emulate.cpp)
target_link_libraries(tauto-emulate PRIVATE tauto_emulate_parts CLI11::CLI11 tauto_warnings)
install(TARGETS tauto-emulate RUNTIME DESTINATION ${TAUTO_BIN_DIR})
