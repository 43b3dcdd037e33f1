#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

// Vertices: all hosts; then the inner switches node by node; the ports (adapters that several hosts
// share, only if they do); the meeting switches (one per rail, one per node below a spine, or one);
// the spine.
class Cluster {
 public:
  Cluster(const Topology& node, int nodes, const Fabric& fabric)
      : node_(node),
        nodes_(nodes),
        per_node_(node.hosts()),
        inner_(node.vertices() - node.hosts()),
        ports_(std::min(fabric.adapters_per_node, node.hosts())),
        shared_(fabric.adapters_per_node < node.hosts()),
        rails_(fabric.rails),
        spined_(fabric.spine || (fabric.rails && ports_ > 1)) {
    require_links(fmt::format("cluster of {} {}", nodes, node.name()),
                  static_cast<std::int64_t>(nodes) *
                      (static_cast<std::int64_t>(node.links().size()) + 2 * node.vertices() + 4));
    const auto node_classes = node.classes();
    classes_.assign(node_classes.begin(), node_classes.end());
    add_classes(fabric);
    add_links(fabric);
  }

  Topology topology() && {
    std::vector<int> dims{per_node_};
    if (node_.layout().kind == Layout::Kind::hierarchy) dims = node_.layout().dims;
    dims.push_back(nodes_);
    const auto self = std::make_shared<const Cluster>(std::move(*this));
    return Topology(
        fmt::format("cluster:{}x{}", self->nodes_, self->node_.name()), self->hosts(),
        self->vertices(),
        Layout{.kind = Layout::Kind::hierarchy, .dims = std::move(dims), .wraps = {}},
        self->classes_, self->links_,
        [self](Host from, Host to, std::vector<LinkId>& out) { self->route(from, to, out); },
        [self](Vertex v) { return self->vertex_name(v); });
  }

 private:
  int hosts() const { return nodes_ * per_node_; }
  int meeting_switches() const { return rails_ ? ports_ : spined_ ? nodes_ : 1; }
  Vertex first_port() const { return hosts() + nodes_ * inner_; }
  Vertex first_meeting() const { return first_port() + (shared_ ? nodes_ * ports_ : 0); }
  Vertex spine() const { return first_meeting() + meeting_switches(); }
  int vertices() const { return spine() + (spined_ ? 1 : 0); }

  // Of all nodes' ports together; hosts are spread over the ports of their node in order.
  int port_of(Host host) const {
    const int local = host % per_node_;
    return host / per_node_ * ports_ +
           static_cast<int>(static_cast<std::int64_t>(local) * ports_ / per_node_);
  }
  int meeting_of(int port) const { return rails_ ? port % ports_ : spined_ ? port / ports_ : 0; }
  Vertex port_vertex(int port) const {
    return shared_ ? first_port() + port : port;  // else port k is host k
  }
  LinkId inner_links() const { return static_cast<LinkId>(node_.links().size()); }
  LinkId port_link(int port) const { return nodes_ * inner_links() + 2 * port; }
  LinkId spine_link(int meeting) const { return port_link(nodes_ * ports_) + 2 * meeting; }
  LinkId host_link(Host host) const {
    return spine_link(spined_ ? meeting_switches() : 0) + 2 * host;
  }

  void add_classes(const Fabric& fabric) {
    LinkClass adapter = fabric.adapter;
    adapter.latency /= 2;
    adapter.level = std::max(adapter.level, 1);
    classes_.push_back(adapter);
    LinkClass spine = fabric.spine.value_or(adapter);
    if (!fabric.spine) {
      spine.name = "spine";
      spine.latency = Seconds{0};
    }
    spine.level = std::max(spine.level, 1);
    classes_.push_back(spine);
    // Between a host and an adapter that it shares: as fast as the adapter, so it never limits.
    classes_.push_back({.name = fmt::format("host to {}", adapter.name),
                        .nominal = adapter.nominal,
                        .level = adapter.level,
                        .source = adapter.source});
  }

  void add_links(const Fabric& fabric) {
    const auto both = [this](Vertex a, Vertex b, std::size_t link_class, float lanes) {
      links_.push_back({a, b, static_cast<std::int32_t>(link_class), lanes});
      links_.push_back({b, a, static_cast<std::int32_t>(link_class), lanes});
    };
    for (int n = 0; n < nodes_; ++n) {
      for (const Link& link : node_.links()) {
        links_.push_back({outer(n, link.from), outer(n, link.to), link.link_class, link.lanes});
      }
    }
    const std::size_t adapter = node_.classes().size();
    const float lanes = static_cast<float>(fabric.adapters_per_node) / static_cast<float>(ports_);
    for (int p = 0; p < nodes_ * ports_; ++p) {
      both(port_vertex(p), first_meeting() + meeting_of(p), adapter, lanes);
    }
    if (spined_) {
      // Without a class of its own the spine takes whatever its side sends: it never limits.
      const float own = lanes * static_cast<float>(rails_ ? nodes_ : ports_);
      for (int m = 0; m < meeting_switches(); ++m) {
        both(first_meeting() + m, spine(), adapter + 1, fabric.spine ? fabric.spine_lanes : own);
      }
    }
    for (Host h = 0; shared_ && h < hosts(); ++h) both(h, port_vertex(port_of(h)), adapter + 2, 1);
  }

  Vertex outer(int n, Vertex inner) const {
    return inner < per_node_ ? n * per_node_ + inner : hosts() + n * inner_ + inner - per_node_;
  }

  void route(Host from, Host to, std::vector<LinkId>& out) const {
    const int n = from / per_node_;
    if (n == to / per_node_) {
      node_.route(from % per_node_, to % per_node_, out);
      for (LinkId& link : out) link += n * inner_links();
      return;
    }
    const int here = port_of(from), there = port_of(to);
    if (shared_) out.push_back(host_link(from));
    out.push_back(port_link(here));
    if (meeting_of(here) != meeting_of(there)) {
      out.push_back(spine_link(meeting_of(here)));
      out.push_back(spine_link(meeting_of(there)) + 1);
    }
    out.push_back(port_link(there) + 1);
    if (shared_) out.push_back(host_link(to) + 1);
  }

  std::string vertex_name(Vertex v) const {
    if (v < first_port()) {
      const int n = v < hosts() ? v / per_node_ : (v - hosts()) / inner_;
      const Vertex inner = v < hosts() ? v % per_node_ : per_node_ + (v - hosts()) % inner_;
      return fmt::format("node {} {}", n, node_.vertex_name(inner));
    }
    if (v < first_meeting()) {
      const int port = v - first_port();
      return fmt::format("node {} adapter {}", port / ports_, port % ports_);
    }
    if (v == spine() && spined_) return "spine";
    if (rails_) return fmt::format("rail switch {}", v - first_meeting());
    return spined_ ? fmt::format("leaf switch {}", v - first_meeting()) : "fabric switch";
  }

  Topology node_;
  int nodes_, per_node_, inner_, ports_;
  bool shared_, rails_, spined_;
  std::vector<LinkClass> classes_;
  std::vector<Link> links_;
};

}  // namespace

Topology cluster(const Topology& node, int nodes, const Fabric& fabric) {
  require(nodes >= 1, fmt::format("cluster: needs at least 1 node, not {}", nodes));
  require(fabric.adapters_per_node >= 1, fmt::format("cluster: a node needs at least 1 adapter, "
                                                     "not {}",
                                                     fabric.adapters_per_node));
  return Cluster(node, nodes, fabric).topology();
}

}  // namespace collbench
