# The mapreduce study's runners. A peer that is not installed is left out with one line.
add_library(tauto_mapreduce_common STATIC
    common/hash_tasks.cpp
    common/mapreduce_request.cpp
    common/mapreduce_row.cpp
    common/timeline.cpp
)
target_link_libraries(tauto_mapreduce_common
    PUBLIC tauto_runner_common
    PRIVATE CLI11::CLI11 tauto_warnings)

tauto_runner(mapreduce serial)
tauto_runner(mapreduce async Threads::Threads)
tauto_peer_runners(mapreduce)

find_package(Qt6 QUIET COMPONENTS Core Concurrent)
if(NOT Qt6_FOUND)
    find_package(Qt5 5.15 QUIET COMPONENTS Core Concurrent)
endif()
if(Qt6_FOUND)
    tauto_runner(mapreduce qt Qt6::Concurrent)
elseif(Qt5_FOUND)
    tauto_runner(mapreduce qt Qt5::Concurrent)
else()
    message(STATUS "tauto-mapreduce-qt left out: Qt 6 or 5.15 is missing (Debian: qt6-base-dev or qtbase5-dev)")
endif()

tauto_tautochrone_runner(mapreduce map_reduce.hpp)
