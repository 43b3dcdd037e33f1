# Steps that are timed but not computed. The tables of layers become part of the library.
file(GLOB workload_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/workloads/*.csv)
set(shipped_workloads ${CMAKE_CURRENT_BINARY_DIR}/shipped_workloads.cc)
add_custom_command(OUTPUT ${shipped_workloads}
  COMMAND ${CMAKE_COMMAND} -D FOLDER=${CMAKE_CURRENT_SOURCE_DIR}/workloads
    -D OUTPUT=${shipped_workloads} -P ${CMAKE_CURRENT_SOURCE_DIR}/embed_workloads.cmake
  DEPENDS embed_workloads.cmake ${workload_files}
  COMMENT "Embedding the tables of workloads")
set(simulated_headers bucket_plan.h replay.h shipped_workloads.h simulated_compute.h
  simulated_jitter.h simulated_step.h simulated_trace.h simulated_training.h workload.h
  workload_profile.h)
set(simulated_sources bucket_plan.cc replay.cc simulated_compute.cc simulated_jitter.cc
  simulated_step.cc simulated_trace.cc simulated_training.cc workload.cc workload_profile.cc
  workload_table.cc ${shipped_workloads})
