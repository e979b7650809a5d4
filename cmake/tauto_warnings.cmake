# Warnings are errors in this tree; a consumer of the installed package never inherits them.
add_library(tauto_warnings INTERFACE)
target_compile_options(tauto_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC bug 105651: std::string's assignment of a literal warns at -O2 and above; fixed in GCC 13.
    target_compile_options(tauto_warnings INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # clang's -Wconversion asks for more than GCC's; the tree means the same by it under both.
    target_compile_options(tauto_warnings INTERFACE -Wno-sign-conversion)
endif()
