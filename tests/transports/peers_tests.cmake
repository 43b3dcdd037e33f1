# Tests of the black boxes, where their packages are.
if(TARGET collbench_transports_gloo)
  collbench_test(transports_gloo SOURCES gloo_test.cc USES transports_gloo TIMEOUT 60)
endif()
if(TARGET collbench_transports_mpi)
  collbench_test(transports_mpi SOURCES mpi_test.cc USES transports_mpi LINKS fmt::fmt TIMEOUT 60)
endif()
