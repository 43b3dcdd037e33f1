// What a communicator's all-reduces ask of the machine that the user names for a job.
#pragma once

#include <optional>
#include <string>

#include "bench/logs/operations.h"
#include "heuristics/policies/policy.h"

namespace collbench {

/// An all-reduce of `bytes` on `machine`, which must outlive the question. Nothing, and why, where
/// it is not known on how many nodes the ranks are, those have different numbers of them, or the
/// machine has no such nodes.
std::optional<Question> question_on(const Machine& machine, const JobLog& job,
                                    const JobRanks& ranks, int communicator, Bytes bytes,
                                    std::string& why_not);

/// Of NCCL or RCCL where the machine has GPUs, else of our algorithms by the cost model.
Answer answer_of_library(const Question& question);

/// What the answer chooses; null if it has no time.
const Candidate* chosen_one(const Answer& answer);

}  // namespace collbench
