# Tests of sweeps, of running them, and of the writers of records.
collbench_test(reports
  SOURCES
    html_report_test.cc
    last_run_test.cc
    plot_test.cc
    report_columns_test.cc
    report_data_test.cc
    report_markdown_test.cc
    report_nccl_test.cc
    report_replay_test.cc
    report_table_test.cc
    report_verdicts_test.cc
    run_cases_test.cc
    standings_test.cc
    sweep_test.cc
    trial_test.cc
    verdict_json_test.cc
  USES bench)
