# NCCL and NVML as they are found at run time: the component collbench::transports_nccl, in every
# build, with and without the CUDA Toolkit.
collbench_library(transports_nccl
  HEADERS gpu_survey.h nccl_abi.h nccl_communicator.h nccl_group.h nccl_presence.h
    nccl_session.h nccl_settings.h placed_communicator.h
  SOURCES gpu_survey.cc nccl_communicator.cc nccl_group.cc nccl_presence.cc nccl_session.cc
    nccl_settings.cc placed_communicator.cc
  USES transports_cuda transports algorithms core
  LINKS fmt::fmt Threads::Threads)
