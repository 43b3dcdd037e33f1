// Pictures and other descriptions of a topology, as text.
//
// Pictures show hosts below the switches that join them, grids as grids and rings as rings; cables
// are coloured by class in colours that the colour-blind can tell apart (Okabe and Ito 2008), or by
// utilisation. Above 128 hosts neighbours are drawn as one. All pure, so safe on threads.
#pragma once

#include <string>
#include <vector>

#include "topologies/machine.h"

namespace collbench {

struct SvgOptions {
  /// Of each link, 0 to 1; empty: colours stand for classes.
  std::vector<double> utilisation;
};

/// A picture that needs no other program. Throws InvalidArgument unless `utilisation` is empty or
/// has an entry per link.
std::string to_svg(const Topology& topology, const SvgOptions& options = {});

/// Graphviz; every vertex and cable. Throws InvalidArgument beyond 20,000 links, which Graphviz
/// could not lay out.
std::string to_dot(const Topology& topology);

/// A machine file (docs/topologies.md) with the same links, routes and costs. Throws
/// InvalidArgument where the file format cannot say it: links that serve both directions, or routes
/// that are not the shortest.
std::string to_toml(const Machine& machine);

/// SimGrid platform XML, DTD 4.1: a Full zone with a route for every pair, at reached bandwidth.
/// Costs are not in it, since platforms have none. Throws InvalidArgument beyond 512 hosts.
std::string to_simgrid_xml(const Topology& topology);

}  // namespace collbench
