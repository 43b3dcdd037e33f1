#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "heuristics/nccl/nccl_model.h"
#include "topologies/import/xml.h"

namespace collbench {
namespace {

constexpr std::array<std::string_view, 12> paths{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                 "PXN", "P2C", "PHB", "SYS", "NET", "DIS"};
constexpr int most_channels = 64;
constexpr double most_speed = 1e5;  // GB/s of a channel

NcclPath path_of(const XmlElement& graph, const char* attribute, NcclPath fallback) {
  const std::string* text = graph.find(attribute);
  if (text == nullptr || text->empty()) return fallback;
  const auto found = std::find(paths.begin(), paths.end(), *text);
  if (found == paths.end()) {
    graph.refuse(fmt::format("{} '{}' is not a kind of path; known are {}", attribute, *text,
                             fmt::join(paths, ", ")));
  }
  return static_cast<NcclPath>(found - paths.begin());
}

double amount(const XmlElement& graph, const char* attribute, double fallback, double most) {
  const double value = graph.number(attribute, fallback);
  if (!std::isfinite(value) || value < 0 || value > most) {
    graph.refuse(fmt::format("{} must be from 0 to {}", attribute, most));
  }
  return value;
}

NcclGraph read_graph(const XmlElement& graph) {
  graph.need("nchannels");
  graph.need("speedintra");
  NcclGraph found;
  found.channels = graph.integer("nchannels", 0, 0, most_channels);
  found.pattern = graph.integer("pattern", 4, 1, 6);
  found.intra = amount(graph, "speedintra", 0, most_speed);
  found.inter = amount(graph, "speedinter", found.intra, most_speed);
  found.latency_inter = amount(graph, "latencyinter", 0, 1e6);
  found.type_intra = path_of(graph, "typeintra", NcclPath::nvl);
  found.type_inter = path_of(graph, "typeinter", NcclPath::pix);
  if (found.channels > 0 && found.intra == 0) {
    graph.refuse("a graph with channels needs a speedintra above 0");
  }
  return found;
}

}  // namespace

NcclInputs import_nccl_graphs(std::string_view text, const std::string& file) {
  const XmlElement root = parse_xml(text, file);
  if (root.name != "graphs") {
    root.refuse("is not a dump of NCCL's graphs, which begins with <graphs>");
  }
  NcclInputs inputs;
  std::set<int> seen;
  for (const XmlElement& graph : root.children) {
    if (graph.name != "graph") graph.refuse("appears where <graph> is expected");
    graph.need("id");
    const int id = graph.integer("id", 0, 0, 4);
    if (!seen.insert(id).second) graph.refuse(fmt::format("a second graph with id {}", id));
    const std::array<NcclGraph*, 5> places{&inputs.ring, &inputs.tree, &inputs.collnet_chain,
                                           &inputs.nvls, &inputs.collnet_direct};
    *places[static_cast<std::size_t>(id)] = read_graph(graph);
  }
  if (inputs.ring.channels == 0) root.refuse("there is no ring (id 0) with channels");
  if (inputs.tree.channels > 0) {
    inputs.ring.channels = inputs.tree.channels =
        std::min(inputs.ring.channels, inputs.tree.channels);
  }
  inputs.nvswitch = inputs.nvls.channels > 0 || inputs.collnet_direct.channels > 0;
  inputs.origin = fmt::format("graphs of {}", file);
  return inputs;
}

}  // namespace collbench
