# Steps that are timed but not computed, and the tables of layers.
file(GLOB workload_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/workloads/*.csv)
collbench_embed(shipped_workloads FUNCTION shipped_workload_files HEADER training/shipped_workloads.h
  FILES ${workload_files})
set(simulated_headers bucket_plan.h replay.h shipped_workloads.h simulated_compute.h
  simulated_jitter.h simulated_step.h simulated_trace.h simulated_training.h trace_slices.h workload.h
  workload_profile.h)
set(simulated_sources bucket_plan.cc replay.cc simulated_compute.cc simulated_jitter.cc
  simulated_step.cc simulated_trace.cc simulated_training.cc trace_slices.cc workload.cc
  workload_profile.cc workload_table.cc ${shipped_workloads})
