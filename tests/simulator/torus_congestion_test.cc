// Bytes on the busiest link of tori, round by round, against an independent computation: its own
// schedules, shortest dimension-order routes, links of both directions apart.
//
// The table (torus_congestion.csv, columns as there) counts parts of the vector M per link
// bandwidth. Its ratios are to the bound 2(N-1)/N/(2D) of a torus of D axes. Its messages to the
// opposite end of an even ring go up from even and down from odd coordinates.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <numeric>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "algorithms/registry.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

struct CongestionRow {
  std::string dims;  // "4x8"
  std::string algorithm;
  int tracks = 0;
  int rounds = 0;
  double bytes = 0;
  double ratio = 0;
};

std::vector<CongestionRow> table() {
  std::ifstream file(COLLBENCH_TORUS_CONGESTION);
  std::vector<CongestionRow> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#") || line.starts_with("dims,")) continue;
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    rows.push_back({cells.at(0), cells.at(2), std::stoi(cells.at(3)), std::stoi(cells.at(4)),
                    std::stod(cells.at(5)), std::stod(cells.at(7))});
  }
  return rows;
}

int axes_of(const std::string& dims) {
  return 1 + static_cast<int>(std::count(dims.begin(), dims.end(), 'x'));
}

std::string spec_of(const CongestionRow& row) {
  const auto butterfly = [&](const char* name, const char* flag) {
    return fmt::format("{}:dims={}:streams={}{}", name, row.dims, row.tracks, flag);
  };
  if (row.algorithm == "swing_bw") return butterfly("swing", "");
  if (row.algorithm == "swing_lat") return butterfly("swing", ":latency");
  if (row.algorithm == "recdoub_bw") return butterfly("halving-doubling", "");
  if (row.algorithm == "recdoub_lat") return butterfly("recursive-doubling", "");
  return fmt::format("torus:dims={}", row.dims);
}

// Parts of the vector that pass over each link in rounds [first, last), of chunks in `counted`.
std::vector<double> link_loads(const Schedule& schedule, const Topology& torus, int first, int last,
                               Chunks counted) {
  std::vector<double> loads(torus.links().size(), 0);
  std::vector<LinkId> route;
  Round round;
  for (Rank r = 0; r < schedule.ranks(); ++r) {
    for (int t = first; t < last; ++t) {
      schedule.round(r, t, round);
      for (const Op& op : round.ops()) {
        if (op.kind != OpKind::send || op.chunks.first < counted.first ||
            op.chunks.first >= counted.first + counted.count) {
          continue;
        }
        torus.route(r, op.peer, route);
        for (const LinkId link : route) {
          loads[static_cast<std::size_t>(link)] +=
              static_cast<double>(op.chunks.count) / schedule.chunks();
        }
      }
    }
  }
  return loads;
}

double busiest(const std::vector<double>& loads) {
  return *std::max_element(loads.begin(), loads.end());
}

double butterfly_bytes(const Schedule& schedule, const Topology& torus) {
  double sum = 0;
  for (int t = 0; t < schedule.rounds(); ++t) {
    sum += busiest(link_loads(schedule, torus, t, t + 1, {0, schedule.chunks()}));
  }
  return sum;
}

// The axis along which a link of the torus lies.
std::size_t axis_of(const Link& link, const std::vector<int>& dims) {
  int stride = 1;
  for (std::size_t a = 0; a < dims.size(); ++a) {
    if (link.from / stride % dims[a] != link.to / stride % dims[a]) return a;
    stride *= dims[a];
  }
  return dims.size();
}

// The table lets the tracks of a torus wait for each other after each of their D axes: the
// slowest track of every stage counts. Track s plays axis s + k in stage k.
double staged_torus_bytes(const Schedule& schedule, const Topology& torus) {
  const std::vector<int>& dims = torus.layout().dims;
  const std::size_t n = dims.size();
  std::vector<double> slowest(n, 0);  // by stage
  for (std::size_t s = 0; s < n; ++s) {
    const int share = schedule.chunks() / static_cast<int>(n);
    const std::vector<double> loads =
        link_loads(schedule, torus, 0, schedule.rounds(), {static_cast<int>(s) * share, share});
    for (std::size_t i = 0; i < loads.size(); ++i) {
      const std::size_t stage = (axis_of(torus.links()[i], dims) + n - s) % n;
      slowest[stage] = std::max(slowest[stage], loads[i]);
    }
  }
  return std::accumulate(slowest.begin(), slowest.end(), 0.0);
}

class TorusCongestion : public testing::TestWithParam<CongestionRow> {};

TEST_P(TorusCongestion, EqualsTheIndependentComputation) {
  const CongestionRow& row = GetParam();
  const Machine torus = machine(fmt::format("torus:{}:ties=alternate,1GBps,0us", row.dims));
  const int ranks = torus.topology.hosts();
  const Schedule schedule = make_schedule(spec_of(row), ranks);
  const bool is_torus = schedule.name() == "torus";
  const double bytes = is_torus ? staged_torus_bytes(schedule, torus.topology)
                                : butterfly_bytes(schedule, torus.topology);
  const double ideal = 2.0 * (ranks - 1) / ranks / (2 * axes_of(row.dims));
  EXPECT_NEAR(bytes, row.bytes, 1e-6 + 1e-6 * row.bytes) << spec_of(row);
  EXPECT_NEAR(bytes / ideal, row.ratio, 1e-4 * row.ratio) << spec_of(row);
  // The table counts rounds of tracks that wait for each other too.
  if (!is_torus) {
    EXPECT_EQ(schedule.rounds(), row.rounds);
  }
}

std::string row_name(const testing::TestParamInfo<CongestionRow>& info) {
  std::string name =
      fmt::format("{}_{}_{}_streams", info.param.dims, info.param.algorithm, info.param.tracks);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Table, TorusCongestion, testing::ValuesIn(table()), row_name);

TEST(TorusCongestionTable, HasAllItsRows) { EXPECT_EQ(table().size(), 149U); }

}  // namespace
}  // namespace collbench
