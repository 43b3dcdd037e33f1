# collbench_add_suites(prefix program folder labels property value...)
# adds one ctest test "<prefix>.<suite>" for each suite of a GoogleTest program, with these properties.
# Read by ctest when it starts, not when the program is linked: a crash at start is then a failed
# test. A process for each single test would cost as much as the tests do: most take a millisecond.
function(collbench_add_suites prefix program folder labels)
  if(NOT EXISTS ${program})
    add_test(${prefix}.not_built ${program})
    return()
  endif()
  set(list ${program}.suites)
  if(NOT EXISTS ${list} OR ${program} IS_NEWER_THAN ${list})
    execute_process(COMMAND ${program} --gtest_list_tests
      OUTPUT_VARIABLE listed RESULT_VARIABLE status TIMEOUT 120)
    if(NOT status EQUAL 0)
      add_test(${prefix}.cannot_list_its_tests ${program} --gtest_list_tests)
      return()
    endif()
    # A suite stands alone in its line and ends with a dot; its tests follow, indented.
    string(REGEX MATCHALL "\n[^ \n]+\\.[ \n]" suites "\n${listed}")
    list(TRANSFORM suites REPLACE "[ \n]|\\.[ \n]" "")
    file(WRITE ${list} "${suites}")
  endif()
  file(READ ${list} suites)
  foreach(suite IN LISTS suites)
    add_test(${prefix}.${suite} ${program} --gtest_filter=${suite}.*)
    set_tests_properties(${prefix}.${suite} PROPERTIES
      LABELS "${labels}" WORKING_DIRECTORY ${folder} ${ARGN})
  endforeach()
endfunction()
