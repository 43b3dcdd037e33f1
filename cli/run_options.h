// The options of `collbench run`, as a table, and what they ask for.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/measure/sweep.h"
#include "bench/records/case.h"
#include "cli/settings.h"
#include "core/parse.h"
#include "transports/world/launch_sources.h"

namespace collbench {

std::span<const OptionRow> run_option_rows();

/// The cases that the settings ask for, filtered; those of one of several workers, if it is one.
/// Throws as sweep_cases and parse_filter do, and InvalidArgument, naming the option and where it
/// was set, for a value that is wrong.
std::vector<Case> cases_of(const Settings& settings, const std::optional<LaunchedWorker>& worker);

/// The axis of sizes, from --minbytes, --maxbytes, --stepfactor and --stepbytes.
void read_sizes(const Settings& settings, Sweep& sweep);

Sampling sampling_of(const Settings& settings);

/// Where records go. A file "-" is standard output; the table is shown there if nothing else is.
struct Outputs {
  std::string console = "table";             // the format on standard output
  bool raw_samples = false;                  // CSV has a row per sample
  std::map<std::string, std::string> files;  // by the names of their formats
  std::vector<std::string> columns;          // of the table, as TableStyle
  std::vector<std::string> sort;
};
/// Throws InvalidArgument if two formats want standard output.
Outputs outputs_of(const Settings& settings);

std::vector<BandwidthGate> gates_of(const Settings& settings);

}  // namespace collbench
