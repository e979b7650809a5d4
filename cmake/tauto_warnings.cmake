# Warnings are errors in this tree; a consumer of the installed package never inherits them.
add_library(tauto_warnings INTERFACE)
target_compile_options(tauto_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC bug 105651: std::string's assignment of a literal warns at -O2 and above; fixed in GCC 13.
    target_compile_options(tauto_warnings INTERFACE -Wno-restrict)
endif()
