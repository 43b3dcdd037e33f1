// Routes in words, for tests.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/routes.h"

#include "topologies/machine.h"

namespace collbench {

/// "gpu 0 > nvswitch > gpu 1".
inline std::string route_names(const Topology& topology, Host from, Host to) {
  std::vector<LinkId> route;
  topology.route(from, to, route);
  std::string names = topology.vertex_name(from);
  for (const LinkId link : route) {
    names += " > " + topology.vertex_name(topology.links()[static_cast<std::size_t>(link)].to);
  }
  return names;
}

/// Of the narrowest link, in GB/s.
inline double route_GBps(const Topology& topology, Host from, Host to) {
  std::vector<LinkId> route;
  topology.route(from, to, route);
  double least = std::numeric_limits<double>::infinity();
  for (const LinkId link : route) least = std::min(least, topology.capacity(link) / 1e9);
  return least;
}

inline double route_us(const Topology& topology, Host from, Host to) {
  std::vector<LinkId> route;
  topology.route(from, to, route);
  return summarize(topology, route).latency.count() * 1e6;
}

}  // namespace collbench
