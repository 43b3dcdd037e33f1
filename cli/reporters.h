// The reporters that a command's output options ask for, and the files they write.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/records/report.h"
#include "cli/run_options.h"
#include "cli/settings.h"
#include "core/output_file.h"

namespace collbench {

/// Thread safety: belongs to one thread.
class ReporterSet {
 public:
  /// Throws Unavailable, naming the file, for one that cannot be written.
  ReporterSet(const Settings& settings, const Outputs& outputs, const Sampling& sampling);
  ~ReporterSet();

  void add(std::unique_ptr<Reporter> reporter) { reporters_.push_back(std::move(reporter)); }
  std::vector<Reporter*> pointers() const;
  /// Throws Error naming a file that could not be written to its end.
  void close();

 private:
  std::ostream& open(const std::string& path);

  std::vector<std::unique_ptr<OutputFile>> files_;
  std::vector<std::unique_ptr<Reporter>> reporters_;
};

/// The command line as it was typed, words separated by blanks.
std::string command_line();

}  // namespace collbench
