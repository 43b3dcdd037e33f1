#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

// The trees of best paths, one per source, made when first asked for.
class PathTrees {
 public:
  PathTrees(int hosts, int vertices, const std::vector<LinkClass>& classes,
            const std::vector<Link>& links, EqualPaths equal_paths)
      : links_(links),
        equal_paths_(equal_paths),
        out_(static_cast<std::size_t>(vertices)),
        trees_(static_cast<std::size_t>(hosts)),
        made_(static_cast<std::size_t>(hosts)) {
    for (std::size_t l = 0; l < links.size(); ++l) {
      const Link& link = links[l];
      const LinkClass& c = classes[static_cast<std::size_t>(link.link_class)];
      width_.push_back(c.nominal.bytes_per_second * c.efficiency * static_cast<double>(link.lanes));
      out_[static_cast<std::size_t>(link.from)].push_back(static_cast<LinkId>(l));
    }
  }

  void route(Host from, Host to, std::vector<LinkId>& out) {
    const auto source = static_cast<std::size_t>(from);
    std::call_once(made_[source], [&] { trees_[source] = tree(from); });
    const std::vector<LinkId>& into = trees_[source];
    for (Vertex v = to; v != from;) {
      const LinkId link = into[static_cast<std::size_t>(v)];
      if (link < 0) return out.clear();
      out.push_back(link);
      v = links_[static_cast<std::size_t>(link)].from;
    }
    std::reverse(out.begin(), out.end());
  }

 private:
  // The last link of the best path to each vertex. A front of the search is visited in order of
  // vertices, so that the smaller one wins a tie.
  std::vector<LinkId> tree(Host source) const {
    std::vector<LinkId> into(out_.size(), -1);
    std::vector<int> depth(out_.size(), -1);
    std::vector<double> narrowest(out_.size(), 0);
    std::vector<int> ties(out_.size(), 0);
    std::vector<Vertex> front{source}, next;
    depth[static_cast<std::size_t>(source)] = 0;
    narrowest[static_cast<std::size_t>(source)] = std::numeric_limits<double>::infinity();
    for (int d = 1; !front.empty(); ++d, front.swap(next)) {
      next.clear();
      for (const Vertex u : front) {
        for (const LinkId link : out_[static_cast<std::size_t>(u)]) {
          const auto v = static_cast<std::size_t>(links_[static_cast<std::size_t>(link)].to);
          if (depth[v] < 0) {
            depth[v] = d;
            next.push_back(static_cast<Vertex>(v));
          }
          const double width = std::min(narrowest[static_cast<std::size_t>(u)],
                                        width_[static_cast<std::size_t>(link)]);
          if (depth[v] != d || width < narrowest[v]) continue;
          ties[v] = width > narrowest[v] ? 1 : ties[v] + 1;
          // Of k equal ones source s takes number s mod k.
          if (ties[v] == 1 ||
              (equal_paths_ == EqualPaths::spread && source % ties[v] == ties[v] - 1)) {
            narrowest[v] = width;
            into[v] = link;
          }
        }
      }
      std::sort(next.begin(), next.end());
    }
    return into;
  }

  std::vector<Link> links_;
  EqualPaths equal_paths_;
  std::vector<double> width_;
  std::vector<std::vector<LinkId>> out_;
  std::vector<std::vector<LinkId>> trees_;
  std::vector<std::once_flag> made_;
};

}  // namespace

Topology graph(std::string name, int hosts, int vertices, Layout layout,
               std::vector<LinkClass> classes, const std::vector<Cable>& cables,
               Topology::NameFunction vertex_name, EqualPaths equal_paths) {
  require_links(name, 2 * static_cast<std::int64_t>(cables.size()));
  constexpr std::int64_t most_entries = std::int64_t{1} << 28;  // 1 GB of kept searches
  require(static_cast<std::int64_t>(hosts) * vertices <= most_entries,
          fmt::format("topology {}: {} hosts and {} vertices are too many for routes that are "
                      "searched; their product may be {}",
                      name, hosts, vertices, most_entries));
  std::vector<Link> links;
  for (const Cable& cable : cables) {
    require(cable.a != cable.b,
            fmt::format("topology {}: a cable joins vertex {} with itself", name, cable.a));
    links.push_back({cable.a, cable.b, cable.link_class, cable.lanes});
    if (!cable.one_way) links.push_back({cable.b, cable.a, cable.link_class, cable.lanes});
  }
  const Topology checked(name, hosts, vertices, layout, classes, links, {});
  const auto trees = std::make_shared<PathTrees>(hosts, vertices, classes, links, equal_paths);
  return Topology(
      std::move(name), hosts, vertices, std::move(layout), std::move(classes), std::move(links),
      [trees](Host from, Host to, std::vector<LinkId>& out) { trees->route(from, to, out); },
      std::move(vertex_name));
}

}  // namespace collbench
