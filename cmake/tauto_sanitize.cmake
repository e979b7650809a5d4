# One sanitizer for the whole tree: mixing instrumented and plain code hides races. Not optimised: what is checked is the
# same, the build takes half as long and the tests a few seconds more. A race is hard to see twice, so its report has
# lines; another error comes again with -DCMAKE_CXX_FLAGS=-g1, and UBSan names lines in any case.
set(tauto_sanitize_options -O0 -fno-omit-frame-pointer)
if(TAUTO_SANITIZE STREQUAL "thread")
    add_compile_options(-fsanitize=thread -g1 ${tauto_sanitize_options})
    add_link_options(-fsanitize=thread)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # GCC warns that fences carry no happens-before edge in its model. The protocols' edges all
        # go through acquire and release operations; the fences only order independent locations.
        add_compile_options(-Wno-error=tsan -Wno-tsan)
    endif()
elseif(TAUTO_SANITIZE STREQUAL "address")
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined ${tauto_sanitize_options})
    add_link_options(-fsanitize=address,undefined)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        add_compile_definitions(__SANITIZE_ADDRESS__=1)  # as GCC says it
    endif()
elseif(NOT TAUTO_SANITIZE STREQUAL "")
    message(FATAL_ERROR "TAUTO_SANITIZE is '${TAUTO_SANITIZE}'; it must be empty, 'thread' or 'address'")
endif()
