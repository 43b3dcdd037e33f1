// What a command's output options ask for: formats, files, and the reporters that write them.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/reports/formats.h"
#include "cli/settings.h"

namespace collbench {

/// Where records go. A file "-" is standard output.
struct Outputs {
  std::string console;  // the format that was asked for on standard output; "" if none was
  std::map<std::string, std::string> files;  // by the names of their formats
  FormatOptions options;
};
/// Of the `formats` that the command has. Throws InvalidArgument if two want standard output, and
/// for unknown formats and columns.
Outputs outputs_of(const Settings& settings, const std::vector<std::string>& formats);

/// Thread safety: belongs to one thread.
class ReporterSet {
 public:
  /// The table is shown if no other format is. Throws Unavailable, naming the file, for one that
  /// cannot be written.
  ReporterSet(Outputs outputs, const Sampling& sampling);
  ~ReporterSet();

  void add(std::unique_ptr<Reporter> reporter) { reporters_.push_back(std::move(reporter)); }
  std::vector<Reporter*> pointers() const;
  /// Throws Error naming a file that could not be written to its end.
  void close();

 private:
  std::ostream& open(const std::string& path);

  std::vector<std::pair<std::string, std::unique_ptr<std::ofstream>>> files_;
  std::vector<std::unique_ptr<Reporter>> reporters_;
};

/// The command line as it was typed, words separated by blanks.
std::string command_line();

}  // namespace collbench
