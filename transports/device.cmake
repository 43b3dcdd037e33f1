# Our schedules on GPUs: the component collbench::transports_device. What needs no device, plans as
# commands and rows of them, is there in every build; what plays them, with the CUDA Toolkit only.
if(COLLBENCH_CUDA)
  set(device_headers cuda_communicator.h cuda_error.h cuda_memory.h cuda_process.h cuda_program.h
    cuda_rows.h cuda_world.h)
  set(device_sources cuda_communicator.cc cuda_executor.cc cuda_memory.cc cuda_process.cc
    cuda_program.cc cuda_rows.cu cuda_world.cc)
  set(device_links PRIVATE_LINKS CUDA::cudart_static PACKAGES CUDAToolkit)
  # As cuda_reduce.cu: the bits of the CPU, by functions that are shared with it.
  set_source_files_properties(cuda_rows.cu PROPERTIES
    COMPILE_OPTIONS "--expt-relaxed-constexpr;--fmad=false")
endif()
collbench_library(transports_device
  HEADERS cuda_places.h device_accesses.h device_commands.h device_fold.h device_row_player.h
    device_rows.h ${device_headers}
  SOURCES cuda_places.cc device_accesses.cc device_commands.cc device_rows.cc ${device_sources}
  USES transports_cuda transports algorithms core
  LINKS fmt::fmt Threads::Threads
  ${device_links})
