# The black boxes, each a component of its own that exists where its package is found:
# collbench::transports_gloo and collbench::transports_mpi.
if(COLLBENCH_WITH_GLOO)
  find_package(Gloo CONFIG QUIET)
  if(TARGET gloo)
    # Gloo's reduction loops are templates that are compiled here; its own build uses -O3, at which
    # g++ 12 sees an overflow in fmt 9 that cannot happen.
    set_source_files_properties(gloo_all_reduce.cc PROPERTIES
      COMPILE_OPTIONS "-O3;$<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>")
    collbench_library(transports_gloo
      HEADERS gloo.h
      SOURCES gloo.cc gloo_all_reduce.cc
      USES transports
      PRIVATE_LINKS gloo
      PACKAGES Gloo)
  endif()
endif()

if(COLLBENCH_WITH_MPI)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    collbench_library(transports_mpi
      HEADERS mpi.h
      SOURCES mpi.cc mpi_launch.cc
      USES transports
      PRIVATE_LINKS MPI::MPI_CXX
      PACKAGES MPI)
    target_compile_definitions(collbench_transports_mpi PRIVATE
      OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX COLLBENCH_MPIEXEC="${MPIEXEC_EXECUTABLE}")
  endif()
endif()
