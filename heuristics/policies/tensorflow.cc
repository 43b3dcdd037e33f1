// What TensorFlow chooses: rules that look at devices and never at sizes.
#include <array>
#include <set>

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

}  // namespace

Answer ask_tf2(const Question& question) {
  return take_first(question, rings,
                    "AUTO is RING in TensorFlow 2, whatever the size, devices or network");
}

Answer ask_tf2_mirrored(const Question& question) {
  if (question.type == DataType::i32) {
    return take_first(question, one_device, "int32 is always reduced on one device");
  }
  switch (question.devices) {
    case Devices::mixed:
      return take_first(question, one_device, "CPUs and GPUs together reduce on one device");
    case Devices::virtual_gpus:
      return take_first(question, rings, "logical devices on one GPU use RING");
    case Devices::cpus:
      return take_first(question, rings, "CPUs use RING");
    case Devices::gpus:
      break;
  }
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
  return take_first(question, nccl_or_ring, "the links are not those of a DGX-1");
}

}  // namespace collbench
