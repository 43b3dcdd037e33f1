# Other benchmarks' tables, and what calibrations make of the published ones.
collbench_test(foreign
  SOURCES foreign_tables_test.cc
  USES bench)
target_compile_definitions(collbench_foreign_test PRIVATE
  COLLBENCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
