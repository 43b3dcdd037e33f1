# NCCL and NVML, played by small libraries that stand in for them and for the CUDA driver.
add_library(collbench_gpu_stand_in MODULE gpu_stand_in/cuda.cc gpu_stand_in/memory.cc
  gpu_stand_in/nccl.cc gpu_stand_in/nccl_fold.cc gpu_stand_in/nvml.cc)
target_include_directories(collbench_gpu_stand_in PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(collbench_gpu_stand_in PRIVATE Threads::Threads)
collbench_warnings(collbench_gpu_stand_in)
# Two that know their version only: 2.27.7, and an error.
foreach(kind lacks_most fails)
  add_library(collbench_nccl_${kind} MODULE nccl_stand_in.cc)
endforeach()
target_compile_definitions(collbench_nccl_lacks_most PRIVATE NCCL_ERROR=0)
target_compile_definitions(collbench_nccl_fails PRIVATE NCCL_ERROR=3)

collbench_test(nccl
  SOURCES cuda_neighbours_test.cc gpu_machine_test.cc gpu_survey_test.cc nccl_communicator_test.cc
    nccl_group_test.cc nccl_library_test.cc nccl_settings_test.cc
  USES transports_nccl bench topologies KEEPS_MEMORY
  ASAN_OPTIONS detect_leaks=0)
target_compile_definitions(collbench_nccl_test PRIVATE
  GPU_STAND_IN="$<TARGET_FILE:collbench_gpu_stand_in>"
  NCCL_THAT_LACKS_MOST="$<TARGET_FILE:collbench_nccl_lacks_most>"
  NCCL_THAT_FAILS="$<TARGET_FILE:collbench_nccl_fails>")
add_dependencies(collbench_nccl_test collbench_gpu_stand_in collbench_nccl_lacks_most
  collbench_nccl_fails)
