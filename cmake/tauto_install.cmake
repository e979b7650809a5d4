# What `cmake --install` puts beside the executables: headers, the libraries, find_package(tautochrone) for C++ and
# find_package(tauto) for C, and the same for pkg-config.
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

# A package of its own: whoever links the shared library needs nothing that it was built on.
if(TARGET tauto_c)
    set(c_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tauto)
    install(FILES ${PROJECT_SOURCE_DIR}/include/tauto.h ${PROJECT_SOURCE_DIR}/bindings/fortran/tauto.f90
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(TARGETS tauto_c EXPORT tautoTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(EXPORT tautoTargets NAMESPACE tauto:: DESTINATION ${c_package_dir} FILE tautoConfig.cmake)
    write_basic_package_version_file(${PROJECT_BINARY_DIR}/tautoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
    install(FILES ${PROJECT_BINARY_DIR}/tautoConfigVersion.cmake DESTINATION ${c_package_dir})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/tauto.pc.in ${PROJECT_BINARY_DIR}/tauto.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/tauto.pc DESTINATION ${pkgconfig_dir})
endif()
