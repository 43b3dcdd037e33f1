// What rules of one file and of all ask of files and their lines.
#pragma once

#include <sstream>
#include <string>

#include "tests/tidy/rules.h"

namespace collbench::tidy {

inline bool is_test(const SourceFile& file) { return file.path.starts_with("tests/"); }

inline bool is_header(const SourceFile& file) {
  return file.path.ends_with(".h") || file.path.ends_with(".cuh");
}

/// Calls visit(number, line) for every line, numbers from 1.
template <class Visit>
void for_each_line(const std::string& text, const Visit& visit) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) visit(number, line);
}

/// A complaint about a line.
inline std::string at(const SourceFile& file, int line, const std::string& what) {
  return file.path + ":" + std::to_string(line) + ": " + what;
}

}  // namespace collbench::tidy
