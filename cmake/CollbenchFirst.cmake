# The first number comes early: ./collbench compiles and links a program of what `run` needs, a third
# of all sources, and the rest when something else is asked for. Both use the same object files.
#
# Sources of the first program, as regular expressions of their paths. What they call elsewhere is
# defined for it in cli/first/elsewhere.cc, where an undefined reference shows what to add here or there.
set(COLLBENCH_FIRST_SOURCES
  ^core/
  ^algorithms/
  ^topologies/[a-z_]+\\.cc$
  ^topologies/networks/
  ^heuristics/[a-z_]+\\.cc$
  ^heuristics/policies/\(choose|measured|policy\)\\.cc$
  ^build/\(heuristics|topologies|transports\)/
  ^transports/
  ^simulator/names\\.cc$
  ^bench/measure/
  ^bench/records/
  ^bench/reports/
  ^bench/verdicts/\(compare|pair_cases|statistics_[a-z]+|verdict[a-z_]*\)\\.cc$
  ^cli/\(command|config_file|declare|help|option_words|output_file|remote|reporters|run|run_options|settings|terminal|version\)\\.cc$)
set(COLLBENCH_NOT_FIRST
  ^bench/reports/\(diagnosis|explain|gnuplot|html|plot|replay\)
  ^topologies/local_machine\\.cc$
  ^bench/measure/\(gpu_machine|sweep_file|task_pool\)\\.cc$)

# Paths of object files are known for Ninja alone; compiling for GPUs takes long in any order.
if(NOT CMAKE_GENERATOR MATCHES "Ninja" OR NOT COLLBENCH_BATCH GREATER 1 OR COLLBENCH_CUDA)
  set(COLLBENCH_FIRST OFF)
endif()
# The program is linked in one folder with what was found for libraries in others.
if(COLLBENCH_FIRST)
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL TRUE)
endif()

# collbench_first_batch(target link...): batches of `target` hold sources of the first program alone or
# none. Their object files, and the links that are no libraries of ours, become those of the program.
function(collbench_first_batch target)
  if(NOT COLLBENCH_FIRST)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${path} is_generated)
    if(is_generated)
      cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_BINARY_DIR} OUTPUT_VARIABLE name)
      set(name build/${name})
    endif()
    set(group rest)
    foreach(expression IN LISTS COLLBENCH_FIRST_SOURCES)
      if(name MATCHES "${expression}")
        set(group first)
      endif()
    endforeach()
    foreach(expression IN LISTS COLLBENCH_NOT_FIRST)
      if(name MATCHES "${expression}")
        set(group rest)
      endif()
    endforeach()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    if(group STREQUAL first)
      set(object ${folder}/Unity/unity_first_cxx.cxx.o)
      foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS SKIP_UNITY_BUILD_INCLUSION)
        get_source_file_property(alone ${source} ${property})
        if(alone)
          set(object ${folder}/${source}.o)
        endif()
      endforeach()
      list(APPEND objects ${object})
    endif()
  endforeach()
  if(NOT objects)
    return()
  endif()
  list(REMOVE_DUPLICATES objects)
  set_property(GLOBAL APPEND PROPERTY COLLBENCH_FIRST_OBJECTS ${objects})
  set(links ${ARGN})
  list(FILTER links EXCLUDE REGEX "^collbench::")
  set_property(GLOBAL APPEND PROPERTY COLLBENCH_FIRST_LINKS ${links})
endfunction()
