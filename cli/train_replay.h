// `collbench train --workload` without a network to simulate: computing is waited for, all-reduces
// are real. And `--profile`, which writes such a workload from a model of ours.
#pragma once

#include "cli/settings.h"

namespace collbench {

/// Return the exit code. Throw InvalidArgument naming the option that is wrong.
int train_replay(const Settings& settings);
int write_profile(const Settings& settings);

}  // namespace collbench
