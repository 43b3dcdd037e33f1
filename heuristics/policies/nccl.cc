// NCCL's own choice: the least time of its cost model.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/nccl/nccl_model.h"
#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

Candidate candidate_of(const Question& question, const NcclTime& time) {
  const std::string name(policy_name(time.algorithm));
  Candidate found;
  const auto known = known_as(name, question.available);
  found.algorithm = known.value_or(name);
  found.protocol = policy_name(time.protocol);
  found.time = time.time;
  found.terms = fmt::format("latency {:.4g} us + {} / {:.4g} GB/s, {} channels of {} threads",
                            time.latency_us, to_string(question.bytes), time.bandwidth,
                            time.channels, time.threads);
  if (!known) found.refused = "not available";
  return found;
}

}  // namespace

Answer ask_nccl(const Question& question) {
  NcclInputs inputs;
  if (question.nccl != nullptr) {
    inputs = *question.nccl;
    inputs.ranks = question.workers;
    inputs.nodes = question.nodes;
  } else {
    require(question.machine != nullptr,
            "NCCL's model needs a machine (--topo) or a dump of its graphs (--nccl-graphs)");
    inputs = nccl_inputs(*question.machine, question.workers, question.nodes);
  }
  std::vector<Candidate> candidates;
  for (const NcclTime& time : nccl_times(inputs, question.bytes)) {
    candidates.push_back(candidate_of(question, time));
  }
  Answer answer = take_fastest(std::move(candidates));
  answer.reason = fmt::format("NCCL's cost model: {} ({})", answer.reason, inputs.origin);
  if (inputs.guessed) {
    answer.warnings.push_back(
        "the channels and their speeds are guessed from the links; a dump of NCCL "
        "(NCCL_GRAPH_DUMP_FILE, --nccl-graphs) would tell");
  }
  return answer;
}

}  // namespace collbench
