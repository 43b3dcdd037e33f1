// Pictures and other descriptions of a topology, as text.
//
// Graphviz lays pictures out: grids as grids, hosts without switches on a circle, others around the
// switches that join them. Cables are coloured by class in colours that the colour-blind can tell
// apart (Okabe and Ito 2008). All pure, so safe on threads.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "topologies/machine.h"

namespace collbench {

inline constexpr std::array<const char*, 7> distinct_colors{
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"};

/// Graphviz; every vertex and cable. Throws InvalidArgument beyond 20,000 links, which Graphviz
/// could not lay out.
std::string to_dot(const Topology& topology);

/// The same for looking at: above 128 hosts, alike neighbours are drawn as one.
std::string to_grouped_dot(const Topology& topology);

/// A machine file (docs/topologies.md) with the same links, routes and costs, and a checksum.
/// Throws InvalidArgument where the file format cannot say it: links that serve both directions, or
/// routes that are not the shortest.
std::string to_toml(const Machine& machine);

/// CRC-32C of what decides times: links, their classes, some of the routes, costs.
std::uint32_t checksum_of(const Machine& machine);

/// SimGrid platform XML, DTD 4.1: a Full zone with a route for every pair, at reached bandwidth.
/// Costs are not in it, since platforms have none; a remark names those of the machine. Throws
/// InvalidArgument beyond 512 hosts.
std::string to_simgrid_xml(const Machine& machine);

}  // namespace collbench
