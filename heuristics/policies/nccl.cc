// NCCL's own choice: the least time of its cost model; and how long that takes.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/nccl/library_times.h"
#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

/// Taken by a rule, whatever the costs are.
bool is_settled(const NcclTime& tuner) { return tuner.time <= Seconds{0}; }

std::string terms_of(const NcclTime& tuner, Bytes bytes) {
  if (tuner.bandwidth <= 0) {
    return fmt::format("no row of the tuner's table, {} channels", tuner.channels);
  }
  return fmt::format("tuner: {} = latency {:.4g} us + {} / {:.4g} GB/s, {} channels of {} threads",
                     is_settled(tuner) ? "taken by a rule" : to_string(tuner.time),
                     tuner.latency_us, to_string(bytes), tuner.bandwidth, tuner.channels,
                     tuner.threads);
}

Candidate candidate_of(const Question& question, const LibraryPlay& play) {
  const NcclTime& tuner = play.tuner;
  const std::string name(policy_name(tuner.algorithm));
  Candidate found;
  const auto known = known_as(name, question.available);
  found.algorithm = known.value_or(name);
  found.protocol = policy_name(tuner.protocol);
  found.time = play.time;
  found.terms = terms_of(tuner, question.bytes);
  if (!known) found.refused = "not available";
  return found;
}

NcclInputs inputs_for(const Question& question) {
  if (question.nccl != nullptr) {
    NcclInputs inputs = *question.nccl;
    inputs.ranks = question.workers;
    inputs.nodes = question.nodes;
    return inputs;
  }
  require(question.machine != nullptr,
          "NCCL's model needs a machine (--topo) or a dump of its graphs (--nccl-graphs)");
  return nccl_inputs(*question.machine, question.workers, question.nodes);
}

/// What the tuner takes of those that are available; null if none is.
const LibraryPlay* tuners_choice(const Question& question, const std::vector<LibraryPlay>& plays) {
  const LibraryPlay* choice = nullptr;
  for (const LibraryPlay& play : plays) {
    if (!known_as(policy_name(play.tuner.algorithm), question.available)) continue;
    if (choice == nullptr || play.tuner.time < choice->tuner.time) choice = &play;
  }
  return choice;
}

}  // namespace

Answer ask_nccl(const Question& question) {
  const NcclInputs inputs = inputs_for(question);
  const std::vector<LibraryPlay> plays =
      library_plays(inputs, {.bytes = question.bytes, .what = {question.type, question.op}});
  std::vector<Candidate> candidates;
  for (const LibraryPlay& play : plays) candidates.push_back(candidate_of(question, play));
  Answer answer = take_fastest(std::move(candidates));
  const LibraryPlay& choice = *tuners_choice(question, plays);
  const Candidate chosen = candidate_of(question, choice);
  const std::string fastest = full_name(answer.algorithm, answer.protocol);
  const bool agrees = chosen.algorithm == answer.algorithm && chosen.protocol == answer.protocol;
  answer.reason = fmt::format(
      "{}; it should take {}{} ({})",
      is_settled(choice.tuner)
          ? "a rule of the library comes before its cost model"
          : "NCCL's cost model expects least of it, " + to_string(choice.tuner.time),
      to_string(choice.time),
      agrees ? ", the least of all"
             : fmt::format(", {} {}", fastest, to_string(*answer.candidates.front().time)),
      inputs.origin);
  answer.algorithm = chosen.algorithm;
  answer.protocol = chosen.protocol;
  if (inputs.guessed) {
    answer.warnings.push_back(
        "the channels and their speeds are guessed from the links; a dump of NCCL "
        "(NCCL_GRAPH_DUMP_FILE, --nccl-graphs) would tell");
  }
  return answer;
}

const Policy& fastest_of_nccl() {
  constexpr auto ask_fastest = [](const Question& question) {
    Answer answer = ask_nccl(question);
    answer.take(answer.candidates.front());
    return answer;
  };
  static const Policy policy{"nccl", "the fastest of what NCCL has", "collbench", ask_fastest};
  return policy;
}

std::optional<InsideLibrary> inside_library(const Question& question) {
  const bool has_gpus = question.machine != nullptr && question.machine->costs.gpus.has_value();
  const bool is_other = question.collective != CollectiveKind::all_reduce;  // which the model lacks
  if ((!has_gpus && question.nccl == nullptr) || question.workers < 2 || is_other) return {};
  Question any = question;
  any.available.clear();
  Answer answer;
  try {
    answer = ask_nccl(any);
  } catch (const InvalidArgument&) {
    return {};  // ranks that do not fill the machine's nodes evenly: NCCL's model has no answer
  }
  const auto chosen =
      std::find_if(answer.candidates.begin(), answer.candidates.end(), [&](const Candidate& c) {
        return c.algorithm == answer.algorithm && c.protocol == answer.protocol;
      });
  return InsideLibrary{*chosen, answer.candidates.front()};
}

}  // namespace collbench
