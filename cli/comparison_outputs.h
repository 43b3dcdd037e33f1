// The files that commands write about a comparison: `ab` and `compare` share them.
#pragma once

#include <map>
#include <string>

#include "bench/verdicts/verdict.h"

namespace CLI {
class App;
}

namespace collbench {

/// Files to write, by the names of their formats; "" for none.
using FilesByFormat = std::map<std::string, std::string>;

/// Declares one option on `command` per format that shows comparisons; `files` must outlive the
/// parse.
void declare_comparison_outputs(CLI::App& command, FilesByFormat& files);

/// Whether GitHub Actions runs us, which shows annotations; it reads them from both streams.
bool under_github_actions();

/// Writes the files and, under GitHub Actions, annotations to standard error and the step summary.
/// Throws Unavailable or Error naming a file that cannot be written.
void write_comparison(const Comparison& comparison, const FilesByFormat& files);

}  // namespace collbench
