#include "heuristics/synthesis/plan_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "algorithms/verify.h"
#include "core/error.h"
#include "heuristics/synthesis/degraded.h"
#include "heuristics/synthesis/packed_schedule.h"

namespace collbench {
namespace {

int roots_of(const TreePacking& packing) {
  std::set<Rank> roots;
  for (const PackedTree& tree : packing.trees) roots.insert(tree.root);
  return static_cast<int>(roots.size());
}

std::string line(std::string_view key, const std::string& value) {
  return fmt::format("{:<10} {}\n", key, value);
}

/// What the one route of each pair of ranks costs; empty where that is nothing.
std::string routes_text(const SynthesisedPlan& plan) {
  constexpr double worth_telling = 1.001;
  const double least = plan.packing.least_by_routes;
  const double bound = plan.certificate.bound.seconds_per_gigabyte.value() / 1e9;
  if (least < bound * worth_telling) return {};
  return line("routes",
              fmt::format("one for each pair of ranks: no trees over them reach more than "
                          "{:.6g} GB/s, {:.4g} % of the bound (prices of links)",
                          1e-9 / least, 100 * bound / least));
}

}  // namespace

std::string to_json(const Certificate& certificate, const SynthesisedPlan* plan) {
  if (plan == nullptr) return to_json(certificate);
  auto json = nlohmann::ordered_json::parse(to_json(certificate));
  json["reached_seconds_per_GB"] = plan->packing.seconds_per_byte * 1e9;
  json["share_of_bound"] = plan->share();
  if (plan->packing.least_by_routes > 0) {
    json["least_seconds_per_GB_by_routes"] = plan->packing.least_by_routes * 1e9;
  }
  json["trees"] = plan->packing.trees.size();
  json["roots"] = roots_of(plan->packing);
  json["longest_way"] = longest_way(plan->packing);
  return json.dump(2) + "\n";
}

std::string plan_text(const SynthesisedPlan& plan, Bytes bytes) {
  const Schedule schedule = proved_schedule(plan, bytes);
  const TreePacking& packing = plan.packing;
  const bool is_reduced = proof_is_reduced(plan, schedule);
  return routes_text(plan) +
         line("reached", fmt::format("{:.6g} GB/s, {:.4g} % of the bound, by the fullest link",
                                     1e-9 / packing.seconds_per_byte, 100 * plan.share())) +
         line("trees", fmt::format("{} from {} roots, at most {} hops from the first leaf to the "
                                   "last",
                                   packing.trees.size(), roots_of(packing), longest_way(packing))) +
         line("schedule", fmt::format("{} chunks in {} rounds for {}, {}", schedule.chunks(),
                                      schedule.rounds(), to_string(bytes),
                                      is_reduced ? "proven for one piece of every tree: the "
                                                   "others do the same in later rounds"
                                                 : "proven"));
}

std::string loss_text(const Certificate& now, const Certificate& whole) {
  const double times =
      now.bound.seconds_per_gigabyte.value() / whole.bound.seconds_per_gigabyte.value();
  return line("degraded", fmt::format("{:.4g} times the whole network's time, {} s/GB", times,
                                      to_string(whole.bound.seconds_per_gigabyte)));
}

std::string dead_link_text(const Certificate& certificate) {
  constexpr std::size_t most_cables = 512;
  const Topology& topology = certificate.topology;
  if (topology.links().size() > 2 * most_cables) {
    return line("dead link", fmt::format("not looked at: more than {} cables", most_cables));
  }
  const double now = certificate.bound.seconds_per_gigabyte.value();
  double worst = 0;
  std::string name;
  int apart = 0;
  std::string first_apart;
  for (std::size_t l = 0; l < topology.links().size(); ++l) {
    const Link& link = topology.links()[l];
    if (link.from > link.to) continue;  // its cable has been looked at, or is one-way
    const auto id = static_cast<LinkId>(l);
    try {
      const Certificate left = certify(without_cable(topology, id), certificate.goal);
      const double times = left.bound.seconds_per_gigabyte.value() / now;
      if (times > worst * (1 + 1e-9))
        std::tie(worst, name) = std::pair{times, topology.link_name(id)};
    } catch (const InvalidArgument&) {
      if (apart++ == 0) first_apart = topology.link_name(id);
    }
  }
  std::string text;
  if (!name.empty()) {
    text += line("dead link", fmt::format("at worst {:.4g} times the time: {}", worst, name));
  }
  if (apart > 0) {
    text += line("", fmt::format("{} cables cut ranks off, the first is {}", apart, first_apart));
  }
  return text;
}

Schedule proved_schedule(const SynthesisedPlan& plan, Bytes bytes) {
  Schedule schedule = to_schedule(plan, bytes);
  const bool is_reduced = proof_is_reduced(plan, schedule);
  const Verification proof =
      verify(is_reduced ? packed_schedule(plan.played(), {}, schedule.name()) : schedule,
             {plan.packing.goal, 0});
  if (!proof.ok()) {
    throw Error(fmt::format("the synthesised schedule is no {}: {}", to_string(plan.packing.goal),
                            proof.violations.front().what));
  }
  return schedule;
}

bool proof_is_reduced(const SynthesisedPlan& plan, const Schedule& schedule) {
  constexpr double most_messages = 2e7;
  const int ends = plan.packing.goal == CollectiveKind::all_reduce ? 2 : 1;
  return static_cast<double>(schedule.chunks()) * ends * (schedule.ranks() - 1) > most_messages;
}

std::string trees_to_dot(const SynthesisedPlan& plan) {
  // Okabe and Ito 2008.
  constexpr std::array<const char*, 7> colors{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                              "#E69F00", "#56B4E9", "#000000"};
  const Topology& topology = plan.certificate.topology;
  std::vector<const PackedTree*> largest;
  for (const PackedTree& tree : plan.packing.trees) largest.push_back(&tree);
  std::stable_sort(largest.begin(), largest.end(),
                   [](const PackedTree* a, const PackedTree* b) { return a->weight > b->weight; });
  largest.resize(std::min(largest.size(), colors.size()));
  std::string dot = fmt::format(
      "digraph trees {{\n  layout=circo; fontname=\"sans-serif\"; labelloc=t;\n"
      "  label=\"{} of {} trees of {}\";\n"
      "  node [fontname=\"sans-serif\", fontsize=10, style=filled, fillcolor=\"#f7f7f7\"];\n",
      largest.size(), plan.packing.trees.size(), to_string(plan.packing.goal));
  for (Rank r = 0; r < plan.packing.ranks; ++r) {
    dot += fmt::format("  r{} [label=\"{}\"];\n", r, topology.vertex_name(r));
  }
  for (std::size_t i = 0; i < largest.size(); ++i) {
    const PackedTree& tree = *largest[i];
    const std::vector<Rank>& parents = tree.broadcast.empty() ? tree.reduce : tree.broadcast;
    for (Rank r = 0; r < plan.packing.ranks; ++r) {
      if (parents[r] < 0) continue;
      const auto [from, to] =
          tree.broadcast.empty() ? std::pair{r, parents[r]} : std::pair{parents[r], r};
      dot += fmt::format("  r{} -> r{} [color=\"{}\", penwidth={:.2f}];\n", from, to, colors[i],
                         std::max(0.5, 4 * tree.weight / largest.front()->weight));
    }
  }
  return dot + "}\n";
}

}  // namespace collbench
