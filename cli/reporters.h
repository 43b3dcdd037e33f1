// What a command's output options ask for: formats, files, and the reporters that write them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/measure/run_cases.h"
#include "bench/records/environment.h"
#include "bench/reports/formats.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "core/output_file.h"

namespace collbench {

/// Where records go. A file "-" is standard output.
struct Outputs {
  std::string console;  // the format that was asked for on standard output; "" if none was
  std::map<std::string, std::string> files;  // by the names of their formats
  FormatOptions options;
};
/// Of the `formats` that the command has, without options, which are distinct
/// (cli/output_file.h). Throws InvalidArgument for unknown formats.
Outputs named_outputs(const Settings& settings, const std::vector<std::string>& formats);
/// The same with the options of tables and CSV, which are read if there is one. Also throws for
/// unknown columns.
Outputs outputs_of(const Settings& settings, const std::vector<std::string>& formats);

/// Thread safety: belongs to one thread.
class ReporterSet {
 public:
  /// The table is shown if no other format is. Throws Unavailable, naming the file, for one that
  /// cannot be written.
  ReporterSet(Outputs outputs, const Sampling& sampling);

  void add(std::unique_ptr<Reporter> reporter) { reporters_.push_back(std::move(reporter)); }
  std::vector<Reporter*> pointers() const;
  /// Throws Error naming a file that could not be written to its end.
  void close();

 private:
  std::vector<std::unique_ptr<OutputFile>> files_;
  std::vector<std::unique_ptr<Reporter>> reporters_;
};

/// Shows records that are there already, as the run that made them would have. Throws
/// InvalidArgument if there are none.
void show_records(const std::vector<Reporter*>& reporters, const Environment& environment,
                  const std::vector<Record>& records);

/// Shows each case of the plan in `words` as it starts, with the time that is left (before the
/// first the most that all may take, if the stopping rule bounds it), and ends the plan once a
/// signal came.
void follow(RunPlan& plan, ProgressLine& progress, std::string (*words)(const Case&));

/// 0, or 130 or 143 after a signal. Throws WrongResult if a sum was wrong, what ended the run
/// early, and TransportError if another rank was asked to stop.
int exit_code_of(const RunResult& result);

/// The environment of this process with the command line as it was typed and the seed.
Environment run_environment(const Settings& settings);

}  // namespace collbench
