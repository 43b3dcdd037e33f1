# What runs the cases of a sweep and shows their records.
set(report_headers
  case_filter.h
  report.h
  report_text.h
  run_cases.h
  sweep.h)
set(report_sources
  case_filter.cc
  report.cc
  report_csv.cc
  report_gbench.cc
  report_json.cc
  report_nccl.cc
  report_table.cc
  report_text.cc
  run_cases.cc
  sweep.cc)
