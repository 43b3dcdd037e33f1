#include "topologies/machine_structure.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/suggest.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

constexpr int most = 1 << 24;

const LinkClass& class_called(const std::string& name, const TomlTable& table,
                              const std::string& key, const LinkClasses& classes) {
  const auto entry = classes.find(name);
  if (entry != classes.end()) return entry->second;
  std::vector<std::string> known;
  for (const auto& [other, unused] : classes) known.push_back(other);
  table.refuse(key, fmt::format("there is no [link.{}]; the file has {}.{}", name,
                                known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")),
                                did_you_mean(name, known)));
}

struct StructureReader {
  const TomlTable& table;
  const LinkClasses& classes;
  const std::optional<Fabric>& fabric;
  const MachineSize& size;

  const LinkClass& link(const std::string& key) const { return class_named(table, key, classes); }

  const std::string& named() const { return size.named.empty() ? table.file() : size.named; }

  // Lengths given with the machine's name, else those of `key`.
  std::vector<int> lengths(const std::string& key) const {
    const bool in_file = table.has(key);
    if (!size.lengths.empty()) return parse_lengths(size.lengths, table.file());
    if (!in_file) {
      table.refuse(key, fmt::format("its size must be given, as in {}:4x4", named()));
    }
    return table.integers(key, 1, most);
  }

  // One number: given with the name, else of `key`, else what seats the workers.
  int count(const std::string& key, int hosts_each) const {
    const bool in_file = table.has(key);
    if (!size.lengths.empty()) {
      const std::vector<int> given = parse_lengths(size.lengths, table.file());
      if (given.size() != 1) {
        table.refuse(key, fmt::format("its size is one number, not {}", size.lengths));
      }
      if (in_file && key == "hosts" && given.front() > table.integer(key, 1, most)) {
        table.refuse(key, fmt::format("it has {} hosts; fewer can be taken, but not {}",
                                      table.integer(key, 1, most), given.front()));
      }
      return given.front();
    }
    if (in_file) return table.integer(key, 1, most);
    if (size.workers > 0) return (size.workers - 1) / hosts_each + 1;
    table.refuse(key, fmt::format("its size must be given, as in {}:8", named()));
  }

  void fixed_size() const {
    if (size.lengths.empty()) return;
    table.refuse("kind", fmt::format("it comes in one size only; leave ':{}' out", size.lengths));
  }

  std::vector<LinkClass> links(const std::string& key) const {
    std::vector<LinkClass> found;
    for (const std::string& name : table.texts(key)) {
      found.push_back(class_called(name, table, key, classes));
    }
    return found;
  }

  DragonflyLinks dragonfly_links(const std::string& color) const {
    const std::string lanes = color + "_lanes";
    return {table.has(lanes) ? table.integer(lanes, 1, most) : 1, link(color)};
  }
};

Topology read_star(const StructureReader& r) { return star(r.count("hosts", 1), r.link("link")); }

Topology read_full(const StructureReader& r) {
  return fully_connected(r.count("hosts", 1), r.link("link"));
}

Topology read_torus(const StructureReader& r) {
  const std::vector<int> dims = r.lengths("dims");
  std::vector<bool> wraps(dims.size(), true);
  if (r.table.has("wraps")) {
    wraps = r.table.flags("wraps");
    if (wraps.size() != dims.size()) {
      r.table.refuse(
          "wraps", fmt::format("{} axes need as many `wraps`, not {}", dims.size(), wraps.size()));
    }
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (!wraps[i] || dims[i] > 2) continue;
      r.table.refuse("wraps", fmt::format("axis {} is {} long and cannot wrap: its ends are joined "
                                          "already; write false",
                                          i, dims[i]));
    }
  }
  return torus(dims, wraps, r.links("links"));
}

Topology read_slice(const StructureReader& r) {
  WrapRule rule;
  const std::string kind = r.table.text("wrap");
  const std::vector<std::string> kinds{"axis", "cube", "pod"};
  const auto known = std::ranges::find(kinds, kind);
  if (known == kinds.end()) r.table.refuse("wrap", unknown_name("wrap rule", kind, kinds));
  rule.kind = static_cast<WrapRule::Kind>(known - kinds.begin());
  rule.axes = r.table.integer("axes", 1, 8);
  rule.most_chips = r.table.integer("most_chips", 1, most);
  if (rule.kind == WrapRule::Kind::pod) {
    rule.pod = r.table.integers("pod", 1, most);
    if (static_cast<int>(rule.pod.size()) != rule.axes) {
      r.table.refuse("pod", fmt::format("{} axes need as many lengths of the pod", rule.axes));
    }
  } else {
    rule.length = r.table.integer("wrap_length", 3, most);
  }
  const std::vector<int> dims = r.lengths("dims");
  Topology chips = torus(dims, slice_wraps(dims, rule), r.links("links"));
  if (!r.table.has("cores")) return chips;
  const int cores = r.table.integer("cores", 1, 64);
  const LinkClass& core_link = r.link("core_link");
  return r.size.whole_chips ? chips : chips_with_cores(chips, cores, core_link);
}

Topology read_fat_tree(const StructureReader& r) {
  r.fixed_size();
  return fat_tree(r.table.integers("children", 1, most), r.table.integers("parents", 1, most),
                  r.table.integers("lanes", 1, most), r.links("links"));
}

Topology read_dragonfly(const StructureReader& r) {
  r.fixed_size();
  const auto n = [&r](const std::string& key) { return r.table.integer(key, 1, most); };
  return dragonfly(n("groups"), n("chassis"), n("routers"), n("hosts_per_router"),
                   r.dragonfly_links("blue"), r.dragonfly_links("black"),
                   r.dragonfly_links("green"), r.link("local"));
}

// Of a graph: `levels` of nodes or axes of a `grid`, if either is given.
Layout read_layout(const TomlTable& table, int hosts) {
  Layout layout{.dims = {hosts}, .wraps = {}};
  const bool is_grid = table.has("grid");
  if (!is_grid && !table.has("levels")) return layout;
  const std::string key = is_grid ? "grid" : "levels";
  if (is_grid && table.has("levels")) table.refuse("levels", "a graph has `levels` or a `grid`");
  layout.kind = is_grid ? Layout::Kind::grid : Layout::Kind::hierarchy;
  layout.dims = table.integers(key, 1, most);
  std::int64_t seats = 1;
  for (const int length : layout.dims) seats = std::min<std::int64_t>(seats * length, most);
  if (seats != hosts) {
    table.refuse(key, fmt::format("the product of {} is not the number of hosts, {}",
                                  fmt::join(layout.dims, " x "), hosts));
  }
  if (!is_grid) return layout;
  layout.wraps = table.flags("wraps");
  if (layout.wraps.size() != layout.dims.size()) {
    table.refuse("wraps", fmt::format("{} axes need as many `wraps`, not {}", layout.dims.size(),
                                      layout.wraps.size()));
  }
  if (table.has("cores")) layout.cores = table.integer("cores", 1, 64);
  if (layout.cores > 1 && layout.cores != layout.dims.front()) {
    table.refuse("cores", "cores of a chip are the first axis of the grid");
  }
  return layout;
}

Topology read_graph(const StructureReader& r) {
  r.fixed_size();
  const int hosts = r.table.integer("hosts", 1, most);
  const int switches = r.table.has("switches") ? r.table.integer("switches", 0, most) : 0;
  std::vector<LinkClass> classes;
  std::map<std::string, std::int32_t> numbers;
  for (const auto& [name, link_class] : r.classes) {
    numbers.emplace(name, static_cast<std::int32_t>(classes.size()));
    classes.push_back(link_class);
  }
  std::vector<Cable> cables;
  for (const TomlTable& entry : r.table.tables("cables")) {
    Cable cable{.a = entry.integer("a", 0, hosts + switches - 1),
                .b = entry.integer("b", 0, hosts + switches - 1)};
    if (cable.a == cable.b) entry.refuse("b", "a cable joins two different ends");
    class_named(entry, "link", r.classes);
    cable.link_class = numbers.at(entry.text("link"));
    if (entry.has("lanes")) cable.lanes = static_cast<float>(entry.number("lanes", 1e-3, 1e6));
    cable.one_way = entry.flag("one_way", false);
    entry.finish();
    cables.push_back(cable);
  }
  const std::string equal = r.table.has("equal_paths") ? r.table.text("equal_paths") : "first";
  if (equal != "first" && equal != "spread") {
    r.table.refuse("equal_paths", "ways as short and as wide are 'first' or 'spread'");
  }
  Topology topology =
      graph("graph", hosts, hosts + switches, read_layout(r.table, hosts), std::move(classes),
            cables, {}, equal == "first" ? EqualPaths::first : EqualPaths::spread);
  check_reachable(topology, 1, r.table.place());
  return topology;
}

Structure read_cluster(const StructureReader& r) {
  constexpr int deepest = 4;
  if (r.size.depth >= deepest) {
    r.table.refuse("node", fmt::format("nodes are nested more than {} deep", deepest));
  }
  const std::string folder = std::filesystem::path(r.table.file()).parent_path().string();
  const DescribedMachine node = describe(r.table.text("node"), {.depth = r.size.depth + 1}, folder);
  const std::optional<Fabric>& fabric = r.fabric ? r.fabric : node.fabric;
  if (!fabric) {
    r.table.refuse("node", fmt::format("'{}' has no [fabric] of its own; add one to this file",
                                       r.table.text("node")));
  }
  return {cluster(node.machine.topology, r.count("nodes", node.machine.topology.hosts()), *fabric),
          node.machine.costs};
}

struct StructureKind {
  const char* name;
  Topology (*read)(const StructureReader&);  // null: a cluster, which has its nodes' costs
};
constexpr std::array<StructureKind, 8> kinds{{{"star", read_star},
                                              {"full", read_full},
                                              {"torus", read_torus},
                                              {"slice", read_slice},
                                              {"fat-tree", read_fat_tree},
                                              {"dragonfly", read_dragonfly},
                                              {"graph", read_graph},
                                              {"cluster", nullptr}}};

}  // namespace

const LinkClass& class_named(const TomlTable& table, const std::string& key,
                             const LinkClasses& classes) {
  return class_called(table.text(key), table, key, classes);
}

Fabric read_fabric(const TomlTable& table, const LinkClasses& classes) {
  Fabric fabric{.adapter = class_named(table, "adapter", classes),
                .adapters_per_node = table.integer("adapters_per_node", 1, most),
                .rails = table.flag("rails", false)};
  if (table.has("spine")) {
    fabric.spine = class_named(table, "spine", classes);
    if (table.has("spine_lanes")) {
      fabric.spine_lanes = static_cast<float>(table.number("spine_lanes", 1e-3, 1e6));
    }
  }
  table.text("source");
  table.finish();
  return fabric;
}

Structure read_structure(const TomlTable& table, const LinkClasses& classes,
                         const std::optional<Fabric>& fabric, const MachineSize& size) {
  const std::string name = table.text("kind");
  table.text("source");
  std::vector<std::string> known;
  for (const StructureKind& kind : kinds) {
    known.emplace_back(kind.name);
    if (name != kind.name) continue;
    if (size.whole_chips && name != "slice") {
      table.refuse("kind", fmt::format("':chips' is for slices; this is a {}", name));
    }
    try {
      const StructureReader reader{table, classes, fabric, size};
      Structure structure =
          kind.read == nullptr ? read_cluster(reader) : Structure{kind.read(reader), {}};
      table.finish();
      return structure;
    } catch (const InvalidArgument& e) {
      // What a network or a node refuses does not know where it was asked for.
      if (std::string_view(e.what()).rfind(table.file() + ":", 0) == 0) throw;
      throw InvalidArgument(fmt::format("{}: {}", table.place(), e.what()));
    }
  }
  table.refuse("kind", unknown_name("kind", name, known));
}

}  // namespace collbench
