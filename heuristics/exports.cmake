# Exports of choices, imports for NCCL's model, and the times measured on this kind of host, which
# become part of the library.
find_package(nlohmann_json 3.11 REQUIRED)

collbench_embed(times FUNCTION local_times_files HEADER heuristics/local_times.h
  FILES ${CMAKE_CURRENT_SOURCE_DIR}/local_times.csv)

set(export_headers export_rules.h import_nccl_graphs.h local_times.h nccl_plugin/tuner_rules.h)
set(export_sources export_code.cc export_ompi.cc export_rules.cc import_nccl_graphs.cc
  local_times.cc nccl_plugin/tuner_rules.cc ${times})
