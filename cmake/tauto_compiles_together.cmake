# tauto_compiles_together(targets...): the sources of each in a few units, for what measures nothing and of which no
# single object is wanted. It takes half the time. Sources with options of their own stay alone.
function(tauto_compiles_together)
    set_target_properties(${ARGV} PROPERTIES UNITY_BUILD ON)
endfunction()
