# Other benchmarks' tables, and what calibrations make of the published ones.
collbench_test(foreign
  SOURCES foreign_numbers_test.cc foreign_tables_test.cc mpi_benchmarks_test.cc
    mpi_collectives_test.cc named_times_test.cc nccl_collectives_test.cc nccl_options_test.cc
    pasted_tables_test.cc
  USES bench)
target_compile_definitions(collbench_foreign_test PRIVATE
  COLLBENCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# Diagnoses of tables with known health, and the experiment that says how often they are wrong.
collbench_test(diagnosis
  SOURCES diagnosis_test.cc diagnosis_verdict_test.cc diagnosis_tables.cc plain_faults.cc
  USES bench heuristics core)
target_compile_definitions(collbench_diagnosis_test PRIVATE
  COLLBENCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

foreach(experiment diagnosis_experiment diagnosis_optimum)
  add_executable(collbench_${experiment} EXCLUDE_FROM_ALL ${experiment}.cc diagnosis_tables.cc
    plain_faults.cc)
  collbench_warnings(collbench_${experiment})
  target_include_directories(collbench_${experiment} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(collbench_${experiment} PRIVATE collbench::bench)
endforeach()

# The constants of NCCL's times: the fit, and systems left out of it.
add_executable(collbench_library_fit EXCLUDE_FROM_ALL
  library_fit.cc studied_constants.cc)
collbench_warnings(collbench_library_fit)
target_include_directories(collbench_library_fit PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(collbench_library_fit PRIVATE collbench::bench)
