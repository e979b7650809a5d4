tauto_test(schedule_test schedule_test.cpp LIBRARIES tautochrone)
tauto_test(loop_model_test loop_model_test.cpp LIBRARIES tautochrone)
tauto_test(team_test team_test.cpp LIBRARIES tautochrone TIMEOUT 240)
tauto_test(team_limits_test team_limits_test.cpp LIBRARIES tautochrone TIMEOUT 240)
tauto_test(trace_test trace_test.cpp LIBRARIES tautochrone)
# Without die_after_fork=0 ThreadSanitizer ends a forked child that starts threads, which is what is tested.
set_tests_properties(team_limits_test PROPERTIES ENVIRONMENT "TSAN_OPTIONS=die_after_fork=0:halt_on_error=1")
tauto_test(parallel_reduce_test parallel_reduce_test.cpp LIBRARIES tautochrone TIMEOUT 240)
tauto_test(exact_sum_test exact_sum_test.cpp LIBRARIES tautochrone)
