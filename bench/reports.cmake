# What runs the cases of a sweep and shows their records.
set(report_headers
  bound.h
  case_filter.h
  html_parts.h
  html_report.h
  plot_gnuplot.h
  replay.h
  replay_files.h
  replay_layout.h
  report.h
  report_columns.h
  report_notes.h
  report_text.h
  report_verdicts.h
  run_cases.h
  sweep.h
  trial.h
  verdict_json.h)
set(report_sources
  bound.cc
  case_filter.cc
  html_data.cc
  html_parts.cc
  html_report.cc
  plot_gnuplot.cc
  replay.cc
  replay_files.cc
  replay_layout.cc
  report.cc
  report_columns.cc
  report_csv.cc
  report_gbench.cc
  report_json.cc
  report_junit.cc
  report_markdown.cc
  report_nccl.cc
  report_notes.cc
  report_openmetrics.cc
  report_table.cc
  report_text.cc
  run_cases.cc
  sweep.cc
  trial.cc
  verdict_annotations.cc
  verdict_json.cc
  verdict_markdown.cc)

# The page's scripts and style become part of one object file, by the assembler.
file(GLOB html_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/html/*.js
  ${CMAKE_CURRENT_SOURCE_DIR}/html/*.css ${CMAKE_CURRENT_SOURCE_DIR}/html/echarts/*.js)
set_source_files_properties(html_parts.cc PROPERTIES
  COMPILE_DEFINITIONS "COLLBENCH_HTML_FOLDER=\"${CMAKE_CURRENT_SOURCE_DIR}/html\""
  OBJECT_DEPENDS "${html_files}")
