#include <numeric>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"
#include "core/suggest.h"
#include "topologies/machine.h"

namespace collbench {
namespace {

// Every second line of an axis runs backwards, so that the k-th and the (k+1)-th differ by one
// step.
std::vector<Host> snake(const Layout& layout, int hosts) {
  std::vector<Host> order;
  for (int k = 0; k < hosts; ++k) {
    int rest = k, stride = 1;
    Host host = 0;
    for (const int length : layout.dims) {
      const int c = rest % length;
      rest /= length;
      // The number of the line counts all outer steps taken so far: odd lines run backwards.
      host += stride * (rest % 2 == 0 ? c : length - 1 - c);
      stride *= length;
    }
    order.push_back(host);
  }
  return order;
}

std::vector<Host> by_rail(int per_node, int hosts) {
  const int nodes = hosts / per_node;
  std::vector<Host> order;
  for (int k = 0; k < hosts; ++k) order.push_back(k % nodes * per_node + k / nodes);
  return order;
}

std::vector<Host> listed(const std::string& text, int ranks, const Topology& topology) {
  std::vector<Host> order;
  std::vector<bool> taken(static_cast<std::size_t>(topology.hosts()));
  for (const std::string& entry : split_at(text, ',')) {
    const int host = small_integer_in(entry, 0, topology.hosts() - 1).value_or(-1);
    require(host >= 0, fmt::format("placement '{}': '{}' is not in {}; hosts are 0 to {}", text,
                                   entry, topology.name(), topology.hosts() - 1));
    require(!taken[static_cast<std::size_t>(host)],
            fmt::format("placement '{}': host {} appears twice", text, host));
    taken[static_cast<std::size_t>(host)] = true;
    order.push_back(host);
  }
  require(static_cast<int>(order.size()) == ranks,
          fmt::format("placement '{}': names {} hosts for {} ranks", text, order.size(), ranks));
  return order;
}

}  // namespace

std::vector<Host> place(const std::string& order, int ranks, const Topology& topology) {
  const int hosts = topology.hosts();
  require(ranks >= 1 && ranks <= hosts,
          fmt::format("{} ranks do not fit on {}, which has {} hosts; each rank needs its own",
                      ranks, topology.name(), hosts));
  const Layout& layout = topology.layout();
  std::vector<Host> places;
  if (order == "row-major") {
    places.resize(static_cast<std::size_t>(hosts));
    std::iota(places.begin(), places.end(), 0);
  } else if (order == "snake") {
    require(layout.kind == Layout::Kind::grid,
            fmt::format("placement 'snake' follows the axes of a torus or mesh; {} has none",
                        topology.name()));
    places = snake(layout, hosts);
  } else if (order == "rail") {
    require(layout.kind == Layout::Kind::hierarchy,
            fmt::format("placement 'rail' needs a cluster, which {} is not", topology.name()));
    places = by_rail(layout.dims.front(), hosts);
  } else {
    require(order.find_first_not_of("0123456789,") == std::string::npos && !order.empty(),
            fmt::format("unknown placement '{}'; known: row-major, snake, rail, or hosts as in "
                        "'3,1,0,2'.{}",
                        order, did_you_mean(order, {"row-major", "snake", "rail"})));
    places = listed(order, ranks, topology);
  }
  places.resize(static_cast<std::size_t>(ranks));
  return places;
}

}  // namespace collbench
