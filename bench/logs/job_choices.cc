// What a job's all-reduces would take on a machine, and what its library could do better.
#include <algorithm>
#include <limits>
#include <map>

#include "bench/logs/job_report.h"
#include "bench/logs/machine_question.h"
#include "core/error.h"
#include "core/plain_text.h"
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

/// All-reduces of equal scale.
struct ReducedSizes {
  Question question;
  Bytes first;
  Bytes last;
};

}  // namespace

SelectionTable rules_for_job(const std::string& topology, const RuleFormat& format,
                             const JobLog& job, const JobVerdict& verdict) {
  const JobRanks ranks(job);
  std::map<int, Machine> machines;                      // by ranks
  std::map<std::pair<int, int>, ReducedSizes> reduced;  // by ranks and nodes
  std::string why_not = "no all-reduce of known ranks and size in the logs";
  for (const SizeFigures& row : verdict.sizes) {
    const int all = job.communicators[static_cast<std::size_t>(row.communicator)].ranks;
    if (row.kind != LoggedKind::all_reduce || all < 2 || row.bytes < 1) continue;
    if (!machines.contains(all)) machines.emplace(all, machine(topology, all));
    const Bytes bytes{row.bytes};
    const std::optional<Question> question =
        question_on(machines.at(all), job, ranks, row.communicator, bytes, why_not);
    if (!question) continue;
    ReducedSizes& sizes =
        reduced.try_emplace({all, question->nodes}, ReducedSizes{*question, bytes, bytes})
            .first->second;
    sizes.first = std::min(sizes.first, bytes);
    sizes.last = std::max(sizes.last, bytes);
  }
  require(!reduced.empty(), "there is nothing to make rules for: " + why_not);
  SelectionTable table;
  table.policy = "auto";
  table.machine = topology;
  table.first = Bytes{std::numeric_limits<std::int64_t>::max()};
  for (auto& [scale, sizes] : reduced) {
    sizes.question.bytes = sizes.last;
    table.first = std::min(table.first, sizes.first);
    table.last = std::max(table.last, sizes.last);
    table.scales.push_back(
        rules_of_library(format, find_policy("auto"), sizes.question, sizes.first, sizes.last));
  }
  return table;
}

std::vector<ChoiceOnMachine> choices_on(const std::string& topology, const JobLog& job,
                                        const JobVerdict& verdict) {
  const JobRanks ranks(job);
  std::vector<ChoiceOnMachine> choices;
  for (std::size_t i = 0; i < verdict.sizes.size(); ++i) {
    const SizeFigures& row = verdict.sizes[i];
    const JobCommunicator& one = job.communicators[static_cast<std::size_t>(row.communicator)];
    if (row.kind != LoggedKind::all_reduce || one.ranks < 2 || row.bytes < 1) continue;
    const Machine machine = collbench::machine(topology, one.ranks);
    std::string why_not;
    const std::optional<Question> question =
        question_on(machine, job, ranks, row.communicator, Bytes{row.bytes}, why_not);
    if (!question) continue;
    const Answer answer = answer_of_library(*question);
    const Candidate& best = answer.candidates.front();
    const Candidate* played = played_one(answer, job.words[row.algorithm], job.words[row.protocol]);
    if (played == nullptr) played = chosen_one(answer);
    if (played == nullptr || !played->time || !best.time) continue;
    choices.push_back({i, choice_name(*played), *played->time, choice_name(best), *best.time});
  }
  return choices;
}

}  // namespace collbench
