# GPUs: the component collbench::transports_cuda. It is there in every build, for `doctor` says why
# there is no GPU; only the sources that need the CUDA Toolkit are exchanged. Its runtime is linked
# statically: the command then starts on machines that have neither the Toolkit nor a driver.
if(COLLBENCH_CUDA)
  set(cuda_sources cuda_devices.cc)
  set(cuda_links PRIVATE_LINKS CUDA::cudart_static PACKAGES CUDAToolkit)
else()
  set(cuda_sources cuda_devices_absent.cc)
  set(cuda_links)
endif()
collbench_library(transports_cuda
  HEADERS cuda_devices.h cuda_reason.h nccl_library.h
  SOURCES cuda_reason.cc nccl_library.cc ${cuda_sources}
  USES core
  LINKS fmt::fmt ${CMAKE_DL_LIBS}
  ${cuda_links})
