# tauto-probe: describes and measures the machine. The runtime itself knows neither JSON nor command lines.
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)

# The parts are a library of their own, so that tests can use them without the executable.
add_library(tauto_probe_parts STATIC
    ${CMAKE_CURRENT_LIST_DIR}/probe_fork_join.cpp
    ${CMAKE_CURRENT_LIST_DIR}/probe_json.cpp
    ${CMAKE_CURRENT_LIST_DIR}/probe_latency.cpp
    ${CMAKE_CURRENT_LIST_DIR}/probe_measured.cpp
    ${CMAKE_CURRENT_LIST_DIR}/probe_memory.cpp
    ${CMAKE_CURRENT_LIST_DIR}/probe_noise.cpp
    ${CMAKE_CURRENT_LIST_DIR}/probe_reading.cpp
    ${CMAKE_CURRENT_LIST_DIR}/probe_speeds.cpp
    ${CMAKE_CURRENT_LIST_DIR}/probe_threads.cpp)
target_include_directories(tauto_probe_parts PUBLIC ${CMAKE_CURRENT_LIST_DIR})
target_link_libraries(tauto_probe_parts PUBLIC tautochrone nlohmann_json::nlohmann_json
                                        PRIVATE tauto_kernels tauto_warnings ${CMAKE_DL_LIBS})

add_executable(tauto-probe ${CMAKE_CURRENT_LIST_DIR}/probe.cpp)
target_link_libraries(tauto-probe PRIVATE tauto_probe_parts CLI11::CLI11 tauto_warnings)
install(TARGETS tauto-probe RUNTIME DESTINATION ${TAUTO_BIN_DIR})
