#include "heuristics/synthesis/late_plan.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/synthesis/packed_schedule.h"
#include "heuristics/synthesis/pipelining.h"

namespace collbench {
namespace {

std::vector<Rank> late_ranks(const Topology& topology, const Delays& delays) {
  std::vector<Rank> ranks;
  for (const auto& [rank, delay] : delays) {
    require(rank >= 0 && rank < topology.hosts(),
            fmt::format("--late: {} has the ranks 0 to {}, not {}", topology.name(),
                        topology.hosts() - 1, rank));
    require(std::find(ranks.begin(), ranks.end(), rank) == ranks.end(),
            fmt::format("--late: rank {} is named twice", rank));
    if (delay.count() > 0) ranks.push_back(rank);
  }
  require(
      !ranks.empty() && std::ssize(ranks) < topology.hosts(),
      fmt::format("--late: some of the {} ranks have to be late, and not all", topology.hosts()));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

double seconds_through(const Topology& topology, Rank rank) {
  double out = 0;
  double in = 0;
  for (std::size_t l = 0; l < topology.links().size(); ++l) {
    const double capacity = topology.capacity(static_cast<LinkId>(l));
    if (topology.links()[l].from == rank) out += capacity;
    if (topology.links()[l].to == rank) in += capacity;
  }
  return 1 / std::min(out, in);
}

}  // namespace

LatePlan synthesise_late(const Topology& topology, const Delays& delays, Bytes bytes,
                         int equal_trees) {
  const std::vector<Rank> ranks = late_ranks(topology, delays);
  const auto size = static_cast<double>(bytes.count);
  const auto last =
      std::max_element(delays.begin(), delays.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  const double delay = last->second.count();
  // Trees for late ranks take one route for each pair.
  const Topology network = topology.with_free_routes(false);
  const SynthesisedPlan usual = synthesise(network, CollectiveKind::all_reduce, equal_trees);
  LatePlan late{usual, usual, delays, {}, {}, {}, {}};
  late.usual = Seconds{late.plan.packing.seconds_per_byte * size};
  late.after = late.usual;
  const double bound = late.plan.certificate.bound.seconds_per_gigabyte.value() * size / 1e9;
  late.at_least = Seconds{std::max(seconds_through(topology, last->first) * size, bound - delay)};
  // What the early part may take is known in times of what follows, which it changes. Beyond some
  // the others are always done; the program would only become ill-conditioned.
  const auto early_time = [delay](double after) {
    constexpr double least_times = 1e-3;
    constexpr double most_times = 1e3;
    return after > 0 ? std::clamp(delay / after, least_times, most_times) : most_times;
  };
  double after = late.usual.count();
  for (int i = 0; i < 2; ++i) {
    const LateRanks guess{ranks, early_time(after)};
    after = pack_late_trees(topology, guess, 0, false).packing.seconds_per_byte * size;
  }
  auto [packing, whole, fewer] = pack_late_trees(topology, {ranks, early_time(after)}, equal_trees);
  const TreePacking& played = whole.trees.empty() ? packing : whole;
  const double early = played.early_seconds_per_byte * size;
  const double all = played.seconds_per_byte * size + std::max(0.0, early - delay);
  if (all >= late.usual.count() * (1 - 1e-6)) return late;
  late.early = Seconds{early};
  late.after = Seconds{all};
  late.plan.packing = std::move(packing);
  late.plan.whole = std::move(whole);
  late.plan.fewer = std::move(fewer);
  return late;
}

void choose_by_playing(LatePlan& late, const Machine& machine, Bytes bytes, int tracks,
                       const PlayLate& play) {
  constexpr double most_messages = 2e5;  // a second of simulation where links are shared
  if (!late.adds_up_early()) return;
  const Seconds last =
      std::max_element(late.delays.begin(), late.delays.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->second;
  struct Played {
    Seconds after;
    int tracks;
  };
  const auto played = [&](const SynthesisedPlan& plan, int count) -> std::optional<Played> {
    const auto [packing, pipelining] = playing(plan, bytes, count);
    const double edges = 2.0 * packing->ranks * static_cast<double>(packing->trees.size());
    if (edges * pipelining.pieces > most_messages) return std::nullopt;
    const Schedule schedule = packed_schedule(*packing, pipelining, "synth");
    return Played{play(schedule, machine, late.delays, bytes) - last, count};
  };
  SynthesisedPlan waiting = late.waiting;
  waiting.messages = late.plan.messages;
  const std::optional<Played> usual = played(waiting, tracks);
  std::optional<Played> best = played(late.plan, tracks);
  const bool suits = best.has_value();
  for (const int count : tracks > 0 ? std::vector<int>{} : std::vector{1, 2, 4}) {
    const std::optional<Played> few = played(late.plan, count);
    if (few && (!best || few->after < best->after)) best = few;
  }
  if (!usual || !best) return;
  const bool waits = usual->after <= best->after;
  if (!waits && !suits) return;  // finer pieces, which were not played, are faster than few
  late.played = best->after;
  late.played_waiting = usual->after;
  if (waits) {
    late.plan = std::move(waiting);
    late.early = Seconds{0};
    late.after = late.usual;
  } else {
    late.plan.tracks = best->tracks;
  }
}

std::string to_text(const LatePlan& late) {
  std::string names;
  for (const auto& [rank, delay] : late.delays) {
    names += fmt::format("{}rank {} by {}", names.empty() ? "" : ", ", rank, to_string(delay));
  }
  std::string text = fmt::format("{:<10} {}: ", "late", names);
  if (!late.adds_up_early() && late.played.count() > 0) {
    return text +
           fmt::format("waiting for all is faster in simulation, {} after it instead of {}\n",
                       to_string(late.played_waiting), to_string(late.played));
  }
  if (!late.adds_up_early()) {
    return text + fmt::format("waiting for all is as fast, {} after it\n", to_string(late.usual));
  }
  text += fmt::format("the others add up before, in {}\n", to_string(late.early));
  text += fmt::format("{:<10} {} instead of {}; no schedule takes less than {}\n", "after it",
                      to_string(late.after), to_string(late.usual), to_string(late.at_least));
  if (late.played.count() == 0) return text;
  return text + fmt::format("{:<10} {} after it instead of {}, latencies included\n", "simulated",
                            to_string(late.played), to_string(late.played_waiting));
}

}  // namespace collbench
