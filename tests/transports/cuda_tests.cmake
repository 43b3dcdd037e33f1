# Tests of what is known of GPUs.
collbench_test(transports_cuda
  SOURCES cuda_elements_test.cc cuda_reason_test.cc every_element.cc
  USES transports_cuda)
target_compile_definitions(collbench_transports_cuda_test PRIVATE
  COLLBENCH_BUILT_WITH_CUDA=$<BOOL:${COLLBENCH_CUDA}>)
include(nccl_tests.cmake)
# What a GPU plays, proven without one.
collbench_test(device
  SOURCES call_meeting_test.cc cuda_call_test.cc cuda_places_test.cc device_commands_test.cc device_levels_test.cc device_memories.cc
    device_rows_test.cc every_element.cc
  USES transports_cuda KEEPS_MEMORY TIMEOUT 600)
set_source_files_properties(device_levels_test.cc device_rows_test.cc PROPERTIES
  COMPILE_OPTIONS -ffp-contract=off)
# The reference must not contract where the host has a fused multiply-add.
set_source_files_properties(cuda_elements_test.cc PROPERTIES COMPILE_OPTIONS -ffp-contract=off)

if(COLLBENCH_CUDA)
  collbench_test(cuda_world
    SOURCES cuda_world_test.cc device_memories.cc every_element.cc
    USES transports_cuda
    LABELS gpu)
endif()
