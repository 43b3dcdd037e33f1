// What a picture of a topology shows: one shape per host or switch, or per group of alike ones
// where there are too many, and one line for all that joins two shapes by equal cables.
#pragma once

#include <vector>

#include "topologies/topology.h"

namespace collbench {

struct DrawnShape {
  Vertex first = 0;  // the first vertex that it stands for
  int members = 0;
  bool is_host = false;
};

/// a -> b, or both ways with `two_way`.
struct DrawnLine {
  int a = 0;
  int b = 0;
  int link_class = 0;
  double lanes = 1;  // of each cable
  int cables = 0;
  bool two_way = true;
};

struct Outline {
  std::vector<DrawnShape> shapes;  // hosts first
  std::vector<DrawnLine> lines;
  std::vector<int> blocks;  // shapes of hosts along each axis of the layout, innermost first
};

/// At most `most_hosts` shapes of hosts; each vertex is one of its own if there are no more hosts.
Outline outline(const Topology& topology, int most_hosts);

}  // namespace collbench
