#include "topologies/import/graph.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {

int GraphParts::add_host(std::string name, int order) {
  ++hosts_;
  parts_.push_back({std::move(name), true, order});
  return static_cast<int>(parts_.size()) - 1;
}

int GraphParts::add_switch(std::string name) {
  parts_.push_back({std::move(name), false, 0});
  return static_cast<int>(parts_.size()) - 1;
}

std::int32_t GraphParts::add_class(const LinkClass& link_class) {
  const auto same = [&](const LinkClass& other) {
    return other.name == link_class.name && other.nominal == link_class.nominal &&
           other.efficiency == link_class.efficiency && other.latency == link_class.latency &&
           other.level == link_class.level;
  };
  auto found = std::find_if(classes_.begin(), classes_.end(), same);
  if (found == classes_.end()) found = classes_.insert(classes_.end(), link_class);
  return static_cast<std::int32_t>(found - classes_.begin());
}

void GraphParts::add_cable(int a, int b, const LinkClass& link_class, double lanes) {
  cables_.push_back({a, b, add_class(link_class), static_cast<float>(lanes), false});
}

void GraphParts::add_mesh(const std::vector<int>& parts, const LinkClass& link_class) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (std::size_t j = i + 1; j < parts.size(); ++j) add_cable(parts[i], parts[j], link_class);
  }
}

// The vertex of each part: hosts in their order, then the others.
std::vector<int> GraphParts::numbering() const {
  std::vector<int> sorted(parts_.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) {
    const Part& first = parts_[a];
    const Part& second = parts_[b];
    if (first.is_host != second.is_host) return first.is_host;
    return first.is_host && first.order < second.order;
  });
  std::vector<int> vertex(parts_.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) vertex[sorted[i]] = static_cast<int>(i);
  return vertex;
}

Topology GraphParts::build(const std::string& name, const std::string& file) const {
  require(hosts_ > 0, fmt::format("{}: no host in it", file));
  const std::vector<int> vertex = numbering();
  auto names = std::make_shared<std::vector<std::string>>(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) (*names)[vertex[i]] = parts_[i].name;
  std::vector<Cable> cables = cables_;
  for (Cable& cable : cables) {
    cable.a = vertex[cable.a];
    cable.b = vertex[cable.b];
  }
  const Layout flat{Layout::Kind::flat, {hosts_}, {}};
  const Topology made = graph(name, hosts_, static_cast<int>(parts_.size()), flat, classes_, cables,
                              [names](Vertex v) { return (*names)[static_cast<std::size_t>(v)]; });
  check_reachable(made, 1, file);
  return made;
}

std::string machine_name(const std::string& file) {
  const std::size_t slash = file.find_last_of('/');
  const std::string last = slash == std::string::npos ? file : file.substr(slash + 1);
  const std::string stem = last.substr(0, last.find_last_of('.'));
  return stem.empty() ? last : stem;
}

}  // namespace collbench
