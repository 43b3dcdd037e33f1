#include "bench/reports/replay.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/records/report.h"
#include "bench/simulated/team.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr int most_drawn_ranks = 64;
constexpr std::int64_t most_messages = 4000;

std::vector<ReplayedVertex> vertices_of(const Topology& topology) {
  std::vector<ReplayedVertex> vertices;
  for (Vertex vertex = 0; vertex < topology.vertices(); ++vertex) {
    vertices.push_back({topology.vertex_name(vertex), vertex < topology.hosts(), 0, 0});
  }
  return vertices;
}

std::vector<ReplayedLink> links_of(const Scenario& scenario, const Outcome& outcome) {
  const Topology& topology = scenario.machine.topology;
  std::vector<ReplayedLink> links;
  for (std::size_t i = 0; i < outcome.links.size(); ++i) {
    const auto id = static_cast<LinkId>(i);
    const Link& ends = topology.links()[i];
    const double full = outcome.links[i].bytes / topology.capacity(id);  // seconds at full rate
    links.push_back({ends.from, ends.to, topology.link_class(id).name, topology.capacity(id) / 1e9,
                     outcome.links[i].bytes, outcome.links[i].busy.count() * 1e6,
                     outcome.time.count() > 0 ? full / outcome.time.count() : 0});
  }
  return links;
}

}  // namespace

std::vector<Case> cases_to_replay(const std::vector<Record>& records, std::size_t limit) {
  // Better: more ranks, then more bytes, then less time.
  const auto better = [](const Record& a, const Record& b) {
    if (a.point.workers != b.point.workers) return a.point.workers > b.point.workers;
    if (a.point.bytes.count != b.point.bytes.count) {
      return a.point.bytes.count > b.point.bytes.count;
    }
    return a.measurement.exact->time < b.measurement.exact->time;
  };
  std::vector<const Record*> chosen;  // one per topology, in the order of the records
  for (const Record& record : records) {
    if (!record.measurement.exact || record.point.workers > most_drawn_ranks) continue;
    if (record.point.collective != CollectiveKind::all_reduce) continue;
    const auto same = std::find_if(chosen.begin(), chosen.end(), [&](const Record* other) {
      return other->point.simulated.topology == record.point.simulated.topology;
    });
    if (same == chosen.end()) {
      chosen.push_back(&record);
    } else if (better(record, **same)) {
      *same = &record;
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const Record* a, const Record* b) {
    return a->point.workers > b->point.workers;
  });
  std::vector<Case> cases;
  for (const Record* record : chosen) {
    if (cases.size() == limit) break;
    cases.push_back(record->point);
    cases.back().algorithm = record->algorithm_chosen;
  }
  return cases;
}

Replay replay(const Case& point) {
  CaseBinder binder;
  Case played_case = point;
  std::string& engine = played_case.simulated.engine;
  if (engine != "simgrid") engine = "fluid";
  const Played played = play_case(played_case, binder, most_messages);
  Replay out;
  out.name = case_name(point);
  out.topology = played.scenario.machine.topology.name();
  out.engine = std::string(to_string(played.outcome.engine));
  out.bottleneck = explain_bottleneck(played.scenario, played.outcome);
  out.time_us = played.outcome.time.count() * 1e6;
  out.ranks = point.workers;
  for (const Transfer& transfer : played.outcome.transfers) {
    out.messages.push_back({transfer.from, transfer.to, transfer.round, transfer.bytes,
                            transfer.ready.count() * 1e6, transfer.start.count() * 1e6,
                            transfer.arrival.count() * 1e6});
  }
  out.messages_left_out =
      played.outcome.messages - static_cast<std::int64_t>(played.outcome.transfers.size());
  out.vertices = vertices_of(played.scenario.machine.topology);
  out.links = links_of(played.scenario, played.outcome);
  place_vertices(out, played.scenario.machine.topology.layout());
  return out;
}

std::vector<Replay> replays_of(const std::vector<Record>& records, std::size_t limit,
                               std::vector<std::string>& notes) {
  std::vector<Replay> replays;
  for (const Case& point : cases_to_replay(records, limit)) {
    try {
      replays.push_back(replay(point));
    } catch (const InvalidArgument& error) {
      notes.push_back(
          fmt::format("{} could not be played again: {}", case_name(point), error.what()));
    }
  }
  return replays;
}

}  // namespace collbench
