# The engine on GPUs, where the CUDA Toolkit and the headers of cuDNN 9 and cuBLAS are; its row of
# the engines is absent elsewhere. The two libraries are loaded when a program asks for them.
set(cudnn_sources cudnn_absent.cc)
if(COLLBENCH_CUDA)
  find_path(CUDNN_INCLUDE_DIR cudnn_cnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_path(CUBLAS_INCLUDE_DIR cublas_v2.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  mark_as_advanced(CUDNN_INCLUDE_DIR CUBLAS_INCLUDE_DIR)
endif()
if(CUDNN_INCLUDE_DIR AND CUBLAS_INCLUDE_DIR)
  set(cudnn_sources cudnn_engine.cc gpu_graphs.cc gpu_kernels.cu gpu_layers.cc gpu_math.cc
    gpu_optimizer.cc)
  set(cudnn_links collbench::transports_device collbench::transports_nccl CUDA::cudart_static)
  set_source_files_properties(gpu_kernels.cu PROPERTIES
    COMPILE_OPTIONS "--expt-relaxed-constexpr;--extended-lambda")
  set_source_files_properties(gpu_math.cc PROPERTIES
    INCLUDE_DIRECTORIES "${CUDNN_INCLUDE_DIR};${CUBLAS_INCLUDE_DIR}")
endif()
