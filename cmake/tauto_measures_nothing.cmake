# tauto_measures_nothing(TARGET): compiled with -O1, in less time. Nothing in it is measured.
function(tauto_measures_nothing target)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
