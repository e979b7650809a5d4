# How executables are linked that go to other systems: with nothing of this one, or with little more than its C library.
if(TAUTO_PORTABLE)
    find_library(TAUTO_STATIC_HWLOC NAMES libhwloc.a DOC "hwloc as an archive, for executables that go to other systems")
    mark_as_advanced(TAUTO_STATIC_HWLOC)
    if(NOT TAUTO_STATIC_HWLOC)
        message(STATUS "tauto-probe will need libhwloc.so where it runs: there is no libhwloc.a here")
    elseif(TAUTO_INSTALL_DEVELOPMENT)
        message(FATAL_ERROR "TAUTO_PORTABLE is for executables: add -DTAUTO_INSTALL_DEVELOPMENT=OFF")
    endif()
endif()

# tauto_is_portable(TARGET): an executable that loads no library by its name, and so can do without the system's.
function(tauto_is_portable target)
    if(TAUTO_PORTABLE)
        tauto_links_statically(${target})
    endif()
endfunction()
