# GPUs: the component collbench::transports_cuda. It is there in every build, for `doctor` says why
# there is no GPU; only the sources that need the CUDA Toolkit are exchanged. Its runtime is linked
# statically: the command then starts on machines that have neither the Toolkit nor a driver.
if(COLLBENCH_CUDA)
  set(cuda_sources cuda_devices.cc cuda_error.cc cuda_reduce.cu)
  set(cuda_links PRIVATE_LINKS CUDA::cudart_static PACKAGES CUDAToolkit)
else()
  set(cuda_sources cuda_devices_absent.cc)
  set(cuda_links)
endif()
collbench_library(transports_cuda
  HEADERS cuda_devices.h cuda_driver.h cuda_elements.h cuda_neighbours.h cuda_reason.h
    cuda_reduce.h cuda_wish.h nccl_library.h shared_library.h
  SOURCES cuda_driver.cc cuda_neighbours.cc cuda_reason.cc cuda_wish.cc nccl_library.cc
    shared_library.cc ${cuda_sources}
  USES transports algorithms core
  LINKS fmt::fmt ${CMAKE_DL_LIBS}
  ${cuda_links})
# The reductions give the bits of the CPU: no contraction; functions of one element are constexpr
# and shared with the host.
if(COLLBENCH_CUDA)
  set_source_files_properties(cuda_reduce.cu PROPERTIES
    COMPILE_OPTIONS "--expt-relaxed-constexpr;--fmad=false")
endif()
include(nccl.cmake)
