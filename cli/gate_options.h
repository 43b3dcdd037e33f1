// What `ab` and `compare` have in common: the options of the gate, and showing a comparison.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/verdicts/verdict.h"
#include "cli/comparison_outputs.h"

namespace CLI {
class App;
}

namespace collbench {

/// The values as they were typed.
struct GateOptions {
  std::string threshold = "5%";
  std::string alpha = "1%";
  std::string fail_on = "wrong,slower,missing,changed,exact";
  std::string colour = "auto";
  std::string title;
  bool quiet = false;
  FilesByFormat files;
};

/// Declares them on `command`; `options` must outlive the parse.
void declare_gate_options(CLI::App& command, GateOptions& options);

/// Throws InvalidArgument naming the option for a value that is wrong.
GateRule gate_rule_of(const GateOptions& options);

/// Writes the files, the table to standard output, what fails to standard error. Returns the exit
/// code: 3 for a wrong result, else 1 for a failed gate, else 130 or 143 if a signal came, else 0.
int show_comparison(const Comparison& comparison, const GateOptions& options);

}  // namespace collbench
