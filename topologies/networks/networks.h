// Families of networks, as functions that return Topologies.
//
// Vertices 0 .. hosts-1 are hosts; switches follow. Every cable is a pair of links. All routes are
// static and shortest; where several are, the rule is stated, so that SimGrid's zones of the same
// name (3.32) and these agree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/topology.h"

namespace collbench {

/// What a topology may have: 24 bytes each, so 0.8 GB. More is refused before memory runs out.
constexpr std::int64_t most_links = std::int64_t{1} << 25;
/// Throws InvalidArgument if `links` exceeds it.
void require_links(const std::string& name, std::int64_t links);

/// Hosts on one non-blocking switch: a link up and a link down each. Half of the class's latency is
/// on each, so that a route costs link.latency.
Topology star(int hosts, const LinkClass& link);

/// A cable between every pair of hosts.
Topology fully_connected(int hosts, const LinkClass& link);

/// A grid of any number of axes; wrap[i] says whether axis i closes to a ring (axes of length 2
/// never get a second cable). `axes` has one class for all axes, or one each. Dimension-order
/// routing from the innermost axis on. Half-way ties go up, also from the middle to coordinate 0 of
/// an even axis (SimGrid's TorusZone goes down there, which breaks the symmetry of the torus).
/// With Ties::alternate they go up from even and down from odd coordinates, so that both directions
/// share what halves the axis.
enum class Ties : std::uint8_t { up, alternate };
Topology torus(const std::vector<int>& dims, const std::vector<bool>& wraps,
               const std::vector<LinkClass>& axes, Ties ties = Ties::up);

/// The product of networks: hosts are numbered with the first factor innermost, along each axis
/// every line of hosts is joined by a copy of its factor, and routes go axis by axis.
Topology product(std::string name, const std::vector<Topology>& factors, Layout layout);

/// A k-ary n-tree as SimGrid's FatTreeZone: down[i] children and up[i] parents per level, lanes[i]
/// parallel cables (links of their own), levels from the hosts up; d-mod-k routing. `levels` has
/// one class for all levels, or one each.
Topology fat_tree(const std::vector<int>& down, const std::vector<int>& up,
                  const std::vector<int>& lanes, const std::vector<LinkClass>& levels);

/// Groups x chassis x routers x hosts per router as SimGrid's DragonflyZone: all-to-all green links
/// in a chassis, black links between the routers of one number in all chassis of a group, one blue
/// link per group pair, `lanes` wide; minimal routing, green before black. Requires as many routers
/// per chassis as groups. (Inside a group SimGrid 3.32 forgets that a source is not in chassis 0,
/// so its routes there are broken ones; ours are continuous.)
struct DragonflyLinks {
  int lanes = 1;
  LinkClass link;
};
Topology dragonfly(int groups, int chassis, int routers, int hosts_per_router,
                   const DragonflyLinks& blue, const DragonflyLinks& black,
                   const DragonflyLinks& green, const LinkClass& local);

/// A cable of a graph given link by link.
struct Cable {
  Vertex a = 0;
  Vertex b = 0;
  std::int32_t link_class = 0;
  float lanes = 1;
  bool one_way = false;  // only a to b
};
/// Which of equally good routes of a graph is taken: the first by its vertices, or another one for
/// every source, in turn.
enum class EqualPaths : std::uint8_t { first, spread };
/// Any graph. Shortest paths by number of links, then by the widest narrowest link, then as
/// `equal_paths` says; one breadth-first search per source, kept.
Topology graph(std::string name, int hosts, int vertices, Layout layout,
               std::vector<LinkClass> classes, const std::vector<Cable>& cables,
               Topology::NameFunction vertex_name = {}, EqualPaths equal_paths = EqualPaths::first);

/// `nodes` copies of `node` joined by a fabric. Each host reaches the fabric through
/// `adapters_per_node` adapters of class `adapter`, hosts spread over them in order (several
/// adapters of one host act as one link); with `rails` adapter k of all nodes meets at switch k and
/// rails meet at a spine, otherwise all meet at one switch. `spine` is empty where the spine never
/// limits. As on a star, half of the adapter's latency is at each end of a route.
struct Fabric {
  LinkClass adapter;
  int adapters_per_node = 1;
  bool rails = false;
  std::optional<LinkClass> spine = {};  // one link per rail (or node) to it, `spine_lanes` wide
  float spine_lanes = 1;
};
Topology cluster(const Topology& node, int nodes, const Fabric& fabric);

/// Every host of `chips` turned into a chip with `cores` hosts on it, which share its links and
/// reach it over a link of class `core` each (half of its latency at each end of a route). The
/// cores are the innermost axis of the layout.
Topology chips_with_cores(const Topology& chips, int cores, const LinkClass& core);

/// Slices of a pod of accelerators: a grid of chips whose axes close or not, by the rule of the
/// pod.
///
/// axis: an axis closes if it has the rule's length, the full axis of a pod (TPU v5e, v6e).
/// cube: all axes close if each is a multiple of that length, whole cubes joined by optical
/// switches (TPU v4, v5p, 7x). pod: all axes close if the slice is the whole pod (TPU v2, v3).
struct WrapRule {
  enum class Kind : std::uint8_t { axis, cube, pod };
  Kind kind = Kind::axis;
  int length = 0;        // axis, cube
  std::vector<int> pod;  // pod
  int axes = 2;
  int most_chips = 0;
};

/// Which axes of a slice close. Throws InvalidArgument if the pod has no such slice, saying why.
/// Source: Google's pages on TPU v2 to 7x (docs.cloud.google.com/tpu/docs).
std::vector<bool> slice_wraps(const std::vector<int>& dims, const WrapRule& rule);

}  // namespace collbench
