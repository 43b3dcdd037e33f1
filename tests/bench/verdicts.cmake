# Tests of what compares two versions, and the experiment that says how often it is wrong.
collbench_test(verdicts
  SOURCES
    ab_sequential_test.cc
    ab_test.cc
    compare_rounds_test.cc
    compare_test.cc
    history_test.cc
    statistics_test.cc
  USES bench)
target_compile_definitions(collbench_verdicts_test PRIVATE
  COLLBENCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

add_executable(collbench_verdict_experiment EXCLUDE_FROM_ALL verdict_experiment.cc)
collbench_warnings(collbench_verdict_experiment)
target_include_directories(collbench_verdict_experiment PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(collbench_verdict_experiment PRIVATE collbench::bench)
