# The engine simgrid: simgrid_except and simgrid_definitions (where its module lies), and the module
# that alone is linked with SimGrid's library (simgrid_kernel.h says why). Without SimGrid the engine
# says that it is absent.
set(simgrid_except "simgrid/(simgrid|check|child|endpoint|survey|world|kernel)\\.cc$")
if(COLLBENCH_WITH_SIMGRID)
  find_package(SimGrid QUIET)
  if(SimGrid_FOUND)
    set(simgrid_except "simgrid/(absent|kernel)\.cc$")
    add_library(collbench_simgrid_kernel MODULE simgrid/kernel.cc)
    target_compile_features(collbench_simgrid_kernel PRIVATE cxx_std_20)
    target_include_directories(collbench_simgrid_kernel PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(collbench_simgrid_kernel PRIVATE SimGrid::SimGrid fmt::fmt)
    collbench_warnings(collbench_simgrid_kernel)
    set(simgrid_module_dir ${CMAKE_INSTALL_FULL_LIBDIR}/collbench)
    install(TARGETS collbench_simgrid_kernel LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/collbench)
    file(RELATIVE_PATH from_program ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
    set(simgrid_definitions
      COLLBENCH_SIMGRID_FROM_PROGRAM="${from_program}"
      COLLBENCH_SIMGRID_BUILT="$<TARGET_FILE:collbench_simgrid_kernel>"
      COLLBENCH_SIMGRID_INSTALLED="${simgrid_module_dir}/$<TARGET_FILE_NAME:collbench_simgrid_kernel>")
  endif()
endif()
