// A Topology is a network as a value: hosts, directed links, and a function that routes.
//
// Vertices 0 .. hosts()-1 are hosts (devices that hold a rank), the others switches. A link carries
// bytes in one direction; a cable is two links. A route is the list of links that a message from
// one host to another occupies all at once (cut-through), so that its rate is that of the tightest
// link and its latency the sum of theirs. Routes are computed when asked: 262,144 hosts cost their
// links and nothing more.
//
// Nominal bandwidth and the share of it that large transfers reach are separate numbers, and both
// name their source.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/units.h"

namespace collbench {

using Host = int;
using Vertex = int;
using LinkId = std::int32_t;

/// What links of one kind have in common. `level` 0 is inside a node, 1 between nodes.
struct LinkClass {
  std::string name;       // "nvlink", "ici x", "nic"
  Bandwidth nominal;      // of one lane in one direction, as the vendor states it
  double efficiency = 1;  // share of it that a large transfer reaches, in (0, 1]
  Seconds latency{0};
  int level = 0;
  std::string source;
};

struct Link {
  Vertex from = 0;
  Vertex to = 0;
  std::int32_t link_class = 0;
  float lanes = 1;  // parallel cables used as one
};

/// How hosts are numbered, for placements and for algorithms that follow the machine.
/// host = i0 + dims[0] * (i1 + dims[1] * ...), innermost axis first; the dims multiply to hosts().
struct Layout {
  enum class Kind : std::uint8_t { flat, grid, hierarchy };
  Kind kind = Kind::flat;
  std::vector<int> dims;    // flat: {hosts}; hierarchy: {hosts per node, nodes, ...}
  std::vector<bool> wraps;  // grid: whether the axis closes to a ring; empty otherwise
  int cores = 1;            // hosts on one chip, which share its links; if above 1, dims[0]
};

/// Hosts of a node of a cluster; 0 where the machine is none.
int seats_of_node(const Layout& layout);

/// One of the ways that messages from a host to another are spread over.
struct Way {
  double share = 1;           // of every message; those of a pair add up to 1
  std::vector<LinkId> links;  // in the order travelled
};
/// By the hosts that messages lead from and to.
using Ways = std::map<std::pair<Host, Host>, std::vector<Way>>;
/// Every link of some ways once, ascending, with the share of a message that crosses it.
std::vector<std::pair<LinkId, double>> link_shares(std::span<const Way> ways);

/// Immutable and cheap to copy. Thread safety: const members may run on any number of threads.
class Topology {
 public:
  /// Appends the links from `from` to `to`, in the order travelled; nothing if they are equal.
  using RouteFunction = std::function<void(Host from, Host to, std::vector<LinkId>& out)>;
  using NameFunction = std::function<std::string(Vertex)>;

  /// Requires hosts >= 1, dims that multiply to the hosts, positive bandwidths and efficiencies,
  /// and links between vertices that exist. Throws InvalidArgument, naming what is wrong.
  /// `vertex_name` empty means "host 3" and "switch 0".
  Topology(std::string name, int hosts, int vertices, Layout layout, std::vector<LinkClass> classes,
           std::vector<Link> links, RouteFunction route, NameFunction vertex_name = {});

  const std::string& name() const { return data_->name; }
  int hosts() const { return data_->hosts; }
  int vertices() const { return data_->vertices; }
  const Layout& layout() const { return data_->layout; }
  std::span<const LinkClass> classes() const { return data_->classes; }
  std::span<const Link> links() const { return data_->links; }

  const LinkClass& link_class(LinkId link) const;
  /// lanes * nominal * efficiency, in bytes per second.
  double capacity(LinkId link) const { return data_->capacity[static_cast<std::size_t>(link)]; }

  /// Replaces `out` by the links from one host to another. Requires hosts in range.
  /// Throws InvalidArgument if no path leads there.
  void route(Host from, Host to, std::vector<LinkId>& out) const;

  /// Whether the source of the network says nothing of routes: those it has are a guess, and
  /// with_ways() may choose others.
  bool routes_are_free() const { return data_->routes_are_free; }
  Topology with_free_routes(bool are_free = true) const;
  /// The same network, in which a message between these pairs takes all of their ways at once, the
  /// widest of which becomes its route (weighted multipath). Throws InvalidArgument unless every
  /// way leads there and the shares of a pair are above 0 and add up to 1.
  Topology with_ways(Ways ways) const;
  bool has_ways() const { return !data_->ways.empty(); }
  /// Null if messages take the one route.
  const std::vector<Way>* ways(Host from, Host to) const;

  std::string vertex_name(Vertex vertex) const;
  /// "host 3 -> switch 0 (nvlink)".
  std::string link_name(LinkId link) const;

  /// The same network under another name, or with some links' capacity multiplied: factor[i] > 0
  /// applies to every link that touches hosts[i] (a slow adapter).
  Topology named(std::string name) const;
  Topology slowed(std::span<const Host> hosts, std::span<const double> factor) const;
  /// The same network with this latency on every link.
  Topology with_latency(Seconds latency) const;

 private:
  struct Data {
    std::string name;
    int hosts;
    int vertices;
    Layout layout;
    std::vector<LinkClass> classes;
    std::vector<Link> links;
    RouteFunction route;
    NameFunction vertex_name;
    std::vector<double> capacity;
    bool routes_are_free = false;
    Ways ways = {};
  };
  explicit Topology(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

/// Sum of the latencies of the links of a route, and the highest level among them.
struct RouteSummary {
  Seconds latency{0};
  int level = 0;
};
RouteSummary summarize(const Topology& topology, std::span<const LinkId> route);
/// Of several ways at once: the longest latency and the highest level.
RouteSummary summarize(const Topology& topology, std::span<const Way> ways);

/// Throws InvalidArgument, led by `where`, unless routes lead from the first `sources` hosts to all
/// others and back.
void check_reachable(const Topology& topology, int sources, const std::string& where);

}  // namespace collbench
