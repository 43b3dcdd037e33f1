// What `collbench train` prints and writes once training is over.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/train_options.h"

namespace collbench {

/// Results by epoch, then the medians of a step's parts for each rank, on standard output.
void print_results(const TrainingPlan& plan, const Samples& samples,
                   const std::vector<ReplicaReport>& reports);

/// The same with every step of every rank.
nlohmann::json train_document(const Settings& settings, const TrainingPlan& plan,
                              const Samples& samples, const std::vector<ReplicaReport>& reports);

/// To the file, or to standard output for "-". Throws Unavailable if it cannot be written.
void write_json(const std::string& path, const nlohmann::json& document);

}  // namespace collbench
