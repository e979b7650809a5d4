# What the wheel holds besides executables and Python: the sources that `tauto study --build` compiles.
foreach(folder cmake include kernels options runners runtime)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION tautochrone/sources)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/CMakeLists.txt ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/packages.txt
    DESTINATION tautochrone/sources)
