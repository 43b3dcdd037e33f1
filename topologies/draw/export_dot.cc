#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "core/error.h"
#include "topologies/draw/draw.h"

namespace collbench {
namespace {

constexpr std::size_t most_lines = 20'000;

std::string dot_quoted(const std::string& text) {
  std::string safe = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') safe += '\\';
    safe += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return safe + '"';
}

}  // namespace

std::string to_dot(const Topology& topology) {
  require(topology.links().size() <= most_lines,
          fmt::format("topology {}: {} links are too many for Graphviz (at most {}); the SVG joins "
                      "them",
                      topology.name(), topology.links().size(), most_lines));
  std::string dot = fmt::format("digraph {} {{\n  node [fontname=\"sans-serif\"];\n",
                                dot_quoted(topology.name()));
  for (Vertex v = 0; v < topology.vertices(); ++v) {
    dot += fmt::format("  v{} [label={}, shape={}];\n", v, dot_quoted(topology.vertex_name(v)),
                       v < topology.hosts() ? "ellipse" : "box");
  }
  // The two directions of a cable are one edge without arrows.
  std::map<std::tuple<Vertex, Vertex, std::int32_t, float>, int> open;
  std::string cables;
  for (const Link& link : topology.links()) {
    const auto back = open.find({link.to, link.from, link.link_class, link.lanes});
    if (back != open.end() && back->second > 0) {
      --back->second;
    } else {
      ++open[{link.from, link.to, link.link_class, link.lanes}];
      continue;
    }
    const LinkClass& c = topology.classes()[link.link_class];
    const Bandwidth rate{c.nominal.bytes_per_second * static_cast<double>(link.lanes)};
    cables += fmt::format("  v{} -> v{} [dir=none, label={}];\n", link.to, link.from,
                          dot_quoted(fmt::format("{}\n{}", c.name, to_string(rate))));
  }
  for (const auto& [ends, count] : open) {
    const auto& [from, to, link_class, lanes] = ends;
    for (int i = 0; i < count; ++i) {
      cables += fmt::format("  v{} -> v{} [label={}];\n", from, to,
                            dot_quoted(topology.classes()[link_class].name));
    }
  }
  return dot + cables + "}\n";
}

}  // namespace collbench
