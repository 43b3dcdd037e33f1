#include "topologies/machine_file.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "core/suggest.h"
#include "topologies/machine_structure.h"
#include "topologies/shipped_files.h"
#include "topologies/specification.h"
#include "topologies/toml_table.h"

namespace collbench {
namespace {

LinkClasses read_links(const TomlTable& root) {
  LinkClasses classes;
  for (const auto& [name, table] : root.table("link").named_tables()) {
    LinkClass link_class{
        .name = name,
        .nominal = table.bandwidth("bandwidth"),
        .efficiency = table.has("efficiency") ? table.number("efficiency", 1e-6, 1) : 1,
        .latency = table.duration("latency"),
        .level = table.has("level") ? table.integer("level", 0, 7) : 0,
        .source = table.text("source")};
    table.finish();
    classes.emplace(name, std::move(link_class));
  }
  return classes;
}

void read_value(const TomlTable& table, const std::string& key, double& factor) {
  factor = table.number(key, 1, 1e3);
}
void read_value(const TomlTable& table, const std::string& key, Bandwidth& rate) {
  rate = table.bandwidth(key);
}
void read_value(const TomlTable& table, const std::string& key, Seconds& time) {
  time = table.duration(key);
}

// Calls `read` with every entry of a list that the table may have; what it refuses, the file names.
template <class Read>
void read_each(const TomlTable& table, const std::string& key, const Read& read) {
  if (!table.has(key)) return;
  for (const std::string& entry : table.texts(key)) {
    try {
      read(entry);
    } catch (const InvalidArgument& e) {
      table.refuse(key, e.what());
    }
  }
}

std::vector<Seconds> read_durations(const TomlTable& table, const std::string& key,
                                    std::size_t most = 64) {
  std::vector<Seconds> durations;
  read_each(table, key, [&](const std::string& entry) {
    durations.push_back(parse_duration(entry));
    require(durations.size() <= most,
            fmt::format("`{}` has at most {} entries, one a level", key, most));
  });
  return durations;
}

Costs read_costs(const TomlTable& table) {
  Costs costs;
  costs.message_gap = read_durations(table, "message_gap", MessageGaps::levels);
  for (const TomlTable& step : table.tables("message_latency")) {
    costs.message_latency.push_back({step.size("from"), step.duration("latency")});
    step.finish();
    const std::size_t n = costs.message_latency.size();
    if (n > 1 &&
        costs.message_latency[n - 1].from_bytes <= costs.message_latency[n - 2].from_bytes) {
      step.refuse("from", "the sizes of `message_latency` must ascend");
    }
  }
  for (const CostKey& key : cost_keys) {
    if (!table.has(key.name)) continue;
    std::visit([&](auto member) { read_value(table, key.name, costs.*member); }, key.member);
  }
  table.text("source");
  table.finish();
  return costs;
}

// Rates in the file are of payload and of one channel; a Protocol's cap is of the wire.
Protocol read_protocol(const TomlTable& table) {
  Protocol protocol{.name = table.text("name"),
                    .message_latency = {},
                    .message_cap = {},
                    .source = table.text("source")};
  if (table.has("wire_factor")) protocol.wire_factor = table.number("wire_factor", 1, 1e3);
  protocol.message_latency = read_durations(table, "message_latency");
  std::vector<int> channels{1};
  if (table.has("channels")) channels = table.integers("channels", 1, 1024);
  protocol.message_gap = read_durations(table, "message_gap", MessageGaps::levels);
  read_each(table, "message_cap", [&](const std::string& entry) {
    const std::size_t level = std::min(protocol.message_cap.size(), channels.size() - 1);
    const double rate = entry == "none" ? 0 : parse_bandwidth(entry).bytes_per_second;
    require(entry == "none" || rate > 0, "`message_cap` must be above 0, or \"none\"");
    protocol.message_cap.push_back({rate * channels[level] * protocol.wire_factor});
  });
  table.finish();
  return protocol;
}

InNetwork read_in_network(const TomlTable& table) {
  InNetwork in_network{
      .name = table.text("name"),
      .latency = table.duration("latency"),
      .rate = table.bandwidth("rate"),
      .max_ranks = table.has("max_ranks") ? table.integer("max_ranks", 2, 1 << 24) : 0,
      .source = table.text("source")};
  table.finish();
  return in_network;
}

template <typename Rows>
auto row_named(const TomlTable& table, const std::string& key, const Rows& rows) {
  try {
    return find_row(key, table.text(key), rows);
  } catch (const InvalidArgument& e) {
    table.refuse(key, e.what());
  }
}

// The rows that it names, with the numbers that it states in place of theirs.
Gpus read_gpus(const TomlTable& table) {
  Gpus gpus;
  gpus.generation = row_named(table, "generation", gpu_generations());
  if (table.has("network")) gpus.network = row_named(table, "network", adapter_networks());
  const auto replace = [&table](const std::string& key, double& factor) {
    if (table.has(key)) factor = table.number(key, 1e-3, 1e3);
  };
  replace("start_factor", gpus.generation.start_factor);
  replace("step_factor", gpus.generation.step_factor);
  replace("ll_share", gpus.network.ll_share);
  replace("short_ring_share", gpus.network.short_ring_share);
  if (table.has("hop_ll")) gpus.network.hop_ll = table.duration("hop_ll");
  if (table.has("hop_simple")) gpus.network.hop_simple = table.duration("hop_simple");
  if (table.has("cpu")) {
    const std::vector<std::string> known{"intel", "amd", "arm", "power"};
    gpus.cpu = table.text("cpu");
    if (std::ranges::find(known, gpus.cpu) == known.end()) {
      table.refuse("cpu", unknown_name("cpu", gpus.cpu, known));
    }
  }
  if (table.has("per_host")) gpus.per_host = table.integer("per_host", 1, 1 << 16);
  gpus.sharp = table.flag("sharp", false);
  gpus.source = table.text("source");
  table.finish();
  return gpus;
}

// What the file does not say of costs, a cluster has from its nodes, and a machine that is like
// another from that one.
Costs read_all_costs(const TomlTable& root, const std::optional<Costs>& of_other) {
  Costs costs = of_other.value_or(Costs{});
  if (root.has("costs")) {
    Costs own = read_costs(root.table("costs"));
    own.protocols = std::move(costs.protocols);
    own.in_network = std::move(costs.in_network);
    own.gpus = std::move(costs.gpus);
    costs = std::move(own);
  }
  const std::vector<TomlTable> protocols = root.tables("protocol");
  if (!protocols.empty()) costs.protocols.clear();
  for (const TomlTable& protocol : protocols) {
    Protocol one = read_protocol(protocol);
    if (std::ranges::find(costs.protocols, one.name, &Protocol::name) != costs.protocols.end()) {
      protocol.refuse("name", fmt::format("a protocol '{}' is there already", one.name));
    }
    costs.protocols.push_back(std::move(one));
  }
  if (root.has("in_network")) costs.in_network = read_in_network(root.table("in_network"));
  if (root.has("gpus")) costs.gpus = read_gpus(root.table("gpus"));
  return costs;
}

/// With `like` the network has its own links, and classes here are those of [fabric] alone.
void refuse_unused_links(const TomlTable& root, const LinkClasses& classes,
                         const std::optional<Fabric>& fabric) {
  for (const auto& [name, unused] : classes) {
    const bool is_used =
        fabric && (fabric->adapter.name == name || (fabric->spine && fabric->spine->name == name));
    if (is_used) continue;
    root.refuse("like", fmt::format("nothing uses [link.{}]: the links are those of '{}'; to have "
                                    "others, leave `like` out and write [structure]",
                                    name, root.text("like")));
  }
}

/// Hosts of the file, where the size takes a part of them; else 0.
int hosts_taken_from(const TomlTable& root, const MachineSize& size) {
  if (size.lengths.empty() || !root.has("structure")) return 0;
  const TomlTable structure = root.table("structure");
  return structure.has("hosts") ? structure.integer("hosts", 1, 1 << 24) : 0;
}

/// Part of a machine has as many of the adapters as its hosts use where the others are idle.
void take_part(Fabric& fabric, int taken, int whole) {
  const std::int64_t shared = static_cast<std::int64_t>(fabric.adapters_per_node) * taken;
  fabric.adapters_per_node = static_cast<int>((shared + whole - 1) / whole);
}

/// The machine that this one is like, whose structure it has, in the size that is asked of this
/// one.
std::optional<DescribedMachine> read_like(const TomlTable& root, const MachineSize& size) {
  if (!root.has("like")) return {};
  constexpr int deepest = 4;
  if (size.depth >= deepest) {
    root.refuse("like", fmt::format("machines are like each other more than {} deep", deepest));
  }
  const std::string folder = std::filesystem::path(root.file()).parent_path().string();
  std::string like = root.text("like");
  if (!size.lengths.empty()) like += ":" + size.lengths;
  if (size.whole_chips) like += ":chips";
  return describe(like, {.workers = size.workers, .depth = size.depth + 1}, folder);
}

}  // namespace

std::vector<int> parse_lengths(const std::string& text, const std::string& where) {
  std::vector<int> lengths;
  for (const std::string& part : split_at(text, 'x')) {
    const auto length = small_integer_in(part, 1);
    require(length.has_value(),
            fmt::format("{}: '{}' should be numbers of at least 1 joined by x, as in 4x4x2", where,
                        text));
    lengths.push_back(*length);
  }
  return lengths;
}

DescribedMachine machine_from_toml(std::string_view text, const std::string& file,
                                   const MachineSize& size) {
  const TomlTable root = TomlTable::parse(text, file);
  std::string summary = root.text("summary");
  std::string source = root.text("source");
  const LinkClasses classes = root.has("link") ? read_links(root) : LinkClasses{};
  int whole = hosts_taken_from(root, size);
  std::optional<Fabric> fabric;
  if (root.has("fabric")) fabric = read_fabric(root.table("fabric"), classes);
  if (root.has("also")) root.texts("also");  // describe() looks for it
  const bool has_fabric = fabric.has_value();
  std::optional<DescribedMachine> like = read_like(root, size);
  if (like) {
    refuse_unused_links(root, classes, fabric);
    whole = like->whole_hosts;
    if (!has_fabric) fabric = like->fabric;  // in its part already
  }
  Structure structure = like ? Structure{std::move(like->machine.topology), {}}
                             : read_structure(root.table("structure"), classes, fabric, size);
  Costs costs = read_all_costs(root, like ? std::move(like->machine.costs) : structure.node_costs);
  // Of a calibration: its constants and measured points, heuristics/calibration/fitted_machine.h.
  root.tables("fitted");
  root.tables("calibration");
  root.finish();
  if (structure.node_costs) fabric.reset();  // it joined the nodes of this cluster
  if (has_fabric && fabric && whole > 0) take_part(*fabric, structure.topology.hosts(), whole);
  return {Machine{std::move(structure.topology), std::move(costs), std::move(summary),
                  std::move(source)},
          std::move(fabric), whole};
}

std::vector<ShippedMachine> shipped_machines() {
  std::vector<ShippedMachine> machines;
  for (const ShippedFile& file : shipped_files()) {
    const TomlTable root =
        TomlTable::parse(file.text, fmt::format("topologies/{}.toml", file.name));
    machines.push_back({std::string(file.name), root.text("summary"), root.text("source")});
  }
  return machines;
}

}  // namespace collbench
