# collbench_embed(<variable> FUNCTION <name> HEADER <header> FILES <file>...)
#
# Files become part of a library, so that an installed command needs none of them. <variable> is set
# to a C++ source, rewritten when a file changes, that defines what <header> declares:
#   std::span<const ShippedFile> <name>();
# sorted by name (the file's, without its suffix). As a script this file writes that source.
function(collbench_embed variable)
  cmake_parse_arguments(PARSE_ARGV 1 embed "" "FUNCTION;HEADER" "FILES")
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${embed_FUNCTION}.cc)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D FUNCTION=${embed_FUNCTION} -D HEADER=${embed_HEADER}
      -D OUTPUT=${source} -D "FILES=${embed_FILES}"
      -P ${PROJECT_SOURCE_DIR}/cmake/CollbenchEmbed.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/cmake/CollbenchEmbed.cmake ${embed_FILES}
    COMMENT "Embedding ${embed_FUNCTION}"
    VERBATIM)
  set(${variable} ${source} PARENT_SCOPE)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

# The standard guarantees 65,536 characters of one literal: pieces are joined by the compiler.
function(write_literal text result)
  set(literal "")
  while(NOT text STREQUAL "")
    string(LENGTH "${text}" length)
    set(cut ${length})
    if(length GREATER 8000)
      string(SUBSTRING "${text}" 0 8000 piece)
      string(FIND "${piece}" "\n" cut REVERSE)
      math(EXPR cut "${cut} + 1")
    endif()
    string(SUBSTRING "${text}" 0 ${cut} piece)
    string(SUBSTRING "${text}" ${cut} -1 text)
    string(APPEND literal "\n     R\"text(${piece})text\"")
  endwhile()
  set(${result} "${literal}" PARENT_SCOPE)
endfunction()

list(SORT FILES)
list(LENGTH FILES count)
set(entries "")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  write_literal("${text}" literal)
  string(APPEND entries "    {\"${name}\",${literal}},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"${HEADER}\"

#include <array>

namespace collbench {
namespace {

constexpr std::array<ShippedFile, ${count}> files{{
${entries}}};

}  // namespace

std::span<const ShippedFile> ${FUNCTION}() { return files; }

}  // namespace collbench
")
