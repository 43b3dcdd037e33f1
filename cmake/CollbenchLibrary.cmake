# collbench_library(name FOLDERS folder... [EXCEPT regex...] [SOURCES file...] USES name...
#                   LINKS target... PRIVATE_LINKS target... PACKAGES package...)
# makes one library: target collbench_<name>, alias collbench::<name>, installed with its headers.
# It holds every header and source of FOLDERS, whose names do not match a regular expression of
# EXCEPT, and SOURCES. So a new file needs no line here. USES names libraries below; LINKS reach
# users, PRIVATE_LINKS stay in the .cc files. PACKAGES are what find_package() calls the origin of
# the links, for users of the installed library.
include(GNUInstallDirs)

function(collbench_library folder)
  cmake_parse_arguments(arg "" "" "FOLDERS;EXCEPT;SOURCES;USES;LINKS;PRIVATE_LINKS;PACKAGES" ${ARGN})
  set(arg_HEADERS)
  foreach(part IN LISTS arg_FOLDERS)
    file(GLOB found CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}
      ${CMAKE_CURRENT_SOURCE_DIR}/${part}/*.h ${CMAKE_CURRENT_SOURCE_DIR}/${part}/*.cc
      ${CMAKE_CURRENT_SOURCE_DIR}/${part}/*.cu)
    foreach(except IN LISTS arg_EXCEPT)
      list(FILTER found EXCLUDE REGEX "${except}")
    endforeach()
    set(found_headers ${found})
    list(FILTER found_headers INCLUDE REGEX "\\.h$")
    list(FILTER found EXCLUDE REGEX "\\.h$")
    list(APPEND arg_HEADERS ${found_headers})
    list(APPEND arg_SOURCES ${found})
  endforeach()
  set(target collbench_${folder})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    collbench_warnings(${target})
    collbench_quick(${target})
    collbench_first_batch(${target} ${arg_LINKS} ${arg_PRIVATE_LINKS})
    collbench_generated(${target} ${arg_SOURCES})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(collbench::${folder} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${folder})
  target_compile_features(${target} ${scope} cxx_std_20)
  # A header whose source is compiled here comes first in it (clang-format sees to that), so that
  # compiling the source shows that the header needs no other before it. The rest are verified.
  set(alone ${arg_HEADERS})
  list(TRANSFORM arg_SOURCES REPLACE "\\.cc$" ".h" OUTPUT_VARIABLE first_included)
  list(REMOVE_ITEM alone ${first_included})
  set(with_source ${arg_HEADERS})
  list(REMOVE_ITEM with_source ${alone})
  target_sources(${target} ${scope}
    FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${with_source}
    FILE_SET headers_alone TYPE HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${alone})
  target_include_directories(${target} ${scope}
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/collbench>)
  list(TRANSFORM arg_USES PREPEND collbench::)
  target_link_libraries(${target} ${scope} ${arg_USES} ${arg_LINKS})
  if(arg_PRIVATE_LINKS)
    target_link_libraries(${target} PRIVATE ${arg_PRIVATE_LINKS})
  endif()
  set_target_properties(${target} PROPERTIES
    VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY headers_alone)
  install(TARGETS ${target} EXPORT collbench-targets
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/collbench
    FILE_SET headers_alone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/collbench)
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

# collbench_archive_of(result library): the archive beside the shared `library`, where such are wanted
# and it is installed; else `library`.
function(collbench_archive_of result library)
  string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${library}")
  if(NOT COLLBENCH_ARCHIVES OR NOT EXISTS "${archive}")
    set(archive ${library})
  endif()
  set(${result} ${archive} PARENT_SCOPE)
endfunction()

# collbench_link_archives(target...): whoever links these imported libraries, those of them that there
# are, links their archives, where they are wanted and installed.
function(collbench_link_archives)
  foreach(target IN LISTS ARGN)
    if(COLLBENCH_ARCHIVES AND TARGET ${target})
      get_target_property(library ${target} LOCATION)
      collbench_archive_of(archive "${library}")
      if(NOT archive STREQUAL library)
        foreach(configuration "" _NONE _RELEASE _NOCONFIG)
          set_property(TARGET ${target} PROPERTY IMPORTED_LOCATION${configuration} ${archive})
        endforeach()
      endif()
    endif()
  endforeach()
endfunction()

# collbench_generated(target source...): those that commands write have a target of their own, which
# depends on nothing. CMake would else run the commands, and compile what waits for them, only when
# all libraries below are complete.
function(collbench_generated target)
  set(generated)
  foreach(source IN LISTS ARGN)
    cmake_path(IS_PREFIX CMAKE_CURRENT_BINARY_DIR ${source} is_here)
    if(is_here)
      list(APPEND generated ${source})
    endif()
  endforeach()
  if(generated)
    add_custom_target(${target}_generated DEPENDS ${generated})
    add_dependencies(${target} ${target}_generated)
  endif()
endfunction()

# collbench_quick(target): its sources are compiled in batches of COLLBENCH_BATCH, where what many
# include is parsed once for all and templates are instantiated once; and the headers that nearly
# every source includes are precompiled, once for all targets of the same optimisation. Sources still
# include what they use: builds without (dev, clang, tidy) would not compile otherwise. Those with
# options of their own take no part in either.
function(collbench_quick target)
  if(COLLBENCH_BATCH GREATER 1)
    set_target_properties(${target} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${COLLBENCH_BATCH})
  endif()
  if(NOT COLLBENCH_PRECOMPILE)
    return()
  endif()
  get_directory_property(options COMPILE_OPTIONS)
  string(SHA1 kind "${options}")
  string(SUBSTRING ${kind} 0 8 kind)
  set(precompiled collbench_precompiled_${kind})
  if(NOT TARGET ${precompiled})
    collbench_precompiled(${precompiled} <fmt/ranges.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options)
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# collbench_precompiled(target header...): a library of nothing but what nearly every source
# includes and the headers named, precompiled for targets of the same options to reuse.
function(collbench_precompiled target)
  set(empty ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc)
  file(WRITE ${empty} "")
  add_library(${target} OBJECT ${empty})
  target_compile_features(${target} PRIVATE cxx_std_20)
  collbench_warnings(${target})
  target_link_libraries(${target} PRIVATE fmt::fmt Threads::Threads)
  target_precompile_headers(${target} PRIVATE <algorithm> <cstdint> <functional> <map> <memory>
    <optional> <span> <string> <vector> <fmt/format.h> ${ARGN})
endfunction()

# collbench_compile_quickly(): targets of this folder are optimised less than the preset says, since
# their code takes longer to compile than it runs: not at all in Debug builds, and by -O1 in those of
# ./collbench, where that saves a fifth of the compiler's time.
macro(collbench_compile_quickly)
  add_compile_options("$<$<AND:$<CONFIG:Debug>,$<COMPILE_LANGUAGE:CXX>>:-O0>"
    "$<$<AND:$<CONFIG:RelWithDebInfo>,$<COMPILE_LANGUAGE:CXX>>:-O1>")
endmacro()

# Warnings that both g++ 12 and clang 14 must stay silent about; errors with COLLBENCH_WERROR.
function(collbench_warnings target)
  set(gnu12 "$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>")
  set(warnings
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    # What one file calls a constant, another file of its batch may call a parameter.
    $<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-shadow>
    # g++ takes a source of a batch for a header, which should have no unnamed namespace.
    "$<$<AND:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>"
    # g++ 12 warns of overlapping copies inside std::string at -O3 (GCC bug 105651).
    $<${gnu12}:-Wno-restrict>
    # It does so elsewhere in the C++ library, too, once its headers are precompiled.
    "$<$<AND:$<BOOL:${COLLBENCH_PRECOMPILE}>,${gnu12}>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>"
    $<$<BOOL:${COLLBENCH_WERROR}>:-Werror>)
  # nvcc has other options; it passes none of these on.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")
endfunction()
