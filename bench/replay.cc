#include "bench/replay.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/report.h"
#include "bench/simulated_team.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr int most_ranks = 64;
constexpr std::int64_t most_messages = 4000;

/// Rows from the hosts upwards: how many links a vertex is away from the nearest host.
std::vector<int> levels_of(const Topology& topology) {
  constexpr int unknown = -1;
  std::vector<int> level(static_cast<std::size_t>(topology.vertices()), unknown);
  for (int host = 0; host < topology.hosts(); ++host) level[static_cast<std::size_t>(host)] = 0;
  for (int current = 0, found = 1; found > 0; ++current) {
    found = 0;
    for (const Link& link : topology.links()) {
      const int from = level[static_cast<std::size_t>(link.from)];
      int& to = level[static_cast<std::size_t>(link.to)];
      if (from != current || to != unknown) continue;
      to = current + 1;
      ++found;
    }
  }
  return level;
}

/// A grid as a grid: the first two axes across and down, further ones shift the whole.
void place_grid(const Layout& layout, std::vector<ReplayedVertex>& vertices) {
  for (std::size_t host = 0; host < vertices.size(); ++host) {
    int rest = static_cast<int>(host);
    double step_x = 1;
    double step_y = 1;
    for (std::size_t axis = 0; axis < layout.dims.size(); ++axis) {
      const int place = rest % layout.dims[axis];
      rest /= layout.dims[axis];
      const bool across = axis % 2 == 0;
      (across ? vertices[host].x : vertices[host].y) += place * (across ? step_x : step_y);
      // The third axis lies askew, so that its links do not hide those of the first.
      if (axis >= 2) (across ? vertices[host].y : vertices[host].x) += 0.35 * place;
      (across ? step_x : step_y) *= layout.dims[axis] + 0.6;
    }
  }
}

/// Hosts in one row with gaps between nodes; each switch above the middle of what hangs from it.
void place_in_rows(const Topology& topology, std::vector<ReplayedVertex>& vertices) {
  const std::vector<int> level = levels_of(topology);
  const Layout& layout = topology.layout();
  const int per_node = layout.kind == Layout::Kind::hierarchy ? layout.dims.front() : 0;
  for (int host = 0; host < topology.hosts(); ++host) {
    vertices[static_cast<std::size_t>(host)].x = host + (per_node > 0 ? host / per_node : 0);
  }
  const int highest = *std::max_element(level.begin(), level.end());
  for (int row = 1; row <= highest; ++row) {
    std::map<Vertex, std::pair<double, int>> below;  // sum of places and number of links
    for (const Link& link : topology.links()) {
      const auto to = static_cast<std::size_t>(link.to);
      const auto from = static_cast<std::size_t>(link.from);
      if (level[to] != row || level[from] != row - 1) continue;
      below[link.to].first += vertices[from].x;
      ++below[link.to].second;
    }
    std::map<double, int> taken;  // how many already stand in the middle of the same hosts
    for (const auto& [vertex, sum] : below) {
      ReplayedVertex& placed = vertices[static_cast<std::size_t>(vertex)];
      const double middle = sum.first / sum.second;
      const int before = taken[middle]++;
      placed.x = middle + (before % 2 == 1 ? -1 : 1) * ((before + 1) / 2) * 1.0;
      placed.y = -2.0 * row;
    }
  }
}

std::vector<ReplayedVertex> vertices_of(const Topology& topology) {
  std::vector<ReplayedVertex> vertices;
  for (Vertex vertex = 0; vertex < topology.vertices(); ++vertex) {
    vertices.push_back({topology.vertex_name(vertex), vertex < topology.hosts(), 0, 0});
  }
  const Layout& layout = topology.layout();
  if (layout.kind == Layout::Kind::grid && topology.vertices() == topology.hosts()) {
    place_grid(layout, vertices);
  } else {
    place_in_rows(topology, vertices);
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
    if (a.which.workers != b.which.workers) return a.which.workers > b.which.workers;
    if (a.which.bytes.count != b.which.bytes.count) {
      return a.which.bytes.count > b.which.bytes.count;
    }
    return a.measurement.exact->time < b.measurement.exact->time;
  };
  std::vector<const Record*> chosen;  // one per topology, in the order of the records
  for (const Record& record : records) {
    if (!record.measurement.exact || record.which.workers > most_ranks) continue;
    if (record.which.simulated.collective != "all-reduce") continue;
    const auto same = std::find_if(chosen.begin(), chosen.end(), [&](const Record* other) {
      return other->which.simulated.topology == record.which.simulated.topology;
    });
    if (same == chosen.end()) {
      chosen.push_back(&record);
    } else if (better(record, **same)) {
      *same = &record;
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(), [](const Record* a, const Record* b) {
    return a->which.workers > b->which.workers;
  });
  std::vector<Case> cases;
  for (const Record* record : chosen) {
    if (cases.size() == limit) break;
    cases.push_back(record->which);
    cases.back().algorithm = record->algorithm_chosen;
  }
  return cases;
}

Replay replay(const Case& which) {
  CaseBinder binder;
  Case played_case = which;
  std::string& engine = played_case.simulated.engine;
  if (engine != "simgrid") engine = "fluid";
  const Played played = play_case(played_case, binder, most_messages);
  Replay out;
  out.name = case_name(which);
  out.topology = played.scenario.machine.topology.name();
  out.engine = std::string(to_string(played.outcome.engine));
  out.bottleneck = explain_bottleneck(played.scenario, played.outcome);
  out.time_us = played.outcome.time.count() * 1e6;
  out.ranks = which.workers;
  for (const Transfer& transfer : played.outcome.transfers) {
    out.messages.push_back({transfer.from, transfer.to, transfer.round, transfer.bytes,
                            transfer.ready.count() * 1e6, transfer.start.count() * 1e6,
                            transfer.arrival.count() * 1e6});
  }
  out.messages_left_out =
      played.outcome.messages - static_cast<std::int64_t>(played.outcome.transfers.size());
  out.vertices = vertices_of(played.scenario.machine.topology);
  out.links = links_of(played.scenario, played.outcome);
  return out;
}

std::vector<Replay> replays_of(const std::vector<Record>& records, std::size_t limit,
                               std::vector<std::string>& notes) {
  std::vector<Replay> replays;
  for (const Case& which : cases_to_replay(records, limit)) {
    try {
      replays.push_back(replay(which));
    } catch (const InvalidArgument& error) {
      notes.push_back(
          fmt::format("{} could not be played again: {}", case_name(which), error.what()));
    }
  }
  return replays;
}

}  // namespace collbench
