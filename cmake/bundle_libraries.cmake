# Installs what `program` is linked with and what it loads beside it, with the licences of the packages
# it came from. Run while the archive is made; `program`, `loaded` and `docs` are set by the script
# before.
file(GET_RUNTIME_DEPENDENCIES
  EXECUTABLES ${program}
  LIBRARIES ${loaded}
  RESOLVED_DEPENDENCIES_VAR libraries
  UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv)[.]so")
if(missing)
  message(FATAL_ERROR "Libraries of the command were not found: ${missing}")
endif()
list(APPEND libraries ${loaded})
foreach(library IN LISTS libraries)
  if(library MATCHES "/lib(mpi|open-rte|open-pal)[.]so")
    message(FATAL_ERROR "${library}: MPI cannot be relocated. Configure with "
      "-DCOLLBENCH_WITH_MPI=OFF, or by cmake --preset package.")
  endif()
  if(library MATCHES "/lib(nccl|cuda|nvidia-ml)[.]so")
    message(FATAL_ERROR "${library}: belongs to the machine, not into the archive.")
  endif()
  file(INSTALL ${library} DESTINATION ${CMAKE_INSTALL_PREFIX}/lib/collbench
    TYPE SHARED_LIBRARY FOLLOW_SYMLINK_CHAIN)
endforeach()

# Where dpkg knows the packages: their licences.
foreach(library IN LISTS libraries)
  get_filename_component(real ${library} REALPATH)
  execute_process(COMMAND dpkg-query --search ${real} RESULT_VARIABLE failed
    OUTPUT_VARIABLE owner ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if("${failed}" STREQUAL "0" AND "${owner}" MATCHES "^([^:,]+)")
    set(package ${CMAKE_MATCH_1})
    if(EXISTS /usr/share/doc/${package}/copyright)
      file(INSTALL DESTINATION ${CMAKE_INSTALL_PREFIX}/${docs}/licences TYPE FILE
        FILES /usr/share/doc/${package}/copyright RENAME ${package})
    endif()
  endif()
endforeach()
