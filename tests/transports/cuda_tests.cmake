# Tests of what is known of GPUs. Two small libraries stand in for NCCL.
foreach(kind works fails)
  add_library(collbench_nccl_${kind} MODULE nccl_stand_in.cc)
endforeach()
target_compile_definitions(collbench_nccl_works PRIVATE NCCL_ERROR=0)
target_compile_definitions(collbench_nccl_fails PRIVATE NCCL_ERROR=3)

collbench_test(transports_cuda
  SOURCES cuda_elements_test.cc cuda_reason_test.cc nccl_library_test.cc every_element.cc
  USES transports_cuda)
target_compile_definitions(collbench_transports_cuda_test PRIVATE
  NCCL_THAT_WORKS="$<TARGET_FILE:collbench_nccl_works>"
  NCCL_THAT_FAILS="$<TARGET_FILE:collbench_nccl_fails>"
  COLLBENCH_BUILT_WITH_CUDA=$<BOOL:${COLLBENCH_CUDA}>)
add_dependencies(collbench_transports_cuda_test collbench_nccl_works collbench_nccl_fails)
# The reference must not contract where the host has a fused multiply-add.
set_source_files_properties(cuda_elements_test.cc PROPERTIES COMPILE_OPTIONS -ffp-contract=off)

if(COLLBENCH_CUDA)
  collbench_test(cuda_reduce
    SOURCES cuda_reduce_test.cc every_element.cc
    USES transports_cuda
    LINKS CUDA::cudart_static
    LABELS gpu)
endif()
