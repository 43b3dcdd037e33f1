# collbench_library(folder HEADERS ... SOURCES ... USES folder... LINKS target...
#                   PRIVATE_LINKS target... PACKAGES package...)
# makes the library of one folder: target collbench_<folder>, alias collbench::<folder>, installed
# with its headers. USES names floors below; LINKS reach users, PRIVATE_LINKS stay in the .cc files.
# PACKAGES are what find_package() calls the origin of the links, for users of the installed library.
include(GNUInstallDirs)

function(collbench_library folder)
  cmake_parse_arguments(arg "" "" "HEADERS;SOURCES;USES;LINKS;PRIVATE_LINKS;PACKAGES" ${ARGN})
  set(target collbench_${folder})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    collbench_warnings(${target})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(collbench::${folder} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_sources(${target} ${scope} FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${arg_HEADERS})
  target_include_directories(${target} ${scope}
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/collbench>)
  list(TRANSFORM arg_USES PREPEND collbench::)
  target_link_libraries(${target} ${scope} ${arg_USES} ${arg_LINKS})
  if(arg_PRIVATE_LINKS)
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE_LINKS})
  endif()
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  install(TARGETS ${target} EXPORT collbench-targets
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/collbench)
  set_property(GLOBAL APPEND PROPERTY COLLBENCH_COMPONENTS ${folder})
  # What a user of this component needs: its own packages, and those of all it is linked with.
  set(packages ${arg_PACKAGES})
  set(linked ${arg_USES} ${arg_LINKS} ${arg_PRIVATE_LINKS})
  list(FILTER linked INCLUDE REGEX "^collbench::")
  foreach(floor IN LISTS linked)
    string(REPLACE "collbench::" "" floor ${floor})
    get_property(floor_packages GLOBAL PROPERTY COLLBENCH_PACKAGES_${floor})
    list(APPEND packages ${floor_packages})
  endforeach()
  list(REMOVE_DUPLICATES packages)
  set_property(GLOBAL PROPERTY COLLBENCH_PACKAGES_${folder} ${packages})
endfunction()

# Warnings that both g++ 12 and clang 14 must stay silent about; errors with COLLBENCH_WERROR.
function(collbench_warnings target)
  set(warnings
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    # g++ 12 warns of overlapping copies inside std::string at -O3 (GCC bug 105651).
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
    $<$<BOOL:${COLLBENCH_WERROR}>:-Werror>)
  # nvcc has other options; it passes none of these on.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")
endfunction()
