# NCCL and NVML as they are found at run time: the component collbench::transports_nccl, in every
# build, with and without the CUDA Toolkit.
collbench_library(transports_nccl
  HEADERS cuda_driver.h gpu_survey.h nccl_abi.h nccl_communicator.h nccl_presence.h
    nccl_session.h nccl_settings.h
  SOURCES cuda_driver.cc gpu_survey.cc nccl_communicator.cc nccl_presence.cc nccl_session.cc nccl_settings.cc
  USES transports_cuda transports algorithms core
  LINKS fmt::fmt Threads::Threads)
