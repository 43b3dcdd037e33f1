// What a job's all-reduces would take on a machine, and what its library could do better.
#include <algorithm>

#include <fmt/format.h>

#include "bench/logs/job_report.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/policies/policy.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

std::string choice_name(const Candidate& candidate) {
  return candidate.protocol.empty() ? candidate.algorithm
                                    : candidate.algorithm + ", " + candidate.protocol;
}

bool same_word(std::string_view ours, std::string_view logged) {
  return std::equal(ours.begin(), ours.end(), logged.begin(), logged.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == static_cast<unsigned char>(b);
  });
}

/// The candidate that a log names, "tree" being the name of our "double-tree"; null if none is.
const Candidate* played_one(const Answer& answer, std::string_view algorithm,
                            std::string_view protocol) {
  const Candidate* found = nullptr;
  for (const Candidate& candidate : answer.candidates) {
    const bool is_tree = algorithm == "tree" && candidate.algorithm == "double-tree";
    const bool is_nvls_tree = algorithm == "nvlstree" && candidate.algorithm == "nvls-tree";
    if (!candidate.time ||
        (!same_word(candidate.algorithm, algorithm) && !is_tree && !is_nvls_tree)) {
      continue;
    }
    const bool right = protocol.empty() || same_word(candidate.protocol, protocol);
    if (right) return &candidate;
    if (found == nullptr && candidate.protocol.empty()) found = &candidate;
  }
  return found;
}

const Candidate* chosen_one(const Answer& answer) {
  for (const Candidate& candidate : answer.candidates) {
    if (candidate.algorithm == answer.algorithm && candidate.protocol == answer.protocol) {
      return &candidate;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<ChoiceOnMachine> choices_on(const std::string& topology, const JobLog& job,
                                        const JobVerdict& verdict) {
  std::vector<ChoiceOnMachine> choices;
  for (std::size_t i = 0; i < verdict.sizes.size(); ++i) {
    const SizeFigures& row = verdict.sizes[i];
    const JobCommunicator& one = job.communicators[static_cast<std::size_t>(row.communicator)];
    if (row.kind != LoggedKind::all_reduce || one.ranks < 2 || row.bytes < 1) continue;
    const Machine machine = collbench::machine(topology, one.ranks);
    Question question;
    question.bytes = Bytes{row.bytes};
    question.workers = one.ranks;
    question.nodes = one.nodes > 0 && one.ranks % one.nodes == 0
                         ? one.nodes
                         : nodes_of(machine.topology.layout(), one.ranks);
    question.machine = &machine;
    const bool has_library = inside_library(question).has_value();
    if (has_library) question.devices = Devices::gpus;
    const Answer answer = ask(find_policy(has_library ? "nccl" : "model"), question);
    const Candidate& best = answer.candidates.front();
    const Candidate* played = played_one(answer, job.words[row.algorithm], job.words[row.protocol]);
    if (played == nullptr) played = chosen_one(answer);
    if (played == nullptr || !played->time || !best.time) continue;
    choices.push_back({i, choice_name(*played), *played->time, choice_name(best), *best.time});
  }
  return choices;
}

}  // namespace collbench
