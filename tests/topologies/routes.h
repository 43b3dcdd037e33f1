// What every test of a network asks of its routes.
#pragma once

#include <string>
#include <vector>

#include "tests/core/refusal.h"

#include "core/error.h"
#include "topologies/topology.h"

namespace collbench {

/// A link class "wire" for tests: 1 GB/s, 1 us unless said otherwise.
LinkClass wire(double gigabytes_per_second = 1, double microseconds = 1);

/// What is wrong with the routes between all hosts, or between `sampled` of them evenly spread: a
/// link that does not begin where the last one ended, a vertex passed twice, the wrong end, or
/// something between a host and itself. Empty if nothing.
std::string broken_route(const Topology& topology, int sampled);

std::vector<LinkId> route(const Topology& topology, Host from, Host to);

/// The vertices that a route passes, both ends included.
std::vector<Vertex> path(const Topology& topology, Host from, Host to);

}  // namespace collbench
