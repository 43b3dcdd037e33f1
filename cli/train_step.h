// What settings say of a simulated training step: its costs, its buckets and their all-reduces.
#pragma once

#include <string>
#include <vector>

#include "cli/settings.h"
#include "training/simulated/step.h"

namespace collbench {

/// Throws InvalidArgument naming the option that is wrong.
StepCosts costs_of(const Settings& settings);

/// --algo, or auto: each size is given the algorithm that suits it.
std::string simulated_algorithm(const Settings& settings);

/// Plans buckets by --buckets and prices their all-reduces on --topo: sets model.buckets and
/// model.all_reduce from what else the model has. Returns the algorithm of each bucket. Throws
/// InvalidArgument for a rule, a network or an algorithm that does not fit.
std::vector<std::string> price_buckets(const Settings& settings, StepModel& model);

/// "3 buckets (ddp), all-reduce ring, Simple".
std::string describe_buckets(const Settings& settings, const std::vector<std::string>& algorithms);

}  // namespace collbench
