# Exports of choices, imports for NCCL's model, and the times measured on this kind of host, which
# become part of the library.
find_package(nlohmann_json 3.11 REQUIRED)

set(times ${CMAKE_CURRENT_BINARY_DIR}/local_times_text.cc)
add_custom_command(OUTPUT ${times}
  COMMAND ${CMAKE_COMMAND} -D INPUT=${CMAKE_CURRENT_SOURCE_DIR}/local_times.csv -D OUTPUT=${times}
    -P ${CMAKE_CURRENT_SOURCE_DIR}/embed_times.cmake
  DEPENDS embed_times.cmake local_times.csv
  COMMENT "Embedding measured times")

set(export_headers export_rules.h import_nccl_graphs.h local_times.h nccl_plugin/tuner_rules.h)
set(export_sources export_code.cc export_ompi.cc export_rules.cc import_nccl_graphs.cc
  local_times.cc nccl_plugin/tuner_rules.cc ${times})
