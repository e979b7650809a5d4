# tauto_reads_options(sources...): reading a command line is a good part of all compiling and of no measurement.
# Sanitizers do not optimise anyway, and compile only what has no options of its own together.
function(tauto_reads_options)
    if(TAUTO_SANITIZE STREQUAL "")
        set_source_files_properties(${ARGV} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
    endif()
endfunction()
