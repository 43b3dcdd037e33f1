# Finds SimGrid with pkg-config: SimGrid_FOUND, SimGrid_VERSION and SimGrid::SimGrid.
#
# simulator/simgrid/kernel.cc starts messages of an actor from a timer, which 3.34 forbids, and uses
# functions that 3.31 lacks, so only 3.32 and 3.33 will do.
include(FindPackageHandleStandardArgs)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(SimGrid QUIET IMPORTED_TARGET GLOBAL simgrid)
endif()
if(SimGrid_VERSION VERSION_GREATER_EQUAL 3.32 AND SimGrid_VERSION VERSION_LESS 3.34)
  set(SimGrid_VERSION_SERVES TRUE)
endif()
find_package_handle_standard_args(SimGrid
  REQUIRED_VARS SimGrid_LINK_LIBRARIES SimGrid_VERSION_SERVES VERSION_VAR SimGrid_VERSION)
if(SimGrid_FOUND AND NOT TARGET SimGrid::SimGrid)
  add_library(SimGrid::SimGrid ALIAS PkgConfig::SimGrid)
endif()
