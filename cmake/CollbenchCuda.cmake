# Looks for the CUDA Toolkit, also in its usual place without nvcc in PATH: COLLBENCH_CUDA says
# whether GPUs are supported. Where it is not found, or older than 12.0 (the first whose compiler
# knows C++20), or where its compiler does not work with ours, nothing of CUDA is compiled.
set(COLLBENCH_CUDA FALSE)
if(COLLBENCH_WITH_CUDA)
  find_package(CUDAToolkit 12.0 QUIET)
endif()
if(NOT CUDAToolkit_FOUND OR NOT TARGET CUDA::cudart_static)
  return()
endif()
include(CheckLanguage)
if(NOT DEFINED ENV{CUDACXX})
  set(ENV{CUDACXX} ${CUDAToolkit_NVCC_EXECUTABLE})
endif()
if(NOT CMAKE_CUDA_HOST_COMPILER)
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
endif()
# For this machine alone, one architecture is enough: the oldest of its GPUs, which later ones
# translate. Without a GPU nothing will run: portable code is the quickest to compile.
option(COLLBENCH_CUDA_NATIVE "Compile for the GPUs of this machine only" OFF)
if(COLLBENCH_CUDA_NATIVE AND NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE capabilities OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${capabilities}")
  list(SORT capabilities COMPARE NATURAL)
  list(APPEND capabilities 75-virtual)
  list(GET capabilities 0 CMAKE_CUDA_ARCHITECTURES)
  string(REPLACE "." "" CMAKE_CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
endif()
# Code of 7.5 and 8.0 also runs on later devices of the same generation (8.6, 8.9); what comes after
# Hopper translates the portable code of 9.0 when it first runs.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)
endif()
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(WARNING "No GPU support: ${CUDAToolkit_NVCC_EXECUTABLE} cannot compile here with "
    "${CMAKE_CUDA_HOST_COMPILER}. -DCOLLBENCH_WITH_CUDA=OFF silences this.")
  return()
endif()
enable_language(CUDA)
# CMake 3.25 does not know that nvcc speaks C++20 since 12.0.
foreach(dialect STANDARD EXTENSION)
  if(NOT DEFINED CMAKE_CUDA20_${dialect}_COMPILE_OPTION)
    set(CMAKE_CUDA20_${dialect}_COMPILE_OPTION -std=c++20)
  endif()
endforeach()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(COLLBENCH_CUDA TRUE)
