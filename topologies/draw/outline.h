// What a picture of a topology shows, and where: one shape per host or switch, or per group of them
// where there are too many, and one line for all that joins two shapes in one class.
#pragma once

#include <string>
#include <vector>

#include "topologies/topology.h"

namespace collbench {

struct DrawnShape {
  std::string label;
  int hosts = 0;  // that it stands for; 0: switches
  int members = 1;
  int level = 0;  // row in pictures of levels, hosts at 0, what hangs on nothing else below
  bool is_crowded = false;  // in a row with no room for names
  double x = 0;             // in pixels
  double y = 0;
  double angle = 0;  // circle: where it stands, in radians
};

enum class DrawnPath { straight, arc, ends };

/// a -> b, or both ways with `two_way`.
struct Line {
  int a = 0;
  int b = 0;
  int link_class = 0;
  double capacity = 0;  // of its widest link, bytes per second
  int cables = 0;
  double utilisation = 0;  // the highest
  bool two_way = true;
  DrawnPath path = DrawnPath::straight;
};

enum class Arrangement { circle, grid, levels };

struct Outline {
  std::vector<DrawnShape> shapes;
  std::vector<Line> lines;
  std::vector<int> blocks;  // grid: shapes along each axis, innermost first
  Arrangement arrangement = Arrangement::levels;
  double spacing = 40;  // between the nearest neighbours, in pixels
  double reach = 0;     // the longest distance of neighbours in a grid
  double width = 0;
  double height = 0;
};

/// Shapes and lines without places. `utilisation` is empty or has an entry per link.
Outline outline(const Topology& topology, const std::vector<double>& utilisation, int most_hosts);

/// Gives every shape its place, with a margin, and says which lines bend.
void arrange(Outline& picture);

}  // namespace collbench
