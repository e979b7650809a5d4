# tauto_measures_nothing(TARGET): compiled in less of the compiler's time. What is measured does not run in it.
function(tauto_measures_nothing target)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
