# Tests of sweeps, of running them, and of the writers of records.
collbench_test(reports
  SOURCES
    report_columns_test.cc
    report_data_test.cc
    report_markdown_test.cc
    report_nccl_test.cc
    report_table_test.cc
    run_cases_test.cc
    sweep_test.cc
  USES bench
  LINKS nlohmann_json::nlohmann_json)
