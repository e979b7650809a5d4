# What `cmake --install` puts beside the executables: headers, the static library, find_package(tautochrone) and the
# same for pkg-config.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tautochrone)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tauto DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.hpp")
install(TARGETS tautochrone EXPORT tautochroneTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT tautochroneTargets NAMESPACE tautochrone:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tautochroneConfig.cmake.in
    ${PROJECT_BINARY_DIR}/tautochroneConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tautochroneConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tautochroneConfig.cmake ${PROJECT_BINARY_DIR}/tautochroneConfigVersion.cmake
    DESTINATION ${package_dir})

# Relative to itself, so that an installation may be moved.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
string(REGEX REPLACE "[^/]+" ".." tauto_pc_up ${pkgconfig_dir})
configure_file(${PROJECT_SOURCE_DIR}/cmake/tautochrone.pc.in ${PROJECT_BINARY_DIR}/tautochrone.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tautochrone.pc DESTINATION ${pkgconfig_dir})
