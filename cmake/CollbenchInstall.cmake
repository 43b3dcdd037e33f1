# `cmake --install` and find_package(collbench CONFIG [COMPONENTS folder...]).
#
# Every folder's library is a component, collbench::<folder>. The libraries are static, so whoever
# links a component also needs the packages that it was built with: the configuration looks for
# them, and a component whose packages are missing counts as not found.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/collbench)
get_property(collbench_components GLOBAL PROPERTY COLLBENCH_COMPONENTS)
set(collbench_component_packages "")
foreach(component IN LISTS collbench_components)
  get_property(packages GLOBAL PROPERTY COLLBENCH_PACKAGES_${component})
  string(APPEND collbench_component_packages "set(collbench_packages_${component} ${packages})\n")
endforeach()
configure_package_config_file(cmake/collbench-config.cmake.in
  ${PROJECT_BINARY_DIR}/collbench-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/collbench-config-version.cmake
  COMPATIBILITY SameMinorVersion)

install(EXPORT collbench-targets NAMESPACE collbench:: DESTINATION ${package_dir})
install(FILES
  ${PROJECT_BINARY_DIR}/collbench-config.cmake
  ${PROJECT_BINARY_DIR}/collbench-config-version.cmake
  DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
