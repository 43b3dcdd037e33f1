// What TensorFlow chooses: rules that look at devices and never at sizes.
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

using namespace std::string_view_literals;

constexpr std::array rings{"tf-ring"sv, "ring"sv};
constexpr std::array one_device{"reduce-broadcast"sv};
constexpr std::array nccl_or_ring{"nccl"sv, "ring"sv};
constexpr std::array hierarchical{"hierarchical-copy"sv, "nccl"sv, "ring"sv};

// The NVLink neighbours of each of the eight GPUs of a DGX-1 with P100 or V100.
const std::array<std::set<Host>, 8> dgx1_neighbours{{{1, 2, 3, 4},
                                                     {0, 2, 3, 5},
                                                     {0, 1, 3, 6},
                                                     {0, 1, 2, 7},
                                                     {0, 5, 6, 7},
                                                     {1, 4, 6, 7},
                                                     {2, 4, 5, 7},
                                                     {3, 4, 5, 6}}};

bool is_dgx1(const Machine& machine) {
  if (machine.topology.hosts() != 8) return false;
  std::array<std::set<Host>, 8> neighbours;
  for (const Link& link : machine.topology.links()) {
    if (link.from >= 8 || link.to >= 8) return false;
    neighbours[static_cast<std::size_t>(link.from)].insert(link.to);
  }
  return neighbours == dgx1_neighbours;
}

/// What its strategies have no collective for. Source: TensorFlow 2.20,
/// core/common_runtime/base_collective_executor.cc:412-461, python/distribute/reduce_util.py.
void require_collective(const Question& question) {
  const auto [type, op] = std::pair{question.type, question.op};
  const bool on_gpus =
      question.devices == Devices::gpus || question.devices == Devices::virtual_gpus;
  require(type != DataType::u8, "TensorFlow's all-reduce has no u8");
  require(!on_gpus || (type != DataType::bf16 && type != DataType::i32),
          fmt::format("TensorFlow's all-reduce has no {} on GPUs", to_string(type)));
  require(op == ReduceOp::sum || op == ReduceOp::avg,
          fmt::format("TensorFlow's strategies sum and average; they have no {}", to_string(op)));
}

}  // namespace

Answer ask_tf2(const Question& question) {
  require_collective(question);
  return take_first(question, rings,
                    "AUTO is RING in TensorFlow 2, whatever the size, devices or network");
}

Answer ask_tf2_mirrored(const Question& question) {
  if (question.type == DataType::i32) {
    return take_first(question, one_device, "int32 is always reduced on one device");
  }
  if (question.devices == Devices::mixed) {
    return take_first(question, one_device, "CPUs and GPUs together reduce on one device");
  }
  require_collective(question);
  if (question.devices == Devices::virtual_gpus) {
    return take_first(question, rings, "logical devices on one GPU use RING");
  }
  if (question.devices == Devices::cpus) return take_first(question, rings, "CPUs use RING");
  return take_first(question, nccl_or_ring, "GPUs use NCCL, whatever the size");
}

Answer ask_tf1_dgx1(const Question& question) {
  if (question.devices == Devices::cpus || question.devices == Devices::mixed ||
      question.devices == Devices::virtual_gpus) {
    return take_first(question, one_device, "anything but whole GPUs reduces on one device");
  }
  require(question.machine != nullptr,
          "tf1-dgx1 depends on the links between GPUs: name a machine (--topo)");
  if (question.workers >= 8 && is_dgx1(*question.machine)) {
    return take_first(question, hierarchical, "eight GPUs with the links of a DGX-1");
  }
  return take_first(
      question, nccl_or_ring,
      question.workers < 8 ? "fewer than eight GPUs" : "the links are not those of a DGX-1");
}

}  // namespace collbench
