#include "heuristics/synthesis/plan_text.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/exchange/mscclpp_plan.h"
#include "algorithms/verify.h"
#include "core/error.h"
#include "core/json.h"
#include "heuristics/synthesis/degraded.h"
#include "heuristics/synthesis/packed_schedule.h"
#include "heuristics/synthesis/rank_paths.h"
#include "topologies/draw/draw.h"

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

double times_of(const Certificate& now, const Certificate& whole) {
  return now.bound.seconds_per_gigabyte.value() / whole.bound.seconds_per_gigabyte.value();
}

void require_proof(const Schedule& schedule, CollectiveKind goal) {
  const Verification proof = verify(schedule, {goal, 0});
  if (proof.ok()) return;
  throw Error(fmt::format("the synthesised schedule does not {}: {}", to_string(goal),
                          proof.violations.front().what));
}

/// Over how many ways the messages of a pair of ranks are spread at most.
std::size_t most_ways(const Ways& ways) {
  std::size_t most = 1;
  for (const auto& [pair, spread] : ways) most = std::max(most, spread.size());
  return most;
}

int spread_pairs(const Ways& ways) {
  return static_cast<int>(
      std::count_if(ways.begin(), ways.end(), [](const auto& of) { return of.second.size() > 1; }));
}

/// What the one route of each pair of ranks costs, or that others were chosen; empty where that is
/// nothing.
std::string routes_text(const SynthesisedPlan& plan) {
  constexpr double worth_telling = 1.001;
  if (!plan.ways.empty()) {
    const double seconds = plan.certificate.bound.seconds_per_gigabyte.value();
    return line("routes",
                fmt::format("chosen: messages of {} of {} pairs of ranks are spread over up to {} "
                            "ways (--json lists them); over one, trees reach {:.4g} % of the bound",
                            spread_pairs(plan.ways), plan.ways.size(), most_ways(plan.ways),
                            100 * seconds / (plan.one_way_seconds_per_byte * 1e9)));
  }
  const double bound = plan.certificate.bound.seconds_per_gigabyte.value() / 1e9;
  if (plan.least_by_any_ways >= bound * worth_telling) {
    return line("routes",
                fmt::format("whatever they are, no trees of messages reach more than {:.6g} GB/s, "
                            "{:.4g} % of the bound: switches would have to copy or add (prices of "
                            "links)",
                            1e-9 / plan.least_by_any_ways, 100 * bound / plan.least_by_any_ways));
  }
  const double least = plan.packing.least_by_routes;
  if (least < bound * worth_telling) return {};
  return line("routes",
              fmt::format("one for each pair of ranks: no trees over them reach more than "
                          "{:.6g} GB/s, {:.4g} % of the bound (prices of links)",
                          1e-9 / least, 100 * bound / least));
}

nlohmann::ordered_json json_of(const Ways& ways, const Topology& topology) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& [pair, spread] : ways) {
    for (const Way& way : spread) {
      auto& row = list.emplace_back();
      row["from"] = topology.vertex_name(pair.first);
      row["to"] = topology.vertex_name(pair.second);
      row["share"] = way.share;
      for (const LinkId link : way.links) row["links"].push_back(topology.link_name(link));
    }
  }
  return list;
}

/// Graphviz' place of a rank: nodes are circles beside each other, grids are grids, whose rows are
/// bent so that long edges do not run over the ranks between; empty for all others.
std::string place_of(const Topology& topology, Rank rank) {
  const Layout& layout = topology.layout();
  if (layout.kind == Layout::Kind::flat || layout.dims.size() < 2) return {};
  const int width = layout.dims[0];
  const int column = rank % width;
  const int row = rank / width;
  if (layout.kind == Layout::Kind::hierarchy) {
    constexpr double turn = 6.283185307179586;
    const double radius = 0.28 * width + 0.4;
    const double angle = turn * column / width;
    return fmt::format(", pos=\"{:.2f},{:.2f}!\"",
                       row * (2 * radius + 1.8) + radius * std::cos(angle),
                       radius * std::sin(angle));
  }
  const int height = layout.dims[1];
  const int behind = row / height;  // of a third axis and more
  const int bend = row % height;
  return fmt::format(", pos=\"{:.2f},{:.2f}!\"",
                     1.6 * column + 0.15 * bend * (height - 1 - bend) + 0.5 * behind,
                     -1.6 * bend + 0.15 * column * (width - 1 - column) + 0.4 * behind);
}

/// What a solver found beside the trees, and whether it is proven the best.
std::string steps_text(const SynthesisedPlan& plan) {
  const StepSearch& steps = *plan.steps;
  const std::string asked =
      steps.left_open == 0
          ? fmt::format("proven the best within {} rounds of the fewest, {} cheaper ones refuted",
                        most_more_rounds, steps.refuted)
          : fmt::format("not proven the best: of the cheaper ones {} refuted, {} left open",
                        steps.refuted, steps.left_open);
  if (!steps.schedule) {
    return line("steps",
                fmt::format("none of at most 6 chunks is faster than {} ({})",
                            plan.known ? plan.known->algorithm : "the trees",
                            steps.left_open == 0
                                ? fmt::format("all within {} rounds of the fewest refuted, "
                                              "or dearer",
                                              most_more_rounds)
                                : asked));
  }
  return line(
      "steps",
      fmt::format("{} chunks of each share in {} steps of {} rounds, {}{}: {}", steps.point.chunks,
                  steps.point.steps, steps.point.rounds,
                  plan.packing.goal == CollectiveKind::all_reduce ? "there and back, " : "", asked,
                  plan.plays_steps
                      ? "played"
                      : fmt::format("{} faster",
                                    plan.known ? plan.known->algorithm + " is" : "the trees are")));
}

}  // namespace

std::string to_json(const Certificate& certificate, const SynthesisedPlan* plan,
                    const BesidePlan& beside) {
  auto json = parse_json<nlohmann::ordered_json>(to_json(certificate));
  if (beside.whole != nullptr) {
    json["whole_seconds_per_GB"] = to_string(beside.whole->bound.seconds_per_gigabyte);
    json["times_of_whole"] = times_of(certificate, *beside.whole);
  }
  if (beside.late != nullptr) {
    const LatePlan& late = *beside.late;
    const auto if_played = [&](Seconds seconds) {
      return late.played.count() > 0 ? nlohmann::ordered_json(seconds.count()) : nullptr;
    };
    json["late"] = {{"adds_up_early", late.adds_up_early()},
                    {"early_s", late.early.count()},
                    {"after_s", late.after.count()},
                    {"usual_after_s", late.usual.count()},
                    {"at_least_s", late.at_least.count()},
                    {"simulated_early_after_s", if_played(late.played)},
                    {"simulated_waiting_after_s", if_played(late.played_waiting)}};
  }
  if (beside.dead_links) {
    const DeadLink dead = dead_link(certificate);
    json["dead_link"] = {{"times", dead.times > 0 ? nlohmann::ordered_json(dead.times) : nullptr},
                         {"link", dead.name},
                         {"cut_off_by", dead.apart}};
    if (!dead.is_known) json["dead_link"] = nullptr;
  }
  if (plan == nullptr) return json_text(json, 2) + "\n";
  if (plan->packing.late.empty()) {
    json["reached_seconds_per_GB"] = plan->packing.seconds_per_byte * 1e9;
    json["share_of_bound"] = plan->share();
    json["played_share_of_bound"] = plan->share(*playing(*plan, beside.bytes).packing);
  }
  if (plan->packing.late.empty() && plan->packing.least_by_routes > 0) {
    json["least_seconds_per_GB_by_routes"] = plan->packing.least_by_routes * 1e9;
  }
  if (plan->least_by_any_ways > 0) {
    json["least_seconds_per_GB_by_any_ways"] = plan->least_by_any_ways * 1e9;
  }
  if (!plan->ways.empty()) {
    json["one_route_seconds_per_GB"] = plan->one_way_seconds_per_byte * 1e9;
    json["ways"] = json_of(plan->ways, certificate.topology);
  }
  json["trees"] = plan->packing.trees.size();
  json["roots"] = roots_of(plan->packing);
  json["longest_way"] = longest_way(plan->packing);
  if (plan->known) {
    json["known"] = {{"algorithm", plan->known->algorithm},
                     {"played", !plan->plays_steps},
                     {"seconds", plan->known->time.count()},
                     {"trees_seconds", plan->known->trees.count()}};
  }
  if (plan->steps) {
    const StepSearch& steps = *plan->steps;
    json["steps"] = {{"found", steps.schedule.has_value()},
                     {"played", plan->plays_steps},
                     {"chunks", steps.point.chunks},
                     {"steps", steps.point.steps},
                     {"rounds", steps.point.rounds},
                     {"seconds", steps.time.count()},
                     {"refuted", steps.refuted},
                     {"left_open", steps.left_open}};
  }
  return json_text(json, 2) + "\n";
}

std::string plan_text(const SynthesisedPlan& plan, Bytes bytes) {
  const Schedule schedule = proved_schedule(plan, bytes);
  const TreePacking& packing = plan.packing;
  const bool is_reduced = proof_is_reduced(plan, schedule);
  std::string reached;
  if (packing.late.empty()) {
    reached = routes_text(plan) +
              line("reached", fmt::format("{:.6g} GB/s, {:.4g} % of the bound, by the fullest link",
                                          1e-9 / packing.seconds_per_byte, 100 * plan.share()));
  }
  std::string equal;
  const TreePacking& played = *playing(plan, bytes).packing;
  if (&played != &packing && packing.late.empty()) {
    equal = line("played",
                 fmt::format("as {} equally heavy trees of at most {} hops: {:.4g} % of "
                             "the bound",
                             played.trees.size(), longest_way(played), 100 * plan.share(played)));
  }
  std::string known;
  if (plan.known) {
    known = line("known", fmt::format("{} takes {}, the trees {}{}", plan.known->algorithm,
                                      to_string(plan.known->time), to_string(plan.known->trees),
                                      plan.plays_steps ? "" : ": played"));
  }
  return reached +
         line("trees", fmt::format("{} from {} roots, at most {} hops from the first leaf to the "
                                   "last",
                                   packing.trees.size(), roots_of(packing), longest_way(packing))) +
         equal + known + (plan.steps ? steps_text(plan) : "") +
         line("schedule", fmt::format("{} chunks in {} rounds for {}, {}", schedule.chunks(),
                                      schedule.rounds(), to_string(bytes),
                                      is_reduced ? "proven for one piece of every tree: the "
                                                   "others do the same in later rounds"
                                                 : "proven"));
}

std::string loss_text(const Certificate& now, const Certificate& whole) {
  return line("degraded",
              fmt::format("{:.4g} times the whole network's time, {} s/GB", times_of(now, whole),
                          to_string(whole.bound.seconds_per_gigabyte)));
}

DeadLink dead_link(const Certificate& certificate) {
  constexpr std::size_t most_cables = 512;
  const Topology& topology = certificate.topology;
  DeadLink dead;
  dead.is_known = topology.links().size() <= 2 * most_cables;
  const double now = certificate.bound.seconds_per_gigabyte.value();
  std::set<std::pair<Vertex, Vertex>> seen;  // both directions of a link are one cable
  for (std::size_t l = 0; dead.is_known && l < topology.links().size(); ++l) {
    const Link& link = topology.links()[l];
    if (!seen.insert(std::minmax(link.from, link.to)).second) continue;
    const auto id = static_cast<LinkId>(l);
    try {
      const Certificate left =
          certify(without_cable(topology, id), certificate.goal, certificate.trees);
      const double times = left.bound.seconds_per_gigabyte.value() / now;
      if (times <= dead.times * (1 + 1e-9)) continue;
      dead.times = times;
      dead.name = topology.link_name(id);
    } catch (const InvalidArgument&) {
      if (dead.apart++ == 0) dead.first_apart = topology.link_name(id);
    }
  }
  return dead;
}

std::string to_text(const DeadLink& dead) {
  if (!dead.is_known) return line("dead link", "not looked at: more than 512 cables");
  std::string text;
  if (dead.times > 0) {
    text +=
        line("dead link", fmt::format("at worst {:.4g} times the time: {}", dead.times, dead.name));
  }
  if (dead.apart > 0) {
    text +=
        line(text.empty() ? "dead link" : "",
             fmt::format("{} cables cut ranks off, the first is {}", dead.apart, dead.first_apart));
  }
  return text;
}

Schedule proved_schedule(const SynthesisedPlan& plan, Bytes bytes) {
  Schedule schedule = to_schedule(plan, bytes);
  const bool is_reduced = proof_is_reduced(plan, schedule);
  const TreePacking& played = *playing(plan, bytes).packing;
  require_proof(is_reduced ? packed_schedule(played, {}, schedule.name()) : schedule,
                plan.packing.goal);
  return schedule;
}

MscclExport to_msccl_export(const SynthesisedPlan& plan, Bytes bytes) {
  constexpr int most_pieces = 16;
  const auto [packing, pipelining] = playing(plan, bytes);
  const Schedule* other = plan.instead();
  for (int pieces = std::min(most_pieces, pipelining.pieces);; pieces /= 2) {
    const Schedule schedule =
        other != nullptr ? *other : packed_schedule(*packing, {pieces, 1}, "synth");
    MscclExport program{"", msccl_size(schedule)};
    if (!program.size.fits() && pieces > 1 && other == nullptr) continue;
    require_proof(schedule, plan.packing.goal);
    program.xml = to_msccl_xml(schedule, plan.packing.goal);
    return program;
  }
}

std::string to_mscclpp_json(const SynthesisedPlan& plan) {
  const RankPaths paths(plan.certificate.topology);
  const auto share_memory = [&](Rank a, Rank b) {
    return summarize(plan.certificate.topology, paths.links(a, b)).level == 0;
  };
  const CollectiveKind goal = plan.packing.goal;
  const Schedule* other = plan.instead();
  for (int pieces = other != nullptr ? 1 : 16;; pieces /= 2) {
    const Schedule schedule =
        other != nullptr ? *other : packed_schedule(plan.played(), {pieces, 1}, "synth");
    try {
      const std::string json = to_mscclpp_json(schedule, goal, share_memory);
      require_proof(schedule, goal);
      return json;
    } catch (const InvalidArgument&) {
      if (pieces == 1) throw;
    }
  }
}

bool proof_is_reduced(const SynthesisedPlan& plan, const Schedule& schedule) {
  if (plan.instead() != nullptr) return false;
  constexpr double most_messages = 2e7;
  const int ends = plan.packing.goal == CollectiveKind::all_reduce ? 2 : 1;
  return static_cast<double>(schedule.chunks()) * ends * (schedule.ranks() - 1) > most_messages;
}

std::string trees_to_dot(const SynthesisedPlan& plan) {
  const Topology& topology = plan.certificate.topology;
  std::vector<const PackedTree*> largest;
  for (const PackedTree& tree : plan.packing.trees) largest.push_back(&tree);
  std::stable_sort(largest.begin(), largest.end(),
                   [](const PackedTree* a, const PackedTree* b) { return a->weight > b->weight; });
  largest.resize(std::min(largest.size(), distinct_colors.size()));
  const bool has_places = !place_of(topology, 0).empty();
  std::string dot = fmt::format(
      "digraph trees {{\n  layout={}; splines=true; fontname=\"sans-serif\"; labelloc=t;\n"
      "  label=\"{} of {} trees of {}\";\n"
      "  node [fontname=\"sans-serif\", fontsize=10, style=filled, fillcolor=\"#f7f7f7\"];\n",
      has_places ? "neato" : "circo", largest.size(), plan.packing.trees.size(),
      to_string(plan.packing.goal));
  for (Rank r = 0; r < plan.packing.ranks; ++r) {
    dot +=
        fmt::format("  r{} [label=\"{}\"{}];\n", r, topology.vertex_name(r), place_of(topology, r));
  }
  for (std::size_t i = 0; i < largest.size(); ++i) {
    const PackedTree& tree = *largest[i];
    const std::vector<Rank>& parents = tree.broadcast.empty() ? tree.reduce : tree.broadcast;
    for (Rank r = 0; r < plan.packing.ranks; ++r) {
      if (parents[r] < 0) continue;
      const auto [from, to] =
          tree.broadcast.empty() ? std::pair{r, parents[r]} : std::pair{parents[r], r};
      dot +=
          fmt::format("  r{} -> r{} [color=\"{}\", penwidth={:.2f}];\n", from, to,
                      distinct_colors[i], std::max(0.5, 4 * tree.weight / largest.front()->weight));
    }
  }
  return dot + "}\n";
}

}  // namespace collbench
