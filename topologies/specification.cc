#include "topologies/specification.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "core/input_file.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "core/suggest.h"
#include "topologies/import/import_topology.h"
#include "topologies/machine_file.h"
#include "topologies/networks/networks.h"
#include "topologies/shipped_files.h"
#include "topologies/toml_table.h"

namespace collbench {
namespace {

// "torus:8x16:wrap=0x1,50GBps,1us,efficiency=0.9" in its parts.
struct Specification {
  std::string text;
  std::vector<std::string> head;  // "torus", "8x16", "wrap=0x1"
  std::optional<Bandwidth> bandwidth;
  std::optional<Seconds> latency;
  std::optional<double> efficiency{};
  int adapters = 0;  // 0: not said
  bool rails = false;
  const AdapterNetwork* network = nullptr;  // null: not said
  MachineSize size;
  std::string folder;
  std::set<std::string> read{};  // names of options

  [[noreturn]] void refuse(const std::string& why) const {
    throw InvalidArgument(fmt::format("topology '{}': {}", text, why));
  }
  const std::string& part(std::size_t i, const char* what) const {
    if (i >= head.size() || head[i].empty()) refuse(what);
    return head[i];
  }
  std::vector<int> lengths(std::size_t i, const char* what) const {
    return parse_lengths(part(i, what), fmt::format("topology '{}'", text));
  }
  void parts_at_most(std::size_t n) const {
    if (head.size() > n) refuse(fmt::format("unknown part ':{}'", head[n]));
  }
  // Given, or as many as seat the workers.
  int hosts() const {
    parts_at_most(2);
    if (head.size() > 1) {
      const std::vector<int> given = lengths(1, "needs a number of hosts");
      if (given.size() != 1) refuse("has one number of hosts");
      return given.front();
    }
    if (size.workers <= 0)
      refuse(fmt::format("needs a number of hosts, as in {}:8,..., or --workers", head[0]));
    return size.workers;
  }
  LinkClass link(const char* name) const {
    if (!bandwidth || !latency) {
      refuse(fmt::format("needs bandwidth and latency of a link, as in {}:{},100Gbps,5us", head[0],
                         head.size() > 1 ? head[1] : "8"));
    }
    if (bandwidth->bytes_per_second <= 0) refuse("the bandwidth must be above 0");
    return {.name = name,
            .nominal = *bandwidth,
            .efficiency = efficiency.value_or(1),
            .latency = *latency,
            .source = "given on the command line"};
  }
};

template <typename Number>
Number needed(const Specification& spec, const std::string& option, std::optional<Number> value) {
  if (!value) spec.refuse(fmt::format("'{}' needs a number", option));
  return *value;
}

void read_option(Specification& spec, const std::string& option) {
  const std::size_t equals = option.find('=');
  const std::string key = option.substr(0, equals);
  if (equals == std::string::npos && option != "rails") {
    if (!spec.bandwidth) {
      spec.bandwidth = parse_bandwidth(option);
    } else if (!spec.latency) {
      spec.latency = parse_duration(option);
    } else {
      spec.refuse(
          fmt::format("'{}' comes after bandwidth and latency, and is not an option; options "
                      "are efficiency=, adapters=, network= and rails",
                      option));
    }
    return;
  }
  if (!spec.read.insert(key).second) spec.refuse(fmt::format("{} is given twice", key));
  if (option == "rails") {
    spec.rails = true;
  } else if (key == "efficiency") {
    spec.efficiency = needed(spec, option, number_in(option.substr(equals + 1)));
  } else if (key == "adapters") {
    spec.adapters = needed(spec, option, small_integer_in(option.substr(equals + 1)));
    if (spec.adapters < 1) spec.refuse("a node has at least 1 adapter");
  } else if (key == "network") {
    spec.network = &find_row("network", option.substr(equals + 1), adapter_networks());
  } else {
    spec.refuse(
        fmt::format("unknown option '{}='; options are efficiency=, adapters=, network= and "
                    "rails.{}",
                    key, did_you_mean(key, {"efficiency", "adapters", "network", "rails"})));
  }
}

Topology make_star(const Specification& spec) { return star(spec.hosts(), spec.link("link")); }

Topology make_full(const Specification& spec) {
  return fully_connected(spec.hosts(), spec.link("cable"));
}

// "0x1" as which axes close.
std::vector<bool> closed_axes(const Specification& spec, const std::vector<int>& dims,
                              std::string_view text) {
  const std::vector<std::string> closed = split_at(text, 'x');
  if (closed.size() != dims.size()) {
    spec.refuse(fmt::format("{} axes need as many wraps", dims.size()));
  }
  std::vector<bool> wraps;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (closed[i] != "0" && closed[i] != "1") spec.refuse("a wrap is 0 or 1");
    wraps.push_back(closed[i] == "1");
    if (wraps[i] && dims[i] <= 2) {
      spec.refuse(fmt::format("axis {} is {} long and cannot wrap; its ends are joined already", i,
                              dims[i]));
    }
  }
  return wraps;
}

Topology make_torus(const Specification& spec) {
  const std::vector<int> dims = spec.lengths(1, "needs lengths of its axes, as in torus:4x4x4,...");
  std::vector<bool> wraps(dims.size(), spec.head[0] == "torus");
  Ties ties = Ties::up;
  spec.parts_at_most(4);
  for (std::size_t i = 2; i < spec.head.size(); ++i) {
    const std::string_view part = spec.head[i];
    if (i > 2 && part.substr(0, 4) == std::string_view(spec.head[2]).substr(0, 4)) {
      spec.refuse(fmt::format("':{}' is said before as ':{}'", part, spec.head[2]));
    }
    if (part.starts_with("wrap=")) {
      wraps = closed_axes(spec, dims, part.substr(5));
    } else if (part == "ties=up" || part == "ties=alternate") {
      ties = part == "ties=up" ? Ties::up : Ties::alternate;
    } else {
      spec.refuse(
          fmt::format("':{}' should be wrap= with 0 or 1 for each axis, as in wrap=0x1, or "
                      "ties=alternate",
                      part));
    }
  }
  return torus(dims, wraps, {spec.link("link")}, ties);
}

Topology make_fat_tree(const Specification& spec) {
  const char* const shape =
      "needs children, parents and cables of each level, as in fat-tree:4x4:1x4:1x1,...";
  spec.parts_at_most(4);
  return fat_tree(spec.lengths(1, shape), spec.lengths(2, shape), spec.lengths(3, shape),
                  {spec.link("link")});
}

Topology make_dragonfly(const Specification& spec) {
  const char* const shape =
      "needs groups, chassis, routers and hosts per router, as in dragonfly:3x4x5x2,...";
  spec.parts_at_most(3);
  const std::vector<int> n = spec.lengths(1, shape);
  if (n.size() != 4) spec.refuse(shape);
  std::vector<int> lanes{1, 1, 1};
  if (spec.head.size() == 3) lanes = spec.lengths(2, shape);
  if (lanes.size() != 3) spec.refuse("lanes are those of blue, black and green links: 1x1x1");
  const auto colored = [&](const char* color, std::size_t i) {
    return DragonflyLinks{lanes[i], spec.link(color)};
  };
  return dragonfly(n[0], n[1], n[2], n[3], colored("blue", 0), colored("black", 1),
                   colored("green", 2), spec.link("local"));
}

/// The kind of network that joins nodes of GPUs by adapters that were given: as said, or by their
/// latency.
void join_gpus(const Specification& spec, Costs& costs) {
  if (!costs.gpus) {
    if (spec.network != nullptr) spec.refuse("network= is for nodes whose file has [gpus]");
    return;
  }
  if (spec.network != nullptr) {
    costs.gpus->network = *spec.network;
  } else if (spec.latency) {
    costs.gpus->network = network_by_latency(*spec.latency);
  }
}

DescribedMachine make_cluster(const Specification& spec) {
  std::string node = spec.text.substr(0, spec.text.find(',')).substr(spec.head[0].size());
  if (node.size() < 2) spec.refuse("needs nodes, as in cluster:8xdgx-h100");
  node.erase(0, 1);
  const std::size_t digits = node.find_first_not_of("0123456789");
  int nodes = 0;
  if (digits > 0 && digits != std::string::npos && node[digits] == 'x') {
    nodes = parse_lengths(node.substr(0, digits), fmt::format("topology '{}'", spec.text)).front();
    node.erase(0, digits + 1);
  }
  if (spec.size.depth >= 4) spec.refuse("nodes are nested more than 4 deep");
  DescribedMachine inner = describe(node, {.depth = spec.size.depth + 1}, spec.folder);
  const int seats = inner.machine.topology.hosts();
  if (nodes == 0) nodes = spec.size.workers > 0 ? (spec.size.workers - 1) / seats + 1 : 0;
  if (nodes == 0) spec.refuse(fmt::format("needs a number of nodes, as in cluster:8x{}", node));
  std::optional<Fabric> fabric = inner.fabric;
  if (spec.bandwidth) {
    fabric = Fabric{.adapter = spec.link("adapter"),
                    .adapters_per_node = spec.adapters > 0 ? spec.adapters : seats,
                    .rails = spec.rails};
  }
  if (!fabric) {
    spec.refuse(
        fmt::format("{} has no adapters of its own; give them bandwidth and latency, as in "
                    "cluster:{}x{},400Gbps,5us",
                    node, nodes, node));
  }
  if (spec.efficiency && !spec.bandwidth) {
    spec.refuse("efficiency= is of adapters whose bandwidth and latency are given, too");
  }
  if (spec.rails) fabric->rails = true;
  if (spec.adapters > 0) fabric->adapters_per_node = spec.adapters;
  join_gpus(spec, inner.machine.costs);
  inner.machine.topology = cluster(inner.machine.topology, nodes, *fabric);
  inner.machine.summary = fmt::format("{} nodes: {}", nodes, inner.machine.summary);
  return {std::move(inner.machine), {}};
}

struct NetworkFamily {
  const char* name;
  Topology (*make)(const Specification&);  // null: a cluster, which has its nodes' costs
};
constexpr std::array<NetworkFamily, 7> shapes{{{"cluster", nullptr},
                                               {"dragonfly", make_dragonfly},
                                               {"fat-tree", make_fat_tree},
                                               {"full", make_full},
                                               {"mesh", make_torus},
                                               {"star", make_star},
                                               {"torus", make_torus}}};

DescribedMachine from_path(const Specification& spec, std::size_t end) {
  std::string rest = spec.text.substr(end);
  if (!rest.empty() && rest.front() != ':') spec.refuse("a size follows a file as FILE.toml:4x4");
  if (!rest.empty()) rest.erase(0, 1);
  const std::vector<std::string> parts = split_at(rest, ':');
  if (parts.size() > 2 || (parts.size() == 2 && parts[1] != "chips")) {
    spec.refuse("after a file and its size only ':chips' is known");
  }
  const std::filesystem::path path = std::filesystem::path(spec.folder) / spec.text.substr(0, end);
  MachineSize size = spec.size;
  size.lengths = parts[0];
  size.whole_chips = parts.size() == 2;
  size.named = spec.text.substr(0, end);
  return machine_from_toml(read_file(path.string()), path.string(), size);
}

/// What a cloud calls an instance is written as it likes.
bool is_also_called(const ShippedFile& file, const std::string& name) {
  const TomlTable root = TomlTable::parse(file.text, fmt::format("topologies/{}.toml", file.name));
  if (!root.has("also")) return false;
  return std::ranges::any_of(root.texts("also"), [&](const std::string& other) {
    return lower_case(other) == lower_case(name);
  });
}

const ShippedFile* shipped_file(const std::string& name) {
  const std::span<const ShippedFile> all = shipped_files();
  auto found = std::ranges::find(all, name, &ShippedFile::name);
  if (found == all.end()) {
    found = std::ranges::find_if(all, [&](const auto& file) { return is_also_called(file, name); });
  }
  return found == all.end() ? nullptr : &*found;
}

DescribedMachine from_name(const Specification& spec, const std::vector<std::string>& options) {
  if (const ShippedFile* file = shipped_file(spec.head[0])) {
    spec.parts_at_most(3);
    if (spec.head.size() > 2 && spec.head[2] != "chips") {
      spec.refuse(fmt::format("unknown part ':{}'; ':chips' is known", spec.head[2]));
    }
    if (!options.empty()) {
      spec.refuse(
          fmt::format("{} has its own links; leave ',{}' out", spec.head[0], options.front()));
    }
    MachineSize size = spec.size;
    size.lengths = spec.head.size() > 1 ? spec.head[1] : "";
    size.whole_chips = spec.head.size() > 2;
    size.named = spec.head[0];
    return machine_from_toml(file->text, fmt::format("topologies/{}.toml", file->name), size);
  }
  if (is_file_or_pipe(spec.head[0])) {
    spec.refuse(fmt::format(
        "{0} is no machine file; `collbench topo convert {0} --to toml` makes one", spec.head[0]));
  }
  std::vector<std::string> known;
  for (const NetworkFamily& shape : shapes) known.emplace_back(shape.name);
  for (const ShippedFile& file : shipped_files()) known.emplace_back(file.name);
  spec.refuse(
      fmt::format("unknown name '{}', and no file; `collbench topo list` shows all names.{}",
                  spec.head[0], did_you_mean(spec.head[0], known)));
}

/// A file of another tool: SimGrid's, NCCL's, ...; names of machines are none. One that does not
/// exist is told by its ending.
bool is_foreign_file(const std::string& text) {
  if (text.find(".toml") != text.npos) return false;
  if (is_file_or_pipe(text)) return true;
  constexpr std::string_view endings[] = {".csv", ".json", ".txt", ".xml", ".yaml", ".yml"};
  return text.find_first_of(":,") == text.npos &&
         std::ranges::any_of(endings, [&](auto ending) { return text.ends_with(ending); });
}

}  // namespace

DescribedMachine describe(const std::string& text, const MachineSize& size,
                          const std::string& folder) {
  Specification spec{
      .text = text, .head = {}, .bandwidth = {}, .latency = {}, .size = size, .folder = folder};
  const std::size_t file_end = text.rfind(".toml");
  if (file_end != std::string::npos && text.rfind("cluster:", 0) != 0) {
    return from_path(spec, file_end + 5);
  }
  std::vector<std::string> options = split_at(text, ',');
  spec.head = split_at(options.front(), ':');
  options.erase(options.begin());
  for (const std::string& option : options) {
    try {
      read_option(spec, option);
    } catch (const InvalidArgument& e) {
      if (std::string_view(e.what()).rfind("topology '", 0) == 0) throw;
      spec.refuse(e.what());
    }
  }
  for (const NetworkFamily& shape : shapes) {
    if (spec.head[0] != shape.name) continue;
    if (shape.make == nullptr) return make_cluster(spec);
    if (spec.network != nullptr) spec.refuse("network= is for clusters of nodes with GPUs");
    if (spec.adapters > 0 || spec.rails) spec.refuse("adapters= and rails are for clusters");
    return {{shape.make(spec), {}, spec.text, "given on the command line"}, {}};
  }
  return from_name(spec, options);
}

namespace {

/// "net.csv" and "net.csv,latency=2us": what a format that has no latencies leaves open.
std::optional<DescribedMachine> foreign_machine(const std::string& spec) {
  if (is_foreign_file(spec)) return DescribedMachine{import_topology_file(spec), {}};
  constexpr std::string_view option = ",latency=";
  const std::size_t at = spec.rfind(option);
  if (at == std::string::npos) return {};
  const std::string own = spec.substr(0, at);
  if (!is_foreign_file(own)) {
    describe(own, {});  // has something else to say of a name that is wrong
    throw InvalidArgument(
        fmt::format("topology '{}' states its latencies; --latency is for lists of links", own));
  }
  Machine read = import_topology_file(own);
  for (const LinkClass& c : read.topology.classes()) {
    require(c.latency == Seconds{0},
            fmt::format("topology '{}': latency= is for files that say none; '{}' links have {}",
                        spec, c.name, to_string(c.latency)));
  }
  read.topology = read.topology.with_latency(parse_duration(spec.substr(at + option.size())));
  return DescribedMachine{std::move(read), {}};
}

}  // namespace

Machine machine(const std::string& spec, int workers) {
  std::optional<DescribedMachine> foreign = foreign_machine(spec);
  DescribedMachine described = foreign ? *std::move(foreign) : describe(spec, {.workers = workers});
  Machine& made = described.machine;
  const int hosts = made.topology.hosts();
  const std::string remedy =
      described.fabric ? fmt::format("join several: cluster:{}x{}", (workers - 1) / hosts + 1, spec)
                       : "give it a larger size";
  require(workers <= hosts, fmt::format("topology '{}' has {} hosts and cannot seat {} workers; {}",
                                        spec, hosts, workers, remedy));
  made.topology = made.topology.named(spec);
  return std::move(made);
}

}  // namespace collbench
