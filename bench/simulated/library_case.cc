// What NCCL or RCCL would play of a case on a simulated machine: its tuner's choice and the time of
// that (heuristics/nccl/library_times.h), which is no schedule of messages.
//
// The names are those of NCCL's algorithms: "nccl" is its own choice, "nccl:ring", "nccl:tree",
// "nccl:nvls", "nccl:nvls-tree" force one, and "nvls-tree" is the last of them, which nothing but
// NCCL has.
#include <fmt/format.h>

#include "bench/simulated/team.h"
#include "core/error.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/nccl/library_times.h"

namespace collbench {
namespace {

constexpr std::string_view library = "nccl";

LibraryQuestion library_question(const Case& point) {
  LibraryQuestion question{
      .bytes = point.bytes, .what = {point.type, point.op}, .in_place = point.in_place};
  std::string kernel = point.algorithm;
  if (kernel.starts_with(library)) kernel.erase(0, std::min(kernel.size(), library.size() + 1));
  if (!kernel.empty()) {
    question.algorithm = nccl_algorithm(kernel == "tree" ? "double-tree" : kernel);
    require(question.algorithm.has_value(),
            fmt::format("{}: NCCL has no '{}'; it has ring, tree, nvls, nvls-tree, collnet-direct "
                        "and collnet-chain",
                        point.algorithm, kernel));
  }
  const std::string& protocol = point.simulated.protocol;
  if (protocol == "auto" || protocol.empty()) return question;
  question.protocol = nccl_protocol(protocol);
  require(question.protocol.has_value(),
          fmt::format("{}: NCCL has no protocol '{}'; it has LL, LL128 and Simple", point.algorithm,
                      protocol));
  return question;
}

NcclInputs library_inputs(const Case& point, const Machine& machine) {
  return nccl_inputs(machine, point.workers, nodes_of(machine.topology.layout(), point.workers));
}

}  // namespace

bool is_library_case(const std::string& algorithm) {
  return algorithm == library || algorithm == "nvls-tree" ||
         algorithm.starts_with(std::string(library) + ":");
}

void require_library_case(const Case& point, const Machine& machine) {
  require(point.collective == CollectiveKind::all_reduce,
          fmt::format("{}: only all-reduce is modelled, not {}", point.algorithm,
                      to_string(point.collective)));
  library_question(point);
  library_inputs(point, machine);
}

Measurement measure_library_case(const Case& point, const Machine& machine) {
  require_library_case(point, machine);
  const NcclInputs inputs = library_inputs(point, machine);
  const LibraryPlay play = library_choice(inputs, library_question(point));
  return modelled(play.time, "nccl: " + to_string(play),
                  "what the library's kernels do is not a schedule of messages");
}

}  // namespace collbench
