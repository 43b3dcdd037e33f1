// NCCL's own choice: the least time of its cost model.
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/nccl/nccl_model.h"
#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

std::string name_of(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::tree:
      return "double-tree";
    case NcclAlgorithm::nvls_tree:
      return "nvls-tree";
    case NcclAlgorithm::collnet_direct:
      return "collnet-direct";
    case NcclAlgorithm::collnet_chain:
      return "collnet-chain";
    default:
      return std::string(to_string(algorithm));
  }
}

std::string name_of(NcclProtocol protocol) {
  constexpr std::array<const char*, 3> names{"LL", "LL128", "Simple"};
  return names[static_cast<std::size_t>(protocol)];
}

Candidate candidate_of(const Question& question, const NcclTime& time) {
  const std::string name = name_of(time.algorithm);
  Candidate found;
  const auto known = known_as(name, question.available);
  found.algorithm = known.value_or(name);
  found.protocol = name_of(time.protocol);
  found.time = time.time();
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
  Answer answer = take_fastest(question, std::move(candidates));
  answer.reason = fmt::format("NCCL's cost model: {} ({})", answer.reason, inputs.origin);
  if (inputs.guessed) {
    answer.warnings.push_back(
        "the channels and their speeds are guessed from the links; a dump of NCCL "
        "(NCCL_GRAPH_DUMP_FILE, --nccl-graphs) would tell");
  }
  return answer;
}

}  // namespace collbench
