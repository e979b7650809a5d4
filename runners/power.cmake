# The power study's runners: one for each job, and one that runs two jobs at once. A job whose library is not
# installed is left out with one line.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
find_package(OpenSSL QUIET)
find_path(TAUTO_ZSTD_INCLUDE zstd.h DOC "Folder with the header of zstd (Debian: libzstd-dev)")
find_library(TAUTO_ZSTD_LIBRARY zstd DOC "The library zstd")

add_library(tauto_power_common STATIC
    common/power_request.cpp
    control_group.cpp
    power_job.cpp
    power_physics_job.cpp
)
target_link_libraries(tauto_power_common
    PUBLIC tauto_runner_common tauto_physics tautochrone::tautochrone
    PRIVATE CLI11::CLI11 tauto_warnings)
target_compile_definitions(tauto_power_common PUBLIC TAUTO_VERSION="${PROJECT_VERSION}")

tauto_runner(power physics)

if(OpenSSL_FOUND AND OPENSSL_VERSION VERSION_GREATER_EQUAL 1.1.1)
    target_sources(tauto_power_common PRIVATE power_encryption_job.cpp)
    target_compile_definitions(tauto_power_common PUBLIC TAUTO_OPENSSL)
    target_link_libraries(tauto_power_common PUBLIC OpenSSL::Crypto)
    tauto_runner(power encryption)
else()
    message(STATUS "tauto-power-encryption left out: OpenSSL 1.1.1 is missing (Debian: libssl-dev)")
endif()

if(TAUTO_ZSTD_INCLUDE AND TAUTO_ZSTD_LIBRARY)
    target_sources(tauto_power_common PRIVATE power_compression_job.cpp)
    target_compile_definitions(tauto_power_common PUBLIC TAUTO_ZSTD)
    target_include_directories(tauto_power_common SYSTEM PUBLIC ${TAUTO_ZSTD_INCLUDE})
    target_link_libraries(tauto_power_common PUBLIC ${TAUTO_ZSTD_LIBRARY})
    tauto_runner(power compression)
else()
    message(STATUS "tauto-power-compression left out: zstd is missing (Debian: libzstd-dev)")
endif()

tauto_runner(power together)
