# tauto_links_statically(TARGET): no shared libraries for this executable, not even the system's, where there are static
# ones. Not every system has them; the sanitizers allow none. Of these libraries no function is kept that nobody calls.
include(CheckCXXSourceCompiles)
if(TAUTO_SANITIZE STREQUAL "")
    set(CMAKE_REQUIRED_LINK_OPTIONS -static)
    check_cxx_source_compiles("#include <string>\nint main(int n, char** v) { return std::string(v[0]).size() > 9u + n; }"
        TAUTO_LINKS_STATICALLY)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
endif()

function(tauto_links_statically target)
    if(TAUTO_LINKS_STATICALLY)
        target_link_options(${target} PRIVATE -static LINKER:--gc-sections)
    endif()
endfunction()
