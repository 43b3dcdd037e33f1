#include <array>

#include <fmt/format.h>

#include "core/error.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

// Host = node + per_router * (blade + routers * (chassis + chassis_per_group * group)); a blade is
// a router. Links in the order: local, green, black, blue.
struct DragonflyShape {
  int groups, chassis, routers, per_router;

  struct Place {
    int group, chassis, blade;
  };

  int hosts() const { return groups * chassis * routers * per_router; }
  int all_routers() const { return groups * chassis * routers; }
  int router(Place p) const { return p.blade + routers * (p.chassis + chassis * p.group); }
  Place place(Host host) const {
    const int r = host / per_router;
    return {r / routers / chassis, r / routers % chassis, r % routers};
  }
  // A complete graph of n as rows of n - 1 links, one row per vertex.
  static LinkId in_row(int n, int from, int to) {
    return from * (n - 1) + (to < from ? to : to - 1);
  }
  LinkId green(Place from, int blade) const {
    const LinkId first = 2 * hosts();
    return first + (from.chassis + chassis * from.group) * routers * (routers - 1) +
           in_row(routers, from.blade, blade);
  }
  LinkId black(Place from, int to_chassis) const {
    const LinkId first = 2 * hosts() + all_routers() * (routers - 1);
    return first + (from.blade + routers * from.group) * chassis * (chassis - 1) +
           in_row(chassis, from.chassis, to_chassis);
  }
  LinkId blue(int from, int to) const {
    const LinkId first = 2 * hosts() + all_routers() * (routers - 1 + chassis - 1);
    return first + in_row(groups, from, to);
  }

  std::vector<Link> links(const std::array<float, 3>& lanes) const {
    std::vector<Link> links(static_cast<std::size_t>(blue(groups, 0)));
    const auto put = [&](LinkId id, Vertex from, Vertex to, int link_class) {
      links[static_cast<std::size_t>(id)] = {
          .from = from,
          .to = to,
          .link_class = link_class,
          .lanes = link_class == 0 ? 1 : lanes[static_cast<std::size_t>(link_class - 1)]};
    };
    for (Host h = 0; h < hosts(); ++h) {
      const Vertex r = hosts() + h / per_router;
      put(2 * h, h, r, 0);
      put(2 * h + 1, r, h, 0);
    }
    for (int r = 0; r < all_routers(); ++r) {
      const Place at = place(r * per_router);
      for (int blade = 0; blade < routers; ++blade) {
        if (blade == at.blade) continue;
        put(green(at, blade), hosts() + r, hosts() + router({at.group, at.chassis, blade}), 1);
      }
      for (int c = 0; c < chassis; ++c) {
        if (c == at.chassis) continue;
        put(black(at, c), hosts() + r, hosts() + router({at.group, c, at.blade}), 2);
      }
    }
    for (int a = 0; a < groups; ++a) {
      for (int b = 0; b < groups; ++b) {
        if (a == b) continue;
        put(blue(a, b), hosts() + router({a, 0, b}), hosts() + router({b, 0, a}), 3);
      }
    }
    return links;
  }

  // Minimal: green to the right blade, then black to the right chassis; between groups the same on
  // both sides of the blue link, which joins blade `b` of chassis 0 in group a with blade `a` there
  // in group b.
  void route(Host from, Host to, std::vector<LinkId>& out) const {
    Place at = place(from);
    const Place goal = place(to);
    const auto move = [&](int blade, int to_chassis) {
      if (at.blade != blade) {
        out.push_back(green(at, blade));
        at.blade = blade;
      }
      if (at.chassis != to_chassis) {
        out.push_back(black(at, to_chassis));
        at.chassis = to_chassis;
      }
    };
    out.push_back(2 * from);
    if (at.group != goal.group) {
      move(goal.group, 0);
      out.push_back(blue(at.group, goal.group));
      at = {goal.group, 0, at.group};
    }
    move(goal.blade, goal.chassis);
    out.push_back(2 * to + 1);
  }

  std::string vertex_name(Vertex v) const {
    if (v < hosts()) return fmt::format("host {}", v);
    const Place p = place((v - hosts()) * per_router);
    return fmt::format("router {} of chassis {} of group {}", p.blade, p.chassis, p.group);
  }
};

}  // namespace

Topology dragonfly(int groups, int chassis, int routers, int hosts_per_router,
                   const DragonflyLinks& blue, const DragonflyLinks& black,
                   const DragonflyLinks& green, const LinkClass& local) {
  const std::string name =
      fmt::format("dragonfly:{}x{}x{}x{}", groups, chassis, routers, hosts_per_router);
  std::int64_t links = 2;
  for (const int n : {groups, chassis, routers, hosts_per_router}) {
    require(n >= 1 && n <= 1 << 20,
            fmt::format("{}: groups, chassis, routers and hosts are 1 to {}", name, 1 << 20));
    links *= n;
    require_links(name, links);
  }
  require_links(name, links / hosts_per_router * (chassis + routers));
  require(groups <= routers,
          fmt::format("{}: router g of chassis 0 is the way to group g, so {} groups need at least "
                      "as many routers per chassis, not {}",
                      name, groups, routers));
  for (const DragonflyLinks* kind : {&blue, &black, &green}) {
    require(kind->lanes >= 1, fmt::format("{}: lanes are at least 1, not {}", name, kind->lanes));
  }
  const DragonflyShape shape{groups, chassis, routers, hosts_per_router};
  return Topology(
      name, shape.hosts(), shape.hosts() + shape.all_routers(),
      Layout{.dims = {shape.hosts()}, .wraps = {}}, {local, green.link, black.link, blue.link},
      shape.links({static_cast<float>(green.lanes), static_cast<float>(black.lanes),
                   static_cast<float>(blue.lanes)}),
      [shape](Host from, Host to, std::vector<LinkId>& out) { shape.route(from, to, out); },
      [shape](Vertex v) { return shape.vertex_name(v); });
}

}  // namespace collbench
