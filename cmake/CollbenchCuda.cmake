# Looks for the CUDA Toolkit, also in its usual place without nvcc in PATH: COLLBENCH_CUDA says
# whether GPUs are supported. Where it is not found, or older than 12.0 (the first whose compiler
# knows C++20), nothing of CUDA is compiled.
set(COLLBENCH_CUDA FALSE)
if(COLLBENCH_WITH_CUDA)
  find_package(CUDAToolkit 12.0 QUIET)
  if(CUDAToolkit_FOUND AND TARGET CUDA::cudart_static)
    set(COLLBENCH_CUDA TRUE)
  endif()
endif()
