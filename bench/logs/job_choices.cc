// What a job's all-reduces would take on a machine, and what its library could do better.
#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "bench/logs/job_report.h"
#include "core/error.h"
#include "core/plain_text.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/policies/policy.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

std::string choice_name(const Candidate& candidate) {
  return candidate.protocol.empty() ? candidate.algorithm
                                    : candidate.algorithm + ", " + candidate.protocol;
}

/// The candidate that a log names, "tree" being the name of our "double-tree"; null if none is.
const Candidate* played_one(const Answer& answer, std::string_view algorithm,
                            std::string_view protocol) {
  const Candidate* found = nullptr;
  for (const Candidate& candidate : answer.candidates) {
    const bool is_tree = algorithm == "tree" && candidate.algorithm == "double-tree";
    const bool is_nvls_tree = algorithm == "nvlstree" && candidate.algorithm == "nvls-tree";
    if (!candidate.time ||
        (lower_case(candidate.algorithm) != algorithm && !is_tree && !is_nvls_tree)) {
      continue;
    }
    const bool right = protocol.empty() || lower_case(candidate.protocol) == protocol;
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

Question question_of(const JobCommunicator& one, const Machine& machine, Bytes bytes) {
  Question question;
  question.bytes = bytes;
  question.workers = one.ranks;
  question.nodes = one.nodes > 0 && one.ranks % one.nodes == 0
                       ? one.nodes
                       : nodes_of(machine.topology.layout(), one.ranks);
  question.machine = &machine;
  if (machine.costs.gpus) question.devices = Devices::gpus;
  return question;
}

}  // namespace

SelectionTable rules_for_job(const std::string& topology, const RuleFormat& format,
                             const JobLog& job, const JobVerdict& verdict) {
  std::map<std::pair<int, int>, std::pair<std::int64_t, std::int64_t>> sizes;  // by ranks and nodes
  for (const SizeFigures& row : verdict.sizes) {
    const JobCommunicator& one = job.communicators[static_cast<std::size_t>(row.communicator)];
    if (row.kind != LoggedKind::all_reduce || one.ranks < 2 || row.bytes < 1) continue;
    auto& range =
        sizes.try_emplace({one.ranks, one.nodes}, std::pair(row.bytes, row.bytes)).first->second;
    range = {std::min(range.first, row.bytes), std::max(range.second, row.bytes)};
  }
  require(!sizes.empty(), "no all-reduce of known ranks and size in the logs, to make rules for");
  SelectionTable table;
  table.policy = "auto";
  table.machine = topology;
  table.first = Bytes{std::numeric_limits<std::int64_t>::max()};
  for (const auto& [scale, range] : sizes) {
    const Machine machine = collbench::machine(topology, scale.first);
    Question question =
        question_of({.ranks = scale.first, .nodes = scale.second}, machine, Bytes{range.second});
    question.available = format.offered;
    table.first = std::min(table.first, Bytes{range.first});
    table.last = std::max(table.last, Bytes{range.second});
    table.scales.push_back(
        size_rules(find_policy("auto"), question, Bytes{range.first}, Bytes{range.second}));
  }
  return table;
}

std::vector<ChoiceOnMachine> choices_on(const std::string& topology, const JobLog& job,
                                        const JobVerdict& verdict) {
  std::vector<ChoiceOnMachine> choices;
  for (std::size_t i = 0; i < verdict.sizes.size(); ++i) {
    const SizeFigures& row = verdict.sizes[i];
    const JobCommunicator& one = job.communicators[static_cast<std::size_t>(row.communicator)];
    if (row.kind != LoggedKind::all_reduce || one.ranks < 2 || row.bytes < 1) continue;
    const Machine machine = collbench::machine(topology, one.ranks);
    const Question question = question_of(one, machine, Bytes{row.bytes});
    const bool has_library = inside_library(question).has_value();
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
