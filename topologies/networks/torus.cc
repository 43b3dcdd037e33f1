#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

// One axis of the grid. The cable from coordinate c to c + 1 (mod length) of the line that a host
// lies on; links first_link + 2 * cable (up) and + 1 (down).
struct TorusAxis {
  int length;
  int stride;  // of the host number
  bool wraps;
  LinkId first_link;
  Ties ties;

  int coordinate(Host host) const { return host / stride % length; }
  Host neighbour(Host host, int step) const {
    const int c = coordinate(host);
    return host + ((c + step + length) % length - c) * stride;
  }
  // Lines that do not wrap have one cable less than hosts, so numbers close up.
  LinkId up_link(Host host) const {
    if (wraps) return first_link + 2 * host;
    const int block = stride * length;
    return first_link + 2 * (host / block * (block - stride) + host % block);
  }
  // Moves `host` along the axis to the coordinate of `to`.
  void walk(Host& host, Host to, std::vector<LinkId>& out) const {
    const int ahead = coordinate(to) - coordinate(host);
    if (ahead == 0) return;
    const int up = (ahead + length) % length;
    const bool tie_goes_up = ties == Ties::up || coordinate(host) % 2 == 0;
    const bool goes_up = wraps ? 2 * up < length || (2 * up == length && tie_goes_up) : ahead > 0;
    for (int left = wraps ? (goes_up ? up : length - up) : std::abs(ahead); left > 0; --left) {
      const Host next = neighbour(host, goes_up ? 1 : -1);
      out.push_back(goes_up ? up_link(host) : up_link(next) + 1);
      host = next;
    }
  }
};

void check(const std::vector<int>& dims, const std::vector<bool>& wraps,
           const std::vector<LinkClass>& axes) {
  require(!dims.empty(), "torus: needs at least one axis");
  require(wraps.size() == dims.size(),
          fmt::format("torus {}: {} axes need as many wraps, not {}", fmt::join(dims, "x"),
                      dims.size(), wraps.size()));
  require(axes.size() == 1 || axes.size() == dims.size(),
          fmt::format("torus {}: needs one kind of link, or one for each of {} axes, not {}",
                      fmt::join(dims, "x"), dims.size(), axes.size()));
  std::int64_t links = 2 * static_cast<std::int64_t>(dims.size());
  for (const int d : dims) {
    require(d >= 1, fmt::format("torus {}: every axis is at least 1 long", fmt::join(dims, "x")));
    links *= d;
    require_links(fmt::format("torus {}", fmt::join(dims, "x")), links);
  }
}

}  // namespace

Topology torus(const std::vector<int>& dims, const std::vector<bool>& wraps,
               const std::vector<LinkClass>& axes, Ties ties) {
  check(dims, wraps, axes);
  int hosts = 1;
  for (const int d : dims) hosts *= d;
  std::vector<TorusAxis> grid;
  std::vector<Link> links;
  Layout layout{.kind = Layout::Kind::grid, .dims = dims, .wraps = {}};
  int stride = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const TorusAxis axis{dims[i], stride, wraps[i] && dims[i] > 2,
                         static_cast<LinkId>(links.size()), ties};
    for (Host h = 0; h < hosts; ++h) {
      if (!axis.wraps && axis.coordinate(h) + 1 == axis.length) continue;
      const auto link_class = static_cast<std::int32_t>(axes.size() == 1 ? 0 : i);
      const Host next = axis.neighbour(h, 1);
      links.push_back({.from = h, .to = next, .link_class = link_class});
      links.push_back({.from = next, .to = h, .link_class = link_class});
    }
    stride *= dims[i];
    layout.wraps.push_back(axis.wraps);
    grid.push_back(axis);
  }
  return Topology(fmt::format("torus:{}", fmt::join(dims, "x")), hosts, hosts, std::move(layout),
                  axes, std::move(links),
                  [grid = std::move(grid)](Host from, Host to, std::vector<LinkId>& out) {
                    for (const TorusAxis& axis : grid) axis.walk(from, to, out);
                  });
}

}  // namespace collbench
