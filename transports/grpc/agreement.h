// Compares the settings of all ranks before anything is timed.
#pragma once

#include <string>

#include "transports/endpoint.h"

namespace collbench {

/// Compares `settings`, lines "name=value", over all ranks, by ordinary transfers along the tree by
/// which they joined: rank 0's go down, differences come up, the verdict goes down. Throws
/// TransportError on every rank, naming the differing rank and both values.
void agree(Endpoint& endpoint, const std::string& settings);

/// "rank 2 has dtype=f64 where rank 0 has dtype=f32" for the first few lines that differ; empty if
/// the settings are equal.
std::string settings_difference(Rank rank, const std::string& theirs, const std::string& ours);

}  // namespace collbench
