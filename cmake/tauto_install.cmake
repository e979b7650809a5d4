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

# Relative to itself, so that an installation may be moved; full paths where the folders are given as such.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
    set(tauto_pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
    string(REGEX REPLACE "[^/]+" ".." tauto_pc_prefix ${pkgconfig_dir})
    string(PREPEND tauto_pc_prefix "\${pcfiledir}/")
endif()
set(tauto_pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
set(tauto_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
    set(tauto_pc_libdir ${CMAKE_INSTALL_LIBDIR})
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
    set(tauto_pc_includedir ${CMAKE_INSTALL_INCLUDEDIR})
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/tautochrone.pc.in ${PROJECT_BINARY_DIR}/tautochrone.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tautochrone.pc DESTINATION ${pkgconfig_dir})
