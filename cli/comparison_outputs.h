// The files that commands write about a comparison: `ab`, `compare` and `report` share them.
#pragma once

#include <string>

#include "bench/verdicts/verdict.h"

namespace CLI {
class App;
}

namespace collbench {

/// Files to write; "" for none.
struct ComparisonOutputs {
  std::string json;
  std::string markdown;  // a comment on a pull request, within its limit
  std::string junit;
  std::string openmetrics;
};

/// Declares them on `command`; `outputs` must outlive the parse.
void declare_comparison_outputs(CLI::App& command, ComparisonOutputs& outputs);

/// Whether GitHub Actions runs us, which shows annotations; it reads them from both streams.
bool under_github_actions();

/// Writes the files and, under GitHub Actions, annotations to standard error and the step summary.
/// Throws Unavailable or Error naming a file that cannot be written.
void write_comparison(const Comparison& comparison, const ComparisonOutputs& outputs);

}  // namespace collbench
