# Warnings are errors in this tree; a consumer of the installed package never inherits them.
add_library(tauto_warnings INTERFACE)
target_compile_options(tauto_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
