#include "bench/logs/machine_question.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/logs/assumed_rate.h"
#include "heuristics/calibration/fit.h"

namespace collbench {
namespace {

/// Ranks that a node of the machine has room for; 0 where it is no cluster and says no GPUs.
int seats_of_machine(const Machine& machine) {
  const int seats = seats_of_node(machine.topology.layout());
  return seats == 0 && machine.costs.gpus ? machine.topology.hosts() : seats;
}

/// 0 if nodes have different numbers of the members.
int nodes_of_members(const std::vector<int>& members, int seats) {
  std::map<int, int> counts;
  for (const int member : members) ++counts[member / seats];
  const bool even = std::all_of(counts.begin(), counts.end(), [&](const auto& node) {
    return node.second == counts.begin()->second;
  });
  return even ? static_cast<int>(counts.size()) : 0;
}

}  // namespace

std::optional<Question> question_on(const Machine& machine, const JobLog& job,
                                    const JobRanks& ranks, int communicator, Bytes bytes,
                                    std::string& why_not) {
  const JobCommunicator& one = job.communicators[static_cast<std::size_t>(communicator)];
  const int seats = seats_of_machine(machine);
  Question question;
  question.bytes = bytes;
  question.workers = one.ranks;
  question.nodes = known_hosts(job, ranks, communicator);
  if (question.nodes == 0 && seats > 0 && std::ssize(one.members) == one.ranks) {
    question.nodes = nodes_of_members(one.members, seats);
  } else if (question.nodes == 0) {
    if (seats > 0 && ranks.count() > std::max(seats, one.ranks)) {
      why_not = "on which nodes of the machine its ranks are is not said";
      return {};
    }
    question.nodes = nodes_of(machine.topology.layout(), one.ranks);
  }
  if (question.nodes == 0 || one.ranks % question.nodes != 0) {
    why_not = fmt::format("its {} ranks are not spread evenly over nodes", one.ranks);
    return {};
  }
  why_not = why_not_seated(machine, question.workers, question.nodes);
  if (!why_not.empty()) return {};
  question.machine = &machine;
  if (machine.costs.gpus) question.devices = Devices::gpus;
  return question;
}

Answer answer_of_library(const Question& question) {
  return ask(find_policy(inside_library(question) ? "nccl" : "model"), question);
}

const Candidate* chosen_one(const Answer& answer) {
  const auto found =
      std::find_if(answer.candidates.begin(), answer.candidates.end(), [&](const Candidate& one) {
        return one.algorithm == answer.algorithm && one.protocol == answer.protocol;
      });
  return found == answer.candidates.end() || !found->time ? nullptr : &*found;
}

}  // namespace collbench
