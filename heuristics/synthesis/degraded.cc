#include "heuristics/synthesis/degraded.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/parse.h"
#include "core/suggest.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

/// The same links with shares of their capacity; those with 0 are left out.
Topology with_shares(const Topology& topology, const std::vector<double>& share,
                     const std::string& name) {
  std::vector<LinkClass> classes(topology.classes().begin(), topology.classes().end());
  std::map<std::pair<std::int32_t, double>, std::int32_t> slowed;  // class, by class and share
  std::vector<Cable> cables;
  for (std::size_t l = 0; l < share.size(); ++l) {
    const Link& link = topology.links()[l];
    if (share[l] == 0 || link.from == link.to) continue;
    std::int32_t kind = link.link_class;
    if (share[l] != 1) {
      const auto next = static_cast<std::int32_t>(classes.size());
      const auto [known, is_new] = slowed.emplace(std::pair{kind, share[l]}, next);
      if (is_new) {
        LinkClass slow = classes[kind];
        slow.nominal.bytes_per_second *= share[l];
        classes.push_back(std::move(slow));
      }
      kind = known->second;
    }
    cables.push_back({link.from, link.to, kind, link.lanes, true});
  }
  Topology made = graph(
      name, topology.hosts(), topology.vertices(), topology.layout(), std::move(classes), cables,
      [topology](Vertex v) { return topology.vertex_name(v); }, EqualPaths::spread);
  check_reachable(made, 1, "degraded");
  return topology.routes_are_free() ? made.with_free_routes() : made;
}

class DegradeReader {
 public:
  explicit DegradeReader(const Topology& topology)
      : topology_(topology), share_(topology.links().size(), 1) {}

  void read(const std::string& entry) {
    const std::size_t colon = entry.rfind(':');
    const auto share = number_in(
        colon == std::string::npos ? "" : trimmed(std::string_view(entry).substr(colon + 1)), 0, 1);
    const std::string_view what = trimmed(std::string_view(entry).substr(0, colon));
    require(
        share.has_value(),
        fmt::format("--degrade: '{}' needs a share from 0 to 1, as in 'link g0>g1:0.5'", entry));
    const std::size_t blank = what.find(' ');
    const std::string_view kind = what.substr(0, blank);
    const std::string name(blank == std::string_view::npos ? "" : trimmed(what.substr(blank + 1)));
    if (kind == "host") {
      slow_host(name, *share);
    } else if (kind == "link") {
      slow_link(name, *share);
    } else {
      throw InvalidArgument(
          fmt::format("--degrade: '{}' should begin with 'link' or 'host'", entry));
    }
  }

  Topology degraded() const { return with_shares(topology_, share_, topology_.name()); }

 private:
  void slow_host(const std::string& name, double share) {
    const auto number = small_integer_in(name, 0, topology_.hosts() - 1);
    const Vertex host = number ? *number : vertex(name);
    for (std::size_t l = 0; l < share_.size(); ++l) {
      const Link& link = topology_.links()[l];
      if (link.from == host || link.to == host) share_[l] *= share;
    }
  }

  void slow_link(const std::string& name, double share) {
    const std::size_t arrow = name.find('>');  // or "->", as links are printed
    if (arrow == std::string::npos || arrow == 0) return slow_kind(name, share);
    const std::size_t end = name[arrow - 1] == '-' ? arrow - 1 : arrow;
    const Vertex a = vertex(std::string(trimmed(std::string_view(name).substr(0, end))));
    // Printed links end with their kind, " (nic)".
    const std::size_t kind = name.ends_with(')') ? name.rfind(" (") : std::string::npos;
    const Vertex b =
        vertex(std::string(trimmed(std::string_view(name).substr(0, kind).substr(arrow + 1))));
    bool found = false;
    for (std::size_t l = 0; l < share_.size(); ++l) {
      const auto& [from, to, link_class, lanes] = topology_.links()[l];
      if (std::minmax(from, to) != std::minmax(a, b)) continue;
      share_[l] *= share;
      found = true;
    }
    require(found, fmt::format("--degrade: no link joins {} and {}", topology_.vertex_name(a),
                               topology_.vertex_name(b)));
  }

  void slow_kind(const std::string& name, double share) {
    std::vector<std::string> kinds;
    bool found = false;
    for (const LinkClass& kind : topology_.classes()) kinds.push_back(kind.name);
    for (std::size_t l = 0; l < share_.size(); ++l) {
      if (kinds[topology_.links()[l].link_class] != name) continue;
      share_[l] *= share;
      found = true;
    }
    require(found, fmt::format("--degrade: link '{}' is neither two names, as in g0>g1, nor a kind "
                               "of link of {}, which has {}.{}",
                               name, topology_.name(),
                               fmt::join(std::set<std::string>(kinds.begin(), kinds.end()), ", "),
                               did_you_mean(name, kinds)));
  }

  Vertex vertex(const std::string& name) const {
    std::vector<std::string> names;
    for (Vertex v = 0; v < topology_.vertices(); ++v) {
      names.push_back(topology_.vertex_name(v));
      if (names.back() == name) return v;
    }
    throw InvalidArgument(fmt::format("--degrade: {} has no '{}'.{}", topology_.name(), name,
                                      did_you_mean(name, names)));
  }

  const Topology& topology_;
  std::vector<double> share_;
};

}  // namespace

Topology degraded(const Topology& topology, const std::string& list) {
  DegradeReader reader(topology);
  for (const std::string& entry : parse_list("--degrade", list)) reader.read(entry);
  return reader.degraded();
}

Topology without_cable(const Topology& topology, LinkId link) {
  const Link& dead = topology.links()[link];
  std::vector<double> share(topology.links().size(), 1);
  for (std::size_t l = 0; l < share.size(); ++l) {
    const Link& other = topology.links()[l];
    if (std::minmax(other.from, other.to) == std::minmax(dead.from, dead.to)) share[l] = 0;
  }
  return with_shares(topology, share, topology.name());
}

}  // namespace collbench
