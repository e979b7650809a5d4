# tauto_compiles_together(targets...): the sources of each in a few units, for what measures nothing and of which no
# single object is wanted. It takes half the time. Sources with options of their own stay alone.
function(tauto_compiles_together)
    set_target_properties(${ARGV} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
endfunction()

# tauto_groups_together(TARGET sources...): the same for these sources of a target alone.
function(tauto_groups_together target)
    if(NOT CMAKE_UNITY_BUILD) # which puts all of them together
        set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP ${target})
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    endif()
endfunction()
