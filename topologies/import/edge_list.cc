#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"
#include "topologies/import/graph.h"
#include "topologies/import/import_topology.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

constexpr std::string_view edge_header = "from,to,bandwidth_GBps,kind";

// Kinds of links that leave a node; those of all other kinds are inside one.
constexpr std::array<std::string_view, 8> outer_kinds{"nic",    "uplink", "inter",  "network",
                                                      "global", "local",  "bridge", "spine"};

struct Edge {
  Vertex from;
  Vertex to;
  double gigabytes_per_second;
  std::string kind;
};

class EdgeListReader {
 public:
  EdgeListReader(std::string_view text, std::string file) : file_(std::move(file)) {
    bool has_header = false;
    for (const std::string& part : split_at(text, '\n')) {
      ++line_;
      const std::string_view line = trimmed(part);
      if (line.starts_with('#') && note_.empty()) note_ = trimmed(line.substr(1));
      if (line.empty() || line.starts_with('#')) continue;
      if (!has_header && line != edge_header) {
        refuse(fmt::format("the columns are '{}', not '{}'", edge_header, line));
      }
      if (has_header) read_edge(line);
      has_header = true;
    }
    require(!edges_.empty(), fmt::format("{}: no link in it", file_));
  }

  Machine machine() {
    number_vertices();
    std::vector<LinkClass> classes;
    std::vector<Cable> cables;
    for (const Edge& edge : edges_) {
      cables.push_back({edge.from, edge.to, class_of(edge, classes), 1, true});
    }
    auto names = std::make_shared<const std::vector<std::string>>(names_);
    Topology made = graph(
        machine_name(file_), ranks_, static_cast<int>(names_.size()),
        {Layout::Kind::flat, {ranks_}, {}}, std::move(classes), cables,
        [names](Vertex v) { return (*names)[static_cast<std::size_t>(v)]; }, EqualPaths::spread);
    require_connected();
    return {made.with_free_routes(), Costs{}, note_.empty() ? "a list of links" : note_,
            fmt::format("list of links {}", file_)};
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InvalidArgument(fmt::format("{}:{}: {}", file_, line_, what));
  }

  void read_edge(std::string_view line) {
    const std::vector<std::string> cells = split_at(line, ',');
    if (cells.size() != 4) refuse(fmt::format("4 columns are needed, not {}", cells.size()));
    const auto rate = number_in(trimmed(cells[2]), 0, 1e9);
    if (!rate || *rate < 1e-9) {
      refuse(fmt::format("bandwidth_GBps must be a number from 1e-9 to 1e9, not '{}'", cells[2]));
    }
    const Vertex from = vertex(cells[0]);
    const Vertex to = vertex(cells[1]);
    if (from == to) refuse(fmt::format("a link joins {} with itself", cells[0]));
    const std::string kind(trimmed(cells[3]));
    const auto [known, is_new] = by_ends_.emplace(std::tuple{from, to, kind}, edges_.size());
    if (is_new) {
      edges_.push_back({from, to, *rate, kind});
    } else {  // Links of a kind are one: a message of ours takes one route, which shares them all.
      edges_[known->second].gigabytes_per_second += *rate;
    }
  }

  // In the order in which the file names them; number_vertices() puts ranks first.
  Vertex vertex(const std::string& cell) {
    const std::string name(trimmed(cell));
    const bool is_rank = name.size() > 1 && name[0] == 'g' && small_integer_in(name.substr(1));
    if (!is_rank && (name.size() < 2 || name[0] != 's')) {
      refuse(fmt::format("'{}' is neither a rank (g0, g1, ...) nor a switch (s...)", name));
    }
    const auto [found, is_new] = by_name_.emplace(name, static_cast<Vertex>(names_.size()));
    if (is_new) names_.push_back(name);
    if (is_new && is_rank) ++ranks_;
    return found->second;
  }

  void number_vertices() {
    require(ranks_ > 0, fmt::format("{}: no rank in it (g0, g1, ...)", file_));
    std::vector<Vertex> place(names_.size());
    Vertex next_switch = ranks_;
    for (std::size_t v = 0; v < names_.size(); ++v) {
      if (names_[v][0] == 's') {
        place[v] = next_switch++;
        continue;
      }
      place[v] = *small_integer_in(names_[v].substr(1));
      require(place[v] < ranks_ && names_[v] == fmt::format("g{}", place[v]),
              fmt::format("{}: ranks must be numbered from g0 to g{} without gaps; it has {}",
                          file_, ranks_ - 1, names_[v]));
    }
    std::vector<std::string> ordered(names_.size());
    for (std::size_t v = 0; v < names_.size(); ++v) ordered[place[v]] = names_[v];
    names_ = std::move(ordered);
    for (Edge& edge : edges_) {
      edge.from = place[edge.from];
      edge.to = place[edge.to];
    }
  }

  // Whether the first rank reaches all others, and they it; routes of all would take long.
  void require_connected() const {
    for (const bool there : {true, false}) {
      std::vector<std::vector<Vertex>> next(names_.size());
      for (const Edge& edge : edges_) {
        next[there ? edge.from : edge.to].push_back(there ? edge.to : edge.from);
      }
      std::vector<bool> reached(names_.size(), false);
      std::vector<Vertex> stack{0};
      reached[0] = true;
      while (!stack.empty()) {
        const Vertex at = stack.back();
        stack.pop_back();
        for (const Vertex to : next[at]) {
          if (!reached[to]) stack.push_back(to);
          reached[to] = true;
        }
      }
      const auto apart = std::find(reached.begin(), reached.begin() + ranks_, false);
      if (apart == reached.begin() + ranks_) continue;
      const std::string& other = names_[apart - reached.begin()];
      throw InvalidArgument(fmt::format("{}: no path leads from {} to {}", file_,
                                        there ? "g0" : other, there ? other : "g0"));
    }
  }

  std::int32_t class_of(const Edge& edge, std::vector<LinkClass>& classes) {
    const auto next = static_cast<std::int32_t>(classes.size());
    const auto [found, is_new] =
        class_numbers_.emplace(std::pair{edge.kind, edge.gigabytes_per_second}, next);
    if (is_new) {
      const bool outer =
          std::find(outer_kinds.begin(), outer_kinds.end(), edge.kind) != outer_kinds.end();
      classes.push_back({.name = edge.kind.empty() ? "link" : edge.kind,
                         .nominal = Bandwidth{edge.gigabytes_per_second * 1e9},
                         .level = outer ? 1 : 0,
                         .source = file_});
    }
    return found->second;
  }

  std::string file_;
  std::string note_;
  int line_ = 0;
  int ranks_ = 0;
  std::vector<std::string> names_;
  std::map<std::string, Vertex, std::less<>> by_name_;
  std::vector<Edge> edges_;
  std::map<std::tuple<Vertex, Vertex, std::string>, std::size_t> by_ends_;  // and kind
  std::map<std::pair<std::string, double>, std::int32_t> class_numbers_;
};

}  // namespace

Machine from_edge_list(std::string_view text, const std::string& file) {
  return EdgeListReader(text, file).machine();
}

}  // namespace collbench
