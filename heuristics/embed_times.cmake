# Writes OUTPUT, a C++ source with the text of INPUT, when it changed. A raw literal may be limited
# to 65,536 characters, so pieces of whole lines are joined by the compiler.
#   cmake -D INPUT=local_times.csv -D OUTPUT=... -P embed_times.cmake
file(READ ${INPUT} text)
set(pieces "")
while(NOT text STREQUAL "")
  string(LENGTH "${text}" length)
  if(length GREATER 8000)
    string(SUBSTRING "${text}" 0 8000 piece)
    string(FIND "${piece}" "\n" cut REVERSE)
    math(EXPR cut "${cut} + 1")
  else()
    set(cut ${length})
  endif()
  string(SUBSTRING "${text}" 0 ${cut} piece)
  string(SUBSTRING "${text}" ${cut} -1 text)
  string(APPEND pieces "\n    R\"csv(${piece})csv\"")
endwhile()
file(WRITE ${OUTPUT} "#include \"heuristics/local_times.h\"

namespace collbench {

std::string_view local_times_text() {
  return std::string_view(${pieces});
}

}  // namespace collbench
")
