#include "heuristics/synthesis/certificate.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json.h"
#include "heuristics/synthesis/allreduce_bound.h"
#include "topologies/bounds.h"

namespace collbench {
namespace {

double rate_across(const Topology& topology, const BindingCut& cut) {
  std::vector<bool> inside(static_cast<std::size_t>(topology.vertices()), false);
  for (const Vertex v : cut.members) inside[v] = true;
  double rate = 0;
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const Link& link = topology.links()[i];
    if (inside[link.from] == inside[link.to] || inside[link.to] != cut.entering) continue;
    rate += topology.capacity(static_cast<LinkId>(i));
  }
  return rate;
}

std::string cut_text(const Certificate& certificate) {
  const auto& [topology, goal, bound, halves, weakest, trees] = certificate;
  const BindingCut& cut = bound.cut;
  int ranks = 0;
  for (const Vertex v : cut.members) ranks += v < topology.hosts() ? 1 : 0;
  const int others = topology.hosts() - ranks;
  // Shards of an all-gather come from the side that the data leaves; the sums of a reduce-scatter
  // are for the side that it enters.
  const bool of_members = (goal == CollectiveKind::all_gather) != cut.entering;
  const int moved = of_members ? ranks : others;
  const std::string data =
      goal == CollectiveKind::all_reduce
          ? "the whole vector has to"
          : fmt::format("{} of {} {} have to", moved, topology.hosts(),
                        goal == CollectiveKind::all_gather ? "shards" : "partial sums");
  return fmt::format("{} {} {} through {}", data, cut.entering ? "enter" : "leave",
                     to_string(cut.members, topology),
                     to_string(Bandwidth{rate_across(topology, cut)}));
}

std::string groups_text(const Certificate& certificate) {
  const auto& groups = certificate.bound.groups;
  double rate = 0;
  for (const auto& group : groups) rate += rate_across(certificate.topology, {group, true});
  const bool are_ranks =
      std::ranges::all_of(groups, [](const auto& group) { return group.size() == 1; });
  const std::string names =
      are_ranks
          ? "ranks"
          : fmt::format("groups, the first {},", to_string(groups.front(), certificate.topology));
  return fmt::format("{} {} have to pass each other 2 x {} vectors through {}", groups.size(),
                     names, groups.size() - 1, to_string(Bandwidth{rate}));
}

std::string rate_text(const Fraction& seconds) {
  return fmt::format("{} s/GB, {:.6g} GB/s", to_string(seconds), 1 / seconds.value());
}

nlohmann::ordered_json names_of(const std::vector<Vertex>& vertices, const Topology& topology) {
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const Vertex v : vertices) names.push_back(topology.vertex_name(v));
  return names;
}

}  // namespace

Certificate certify(const Topology& topology, CollectiveKind goal, int trees) {
  require(trees == 0 || goal == CollectiveKind::all_gather,
          "a fixed number of trees is bounded for all-gather only");
  require(!has_root(goal), fmt::format("{} has a root; bounds are those of all-reduce, "
                                       "reduce-scatter and all-gather",
                                       to_string(goal)));
  require(links_join_routes(topology),
          fmt::format("{}: the platform states routes, and not which vertices their links join, so "
                      "nothing can be said of other ways; give it as a list of links or a machine "
                      "file",
                      topology.name()));
  const CapacityGraph graph = capacity_graph(topology);
  try {
    if (goal == CollectiveKind::reduce_scatter)
      return {topology, goal, reduce_scatter_bound(graph)};
    if (goal == CollectiveKind::all_gather) {
      if (trees == 0) return {topology, goal, all_gather_bound(graph)};
      return {topology, goal, all_gather_bound(graph, trees), {}, {}, trees};
    }
    const ThroughputBound weakest = weakest_allreduce_bound(graph);
    const Fraction halves = two_halves_bound(graph);
    return {topology, goal, allreduce_bound(graph, weakest, halves), halves,
            weakest.seconds_per_gigabyte};
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("{}: {}", topology.name(), error.what()));
  }
}

std::string to_json(const Certificate& certificate) {
  const auto& [topology, goal, bound, halves, weakest, trees] = certificate;
  nlohmann::ordered_json json;
  json["topology"] = topology.name();
  json["ranks"] = topology.hosts();
  json["collective"] = to_string(goal);
  json["seconds_per_GB"] = to_string(bound.seconds_per_gigabyte);
  json["algbw_GBps"] = 1 / bound.seconds_per_gigabyte.value();
  json["method"] = bound.exact ? "exact" : "lp";
  json["cut"] = names_of(bound.cut.members, topology);
  json["entering"] = bound.cut.entering;
  if (bound.trees_per_root > 0) json["trees_per_root"] = bound.trees_per_root;
  if (!bound.groups.empty()) {
    for (const auto& group : bound.groups) json["groups"].push_back(names_of(group, topology));
  }
  if (halves) json["reduce_scatter_all_gather_seconds_per_GB"] = to_string(*halves);
  if (weakest) json["single_cut_seconds_per_GB"] = to_string(*weakest);
  return json_text(json, 2) + "\n";
}

std::string to_text(const Certificate& certificate) {
  const auto& [topology, goal, bound, halves, weakest, trees] = certificate;
  std::string text =
      fmt::format("{} on {}, {} ranks\n", to_string(goal), topology.name(), topology.hosts());
  const auto add = [&text](std::string_view key, const std::string& value) {
    text += fmt::format("{:<10} {}\n", key, value);
  };
  add("bound", rate_text(bound.seconds_per_gigabyte));
  if (!bound.cut.members.empty()) {
    add("because", cut_text(certificate));
  } else if (!bound.groups.empty()) {
    add("because", groups_text(certificate));
  } else if (trees > 0) {
    add("because", "whole trees do not fill the links");
  } else {
    add("because", "no reduce and broadcast trees of one root each do better (linear program)");
  }
  if (bound.trees_per_root > 0) add("trees", fmt::format("{} per root", bound.trees_per_root));
  if (halves) add("as halves", rate_text(*halves) + ", reduce-scatter and then all-gather");
  return text;
}

}  // namespace collbench
