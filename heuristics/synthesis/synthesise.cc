#include "heuristics/synthesis/synthesise.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "algorithms/synthesised.h"
#include "core/error.h"
#include "heuristics/synthesis/late_plan.h"
#include "heuristics/synthesis/packed_schedule.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

/// Networks by name, and the plans made for them.
class PlanStore {
 public:
  void remember(const Topology& topology) {
    const std::lock_guard lock(mutex_);
    const auto [kept, is_new] =
        networks_.try_emplace(topology.name(), Machine{topology, {}, {}, {}});
    if (!is_new) kept->second.topology = topology;  // its costs stay known
  }

  void remember(const Machine& machine) {
    const std::lock_guard lock(mutex_);
    networks_.insert_or_assign(machine.topology.name(), machine);
  }

  void play_with(PlayLate play) {
    const std::lock_guard lock(mutex_);
    play_ = std::move(play);
  }

  std::shared_ptr<const SynthesisedPlan> plan(const SynthesisRequest& request) {
    const std::lock_guard lock(mutex_);
    auto network = networks_.find(request.network);
    if (network == networks_.end()) {
      network = networks_.emplace(request.network, machine(request.network, request.ranks)).first;
    }
    const Topology& topology = network->second.topology;
    const MessageLadder messages = message_ladder(network->second.costs);
    require(topology.hosts() == request.ranks,
            fmt::format("synth: {} has {} hosts, and all of them take part, not {} ranks",
                        request.network, topology.hosts(), request.ranks));
    std::string purpose(to_string(request.kind));
    if (!request.chooses_routes) purpose += " one route";
    for (const auto& [rank, delay] : request.late) {
      purpose +=
          fmt::format(" {}:{} {} {}", rank, delay.count(), request.bytes.count, request.tracks);
    }
    auto& kept = plans_[{request.network, purpose}];
    const bool is_other = !kept || !same_links(kept->certificate.topology, topology);
    if (!request.late.empty() && (is_other || kept->messages != messages)) {
      LatePlan late = synthesise_late(topology, request.late, request.bytes);
      late.plan.messages = messages;
      if (play_) {
        choose_by_playing(late, network->second, request.bytes, request.tracks, play_);
      }
      kept = std::make_shared<SynthesisedPlan>(std::move(late.plan));
    } else if (is_other) {
      kept = std::make_shared<SynthesisedPlan>(synthesise(
          request.chooses_routes ? topology : topology.with_free_routes(false), request.kind));
    }
    if (kept->messages != messages) {
      auto changed = std::make_shared<SynthesisedPlan>(*kept);
      changed->messages = messages;
      kept = std::move(changed);
    }
    return kept;
  }

  /// What is faster than the plan of a request; none if its trees are, or nothing is asked for.
  std::optional<KnownSchedule> known(const SynthesisRequest& request,
                                     const std::shared_ptr<const SynthesisedPlan>& plan) {
    const std::lock_guard lock(mutex_);
    if (!play_ || !request.takes_known || !request.late.empty()) return std::nullopt;
    const auto [kept, is_new] =
        known_.try_emplace({plan, request.bytes.count, request.tracks}, std::nullopt);
    if (!is_new) return kept->second;
    Machine routed = networks_.at(request.network);
    routed.topology = plan->network();
    SynthesisedPlan other = *plan;
    add_known(other, request.bytes, request.tracks,
              [&](const Schedule& schedule) { return play_(schedule, routed, {}, request.bytes); });
    kept->second = std::move(other.known);
    return kept->second;
  }

 private:
  static bool same_links(const Topology& a, const Topology& b) {
    if (a.links().size() != b.links().size()) return false;
    for (std::size_t l = 0; l < a.links().size(); ++l) {
      const auto link = static_cast<LinkId>(l);
      if (a.capacity(link) != b.capacity(link)) return false;
    }
    return true;
  }

  std::mutex mutex_;
  PlayLate play_;
  std::map<std::string, Machine> networks_;  // by name
  // by network and purpose
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const SynthesisedPlan>> plans_;
  // by plan, bytes and tracks
  std::map<std::tuple<std::shared_ptr<const SynthesisedPlan>, std::int64_t, int>,
           std::optional<KnownSchedule>>
      known_;
};

PlanStore& plan_store() {
  static PlanStore store;
  return store;
}

SynthesisedSchedule answer(const SynthesisRequest& request) {
  if (request.ranks == 1) return {{"synth", {.ranks = 1, .chunks = 1, .rounds = 0}, {}}};
  const auto plan = plan_store().plan(request);
  if (const auto known = plan_store().known(request, plan)) return {known->schedule, known->time};
  const auto [packing, pipelining] = playing(*plan, request.bytes, request.tracks);
  return {packed_schedule(*packing, pipelining, "synth"), pipelining.time};
}

/// For small vectors: trees of no more hops than those that fill the links.
void add_shallow(Packings& packed, const Topology& topology, CollectiveKind goal, int most_trees) {
  const auto add = [&](TreePacking shallow) {
    const TreePacking& large = packed.whole.trees.empty() ? packed.packing : packed.whole;
    const bool has_room = most_trees == 0 || std::ssize(shallow.trees) <= most_trees;
    if (!has_room || longest_way(shallow) > longest_way(large)) return;
    packed.fewer.insert(packed.fewer.begin(), std::move(shallow));
  };
  TreePacking shallow = shallow_trees(topology, goal);
  if (goal == CollectiveKind::all_reduce) add(shallowest_alone(topology, shallow));
  add(std::move(shallow));
}

/// Whether a pair of ranks may have several ways that pass no other rank: by switches, or by links
/// of several kinds side by side.
bool has_ways_beside(const Topology& topology) {
  if (topology.vertices() > topology.hosts()) return true;
  std::set<std::pair<Vertex, Vertex>> joined;
  return !std::ranges::all_of(topology.links(), [&](const Link& link) {
    return joined.emplace(link.from, link.to).second;
  });
}

/// Beyond that, trees are weighed by numbers that double precision does not tell from nothing.
void require_rates_alike(const Topology& topology) {
  constexpr double most_times = 1e5;
  LinkId slow = -1;
  LinkId fast = -1;
  for (LinkId link = 0; link < std::ssize(topology.links()); ++link) {
    if (topology.links()[link].from == topology.links()[link].to) continue;
    if (slow < 0 || topology.capacity(link) < topology.capacity(slow)) slow = link;
    if (fast < 0 || topology.capacity(link) > topology.capacity(fast)) fast = link;
  }
  if (slow < 0) return;
  const double times = topology.capacity(fast) / topology.capacity(slow);
  const auto named = [&](LinkId link) {
    return fmt::format("{} ({:.6g} GB/s)", topology.link_name(link), topology.capacity(link) / 1e9);
  };
  require(
      times <= most_times * (1 + 1e-9),
      fmt::format("{}: {} is {:.3g} times as fast as {}; trees are made for links of which none "
                  "is more than 100,000 times as fast as another: take the slow one out (a share "
                  "of 0 in --degrade), or give the fast one the rate that is needed of it",
                  topology.name(), named(fast), times, named(slow)));
}

}  // namespace

Topology SynthesisedPlan::network() const {
  return ways.empty() ? certificate.topology : certificate.topology.with_ways(ways);
}

const Schedule* SynthesisedPlan::instead() const {
  if (plays_steps) return &*steps->schedule;
  return known ? &known->schedule : nullptr;
}

double SynthesisedPlan::share(const TreePacking& trees) const {
  return certificate.bound.seconds_per_gigabyte.value() / (trees.seconds_per_byte * 1e9);
}

MessageLadder message_ladder(const Costs& costs) {
  constexpr double usual_bytes = 65536;
  MessageLadder ladder;
  const auto add = [&](const Protocol* protocol) {
    MessageTimes& times = ladder.emplace_back();
    for (int level = 0; level < std::ssize(times.gap); ++level) {
      const MessageCost cost = message_cost(costs, protocol, usual_bytes, level);
      times.latency[level] = cost.latency;
      times.cap[level] = {cost.cap};
      times.wire_factor = cost.wire_factor;
      MessageGaps two;
      two.add(level);
      two.add(level);
      times.gap[level] = two.beyond_one(costs, protocol);
    }
  };
  for (const Protocol& protocol : costs.protocols) add(&protocol);
  if (costs.protocols.empty()) add(nullptr);
  return ladder;
}

SynthesisedPlan synthesise(const Topology& topology, CollectiveKind goal, int equal_trees) {
  constexpr int most_routed_ranks = 64;
  constexpr int most_made_shallow = 256;  // ranks
  constexpr double worth_ways = 0.002;    // of the time
  Certificate certificate = certify(topology, goal);
  require_rates_alike(topology);
  const double target = certificate.bound.seconds_per_gigabyte.value() / 1e9;
  const bool is_free = topology.routes_are_free() && topology.hosts() <= most_routed_ranks &&
                       has_ways_beside(topology);
  const double enough =
      is_free ? target * (1 + worth_ways) : std::numeric_limits<double>::infinity();
  Packings packed = pack_trees(topology, goal, target, equal_trees, enough);
  const double one_way = packed.whole.trees.empty() ? packed.packing.seconds_per_byte
                                                    : std::min(packed.packing.seconds_per_byte,
                                                               packed.whole.seconds_per_byte);
  double least_by_any_ways = 0;
  if (one_way > enough) {
    const double better = one_way * (1 - worth_ways);
    RoutedPacking routed = pack_with_ways(topology, goal, target, equal_trees, better);
    if (!routed.ways.empty() && routed.packing.seconds_per_byte < better) {
      return {.certificate = std::move(certificate),
              .packing = std::move(routed.packing),
              .ways = std::move(routed.ways),
              .one_way_seconds_per_byte = one_way};
    }
    if (packed.whole.trees.empty()) packed = pack_trees(topology, goal, target, equal_trees);
    if (routed.ways.empty()) least_by_any_ways = routed.packing.least_by_routes;
  }
  if (topology.hosts() <= most_made_shallow) add_shallow(packed, topology, goal, equal_trees);
  return {.certificate = std::move(certificate),
          .packing = std::move(packed.packing),
          .whole = std::move(packed.whole),
          .fewer = std::move(packed.fewer),
          .least_by_any_ways = least_by_any_ways};
}

SynthesisedPlan synthesise_shallow(const Topology& topology, CollectiveKind goal) {
  TreePacking shallow = shallow_trees(topology, goal);
  if (goal == CollectiveKind::all_reduce) shallow = shallowest_alone(topology, shallow);
  return {certify(topology, goal), std::move(shallow)};
}

void add_steps(SynthesisedPlan& plan, Bytes bytes, const AskSolver& ask, const TimeOf& time_of) {
  const Topology& topology = plan.certificate.topology;
  const CollectiveKind goal = plan.packing.goal;
  if (bytes.count == 0) {
    plan.steps = search_steps(topology, goal, bytes, Seconds{0}, ask);
    if (!plan.steps->schedule) return;
    const std::pair steps{plan.steps->schedule->rounds(), plan.steps->seconds_per_byte};
    plan.plays_steps = steps < std::pair{longest_way(plan.packing), plan.packing.seconds_per_byte};
    return;
  }
  const Seconds usual = time_of(to_schedule(plan, bytes));
  plan.steps = search_steps(topology, goal, bytes, usual, ask);
  plan.plays_steps = plan.steps->schedule && time_of(*plan.steps->schedule) < usual;
}

Playing playing(const SynthesisedPlan& plan, Bytes bytes, int tracks) {
  const Topology network = plan.network();
  const auto with = [&](const TreePacking& packing) {
    const int asked = tracks > 0 ? tracks : plan.tracks;
    return Playing{&packing, pipelining_for(network, packing, bytes, plan.messages, asked)};
  };
  Playing best = with(plan.played());
  for (const TreePacking& packing : plan.fewer) {
    const Playing fewer = with(packing);
    if (fewer.pipelining.time < best.pipelining.time) best = fewer;
  }
  return best;
}

Schedule to_schedule(const SynthesisedPlan& plan, Bytes bytes, int tracks) {
  if (const Schedule* other = plan.instead()) return *other;
  const auto [packing, pipelining] = playing(plan, bytes, tracks);
  return packed_schedule(*packing, pipelining, "synth");
}

Topology routed_for(const AlgorithmSpec& spec, const Topology& topology, Bytes bytes,
                    CollectiveKind kind) {
  const bool is_chosen = spec.name == synthesised_row().name && topology.routes_are_free();
  if (!is_chosen || topology.hosts() == 1) return topology;
  const auto plan = plan_store().plan(synthesis_request(spec, topology.hosts(), bytes, kind));
  return plan->ways.empty() ? topology : topology.with_ways(plan->ways);
}

void offer_synthesis(PlayLate play) {
  plan_store().play_with(std::move(play));
  set_synthesiser(answer);
}

void remember_network(const Topology& topology) { plan_store().remember(topology); }

void remember_machine(const Machine& machine) { plan_store().remember(machine); }

}  // namespace collbench
