# Tests of the black boxes, where their packages are, and of the script that compares with them.
if(TARGET collbench_transports_gloo)
  collbench_test(transports_gloo SOURCES gloo_test.cc USES transports_gloo TIMEOUT 180)
endif()
if(TARGET collbench_transports_mpi)
  collbench_test(transports_mpi SOURCES mpi_endpoint_ranks.cc mpi_test.cc mpich_rules_test.cc USES transports_mpi LINKS fmt::fmt
    TIMEOUT 180 ASAN_OPTIONS detect_leaks=0)
endif()
find_package(Python3 QUIET COMPONENTS Interpreter)
add_subdirectory(smpi)
if(Python3_FOUND)
  add_test(NAME compare_cpu
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/compare_cpu_test.py)
  set_tests_properties(compare_cpu PROPERTIES TIMEOUT 180 LABELS unit)
endif()
