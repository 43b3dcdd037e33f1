#include "heuristics/structure/network_model.h"

#include <algorithm>
#include <array>

namespace collbench {
namespace {

const std::array<NetworkModel, 7>& network_models() {
  static const std::array<NetworkModel, 7> models{
      switched_network(), torus_network(), gpu_network(),      host_memory(),
      host_messages(),    host_library(),  host_busy_library()};
  return models;
}

}  // namespace

const NetworkModel& network_model(Interconnect interconnect) {
  return network_models().at(static_cast<std::size_t>(interconnect));
}

const NetworkModel* find_network_model(std::string_view name) {
  const auto& all = network_models();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const NetworkModel& m) { return m.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string_view> network_model_names() {
  std::vector<std::string_view> names;
  for (const NetworkModel& model : network_models()) names.push_back(model.name);
  return names;
}

}  // namespace collbench
