#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

// Between level l and l + 1. A vertex of level l is numbered by its digits, the first one running
// fastest: digit j counts up[j] for j < l (which copy of the switch) and down[j] otherwise (which
// subtree). Its port p leads over lane p / up to the parent whose digit l is p % up, all other
// digits being equal.
struct TreeLevel {
  int down, up, lanes;
  int stride;                  // of digit l in the number of a vertex of level l + 1 and l
  int vertices;                // of level l
  Vertex first;                // vertex of level l
  LinkId first_link;           // from here up; the way down is the next link
  std::int64_t parents_below;  // product of up of all lower levels

  int ports() const { return up * lanes; }
  LinkId up_link(int vertex, int port) const { return first_link + 2 * (vertex * ports() + port); }
  // Number of the parent (level l + 1) that differs from `vertex` in digit l only, and back.
  int parent(int vertex, int digit) const {
    return vertex % stride + stride * (digit + up * (vertex / (stride * down)));
  }
  int child(int vertex, int digit) const {
    return vertex % stride + stride * (digit + down * (vertex / (stride * up)));
  }
  int digit_above(int vertex) const { return vertex / stride % up; }
};

class FatTree {
 public:
  FatTree(const std::vector<int>& down, const std::vector<int>& up, const std::vector<int>& lanes) {
    std::int64_t hosts = 1;
    for (const int d : down) {
      hosts *= d;
      require_links(fmt::format("fat tree {}", fmt::join(down, "x")), hosts);
    }
    std::int64_t vertices = hosts, first = 0, links = 0, parents = 1;
    int stride = 1, block = 1;
    for (std::size_t l = 0; l < down.size(); ++l) {
      levels_.push_back({down[l], up[l], lanes[l], stride, static_cast<int>(vertices),
                         static_cast<Vertex>(first), static_cast<LinkId>(links), parents});
      block *= down[l];
      blocks_.push_back(block);
      first += vertices;
      parents *= up[l];
      links += 2 * vertices * up[l] * lanes[l];
      stride *= up[l];
      vertices = vertices / down[l] * up[l];
      require_links(fmt::format("fat tree {}", fmt::join(down, "x")),
                    std::max({first + vertices, links, parents}));
    }
    hosts_ = static_cast<int>(hosts);
    top_ = {static_cast<Vertex>(first), static_cast<int>(vertices)};
  }

  int hosts() const { return hosts_; }
  int vertices() const { return top_.first + top_.second; }

  std::vector<Link> links(bool one_class) const {
    std::vector<Link> links;
    for (std::size_t l = 0; l < levels_.size(); ++l) {
      const TreeLevel& level = levels_[l];
      const auto link_class = static_cast<std::int32_t>(one_class ? 0 : l);
      for (int v = 0; v < level.vertices; ++v) {
        for (int port = 0; port < level.ports(); ++port) {
          const Vertex child = level.first + v;
          const Vertex parent = level.first + level.vertices + level.parent(v, port % level.up);
          links.push_back({.from = child, .to = parent, .link_class = link_class});
          links.push_back({.from = parent, .to = child, .link_class = link_class});
        }
      }
    }
    return links;
  }

  void route(Host from, Host to, std::vector<LinkId>& out) const {
    int vertex = from;
    std::size_t l = 0;
    // Up, d-mod-k on the destination, until it lies below.
    while (l == 0 || from / blocks_[l - 1] != to / blocks_[l - 1]) {
      const TreeLevel& level = levels_[l++];
      const auto port = static_cast<int>(to / level.parents_below % level.ports());
      out.push_back(level.up_link(vertex, port));
      vertex = level.parent(vertex, port % level.up);
    }
    descend(from, to, l, vertex, out);
  }

  std::string vertex_name(Vertex v) const {
    if (v < hosts_) return fmt::format("host {}", v);
    for (std::size_t l = 1; l < levels_.size(); ++l) {
      const TreeLevel& level = levels_[l];
      if (v < level.first + level.vertices) {
        return fmt::format("level {} switch {}", l, v - level.first);
      }
    }
    return fmt::format("level {} switch {}", levels_.size(), v - top_.first);
  }

 private:
  // Down there is one vertex per level to choose and `lanes` cables to it. SimGrid 3.32 numbers the
  // ports of a switch lane by lane and takes the first that leads to the child, beginning at lane
  // (source mod lanes); it enters the next level with the number after that port, and begins
  // anew only if none is left there.
  void descend(Host from, Host to, std::size_t l, int vertex, std::vector<LinkId>& out) const {
    int next_port = -1;
    while (l > 0) {
      const TreeLevel& level = levels_[--l];
      const int digit = to / (l == 0 ? 1 : blocks_[l - 1]) % level.down;
      int lane = from % level.lanes;
      if (next_port >= 0) {
        const int later = (next_port - digit + level.down - 1) / level.down;
        if (next_port > digit && later < level.lanes) lane = later;
        if (next_port <= digit) lane = 0;
      }
      next_port = lane * level.down + digit + 1;
      const int port = lane * level.up + level.digit_above(vertex);
      vertex = level.child(vertex, digit);
      out.push_back(level.up_link(vertex, port) + 1);
    }
  }

  std::vector<TreeLevel> levels_;
  std::vector<int> blocks_;  // hosts below a switch of level l + 1
  int hosts_ = 0;
  std::pair<Vertex, int> top_;  // first vertex and number of the highest switches
};

void check(const std::vector<int>& down, const std::vector<int>& up, const std::vector<int>& lanes,
           std::size_t classes) {
  const std::size_t n = down.size();
  require(n >= 1 && up.size() == n && lanes.size() == n,
          fmt::format("fat tree: children, parents and lanes need an entry per level each, not {}, "
                      "{} and {}",
                      n, up.size(), lanes.size()));
  require(classes == 1 || classes == n,
          fmt::format("fat tree: needs one kind of link, or one for each of {} levels, not {}", n,
                      classes));
  for (std::size_t i = 0; i < n; ++i) {
    require(down[i] >= 1 && up[i] >= 1 && lanes[i] >= 1,
            fmt::format("fat tree: level {} needs children, parents and lanes of at least 1, not "
                        "{}, {} and {}",
                        i + 1, down[i], up[i], lanes[i]));
    require(up[i] <= 1024 && lanes[i] <= 1024,
            fmt::format("fat tree: level {} has more than 1024 parents or lanes", i + 1));
  }
}

}  // namespace

Topology fat_tree(const std::vector<int>& down, const std::vector<int>& up,
                  const std::vector<int>& lanes, const std::vector<LinkClass>& levels) {
  check(down, up, lanes, levels.size());
  const auto tree = std::make_shared<const FatTree>(down, up, lanes);
  return Topology(
      fmt::format("fat-tree:{}:{}:{}", fmt::join(down, "x"), fmt::join(up, "x"),
                  fmt::join(lanes, "x")),
      tree->hosts(), tree->vertices(), Layout{.dims = {tree->hosts()}, .wraps = {}}, levels,
      tree->links(levels.size() == 1),
      [tree](Host from, Host to, std::vector<LinkId>& out) { tree->route(from, to, out); },
      [tree](Vertex v) { return tree->vertex_name(v); });
}

}  // namespace collbench
