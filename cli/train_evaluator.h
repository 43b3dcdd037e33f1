// The evaluator beside a training cluster: it follows the checkpoints and says how good they are.
#pragma once

#include "cli/settings.h"

namespace collbench {

/// Evaluates the held-out samples with each latest checkpoint of --checkpoint (it may skip some),
/// until the one that ends training. Prints a row for each, and writes --tensorboard. Returns the
/// exit code. Throws TransportError if no new checkpoint comes within --timeout.
int evaluate_checkpoints(const Settings& settings);

}  // namespace collbench
