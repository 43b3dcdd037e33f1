# `cmake --build BUILD --target package`: a relocatable archive for machines without a toolchain.
#
# It holds the command and every shared library that it is linked with or loads, but those of glibc,
# which cannot be taken along: the archive runs where glibc is at least as new as here. Libraries are
# found relative to the command (DT_RPATH, which also serves what the libraries themselves need). CUDA's
# runtime is linked statically; driver, NCCL and NVML are looked for on the machine and never packed.
# MPI cannot be relocated, as it loads parts of itself by absolute path: configure without it
# (cmake --preset package).
# The same where it is built: CMake pads a path that it would edit when installing with empty
# entries, and those are the current directory, from which no library may come.
set_target_properties(collbench PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/collbench"
  INSTALL_RPATH_USE_LINK_PATH ON BUILD_WITH_INSTALL_RPATH ON)
target_link_options(collbench PRIVATE LINKER:--disable-new-dtags)

install(TARGETS collbench COMPONENT portable EXCLUDE_FROM_ALL)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT portable EXCLUDE_FROM_ALL)
get_property(loaded GLOBAL PROPERTY COLLBENCH_LOADED_LIBRARIES)
install(CODE "set(program \"$<TARGET_FILE:collbench>\")
set(loaded \"${loaded}\")
set(docs \"${CMAKE_INSTALL_DOCDIR}\")"
  COMPONENT portable EXCLUDE_FROM_ALL)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/bundle_libraries.cmake
  COMPONENT portable EXCLUDE_FROM_ALL)

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
set(CPACK_GENERATOR TGZ)
set(CPACK_COMPONENTS_ALL portable)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_STRIP_FILES ON)
string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" system)
set(CPACK_PACKAGE_FILE_NAME collbench-${PROJECT_VERSION}-${system})
set(CPACK_ARCHIVE_FILE_NAME ${CPACK_PACKAGE_FILE_NAME})
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
