// The options of `collbench run`, as a table, and what they ask for.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bench/measure/sweep.h"
#include "bench/records/case.h"
#include "cli/settings.h"
#include "core/parse.h"
#include "transports/world/launch_sources.h"

namespace collbench {

std::span<const OptionRow> run_option_rows();
/// The options of the axis of sizes, which `run` and `simulate` have alike.
std::span<const OptionRow> size_option_rows();

/// The options of what is shown of records, and of files of settings, which both have as well.
std::span<const OptionRow> record_output_rows();

/// The cases that the settings ask for, filtered; those of one of several workers, if it is one.
/// Throws as sweep_cases and parse_filter do, and InvalidArgument, naming the option and where it
/// was set, for a value that is wrong.
std::vector<Case> cases_of(const Settings& settings, const std::optional<LaunchedWorker>& worker);

/// Those that --filter leaves. Throws InvalidArgument if it is wrong or leaves none.
std::vector<Case> filtered(const Settings& settings, std::vector<Case> cases);

/// The value of --collective.
CollectiveKind collective_asked(const Settings& settings);
/// The same with --root, which is read only where it means something.
Collective rooted_asked(const Settings& settings);
/// What is measured or simulated, from --collective and --root.
void read_collective(const Settings& settings, Sweep& sweep);
/// The axis of sizes, from --minbytes, --maxbytes, --stepfactor and --stepbytes.
void read_sizes(const Settings& settings, Sweep& sweep);

Sampling sampling_of(const Settings& settings);

std::vector<BandwidthGate> gates_of(const Settings& settings);

}  // namespace collbench
