#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/checksum_line.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "topologies/draw/draw.h"
#include "topologies/networks/networks.h"
#include "topologies/toml_table.h"

namespace collbench {
namespace {

constexpr int most_checked = 256;  // hosts whose routes are compared pair by pair

/// The `at`-th of as many hosts as are checked: one of every stretch of equal length, at a place in
/// it that `shift` and no period of the network decides.
Host checked_host(int at, int shift, int hosts) {
  constexpr double golden = 0.6180339887498949;
  const int checked = std::min(hosts, most_checked);
  const std::int64_t begin = static_cast<std::int64_t>(at) * hosts / checked;
  const std::int64_t end = static_cast<std::int64_t>(at + 1) * hosts / checked;
  const double turns = golden * (at + shift);
  return static_cast<Host>(begin + static_cast<std::int64_t>((turns - std::floor(turns)) *
                                                             static_cast<double>(end - begin)));
}

// Units without a prefix, so that the number is the stored one to the last bit.
std::string written(Bandwidth rate) { return fmt::format("\"{} B/s\"", rate.bytes_per_second); }
std::string written(double number) { return fmt::to_string(number); }
std::string written(Seconds time) { return fmt::format("\"{} s\"", time.count()); }

class TomlWriter {
 public:
  explicit TomlWriter(const Machine& machine) : machine_(machine), topology_(machine.topology) {
    for (const LinkClass& c : topology_.classes()) {
      std::string name = c.name;
      for (int i = 2; std::find(names_.begin(), names_.end(), name) != names_.end(); ++i) {
        name = fmt::format("{} {}", c.name, i);
      }
      names_.push_back(name);
    }
  }

  std::string text() {
    toml_ = fmt::format("summary = {}\nsource = {}\n",
                        toml_quoted(machine_.summary.empty() ? topology_.name() : machine_.summary),
                        toml_quoted(source("")));
    for (std::size_t i = 0; i < names_.size(); ++i) write_class(i);
    write_structure();
    write_costs();
    return toml_;
  }

  std::uint32_t checksum() {
    for (std::size_t i = 0; i < names_.size(); ++i) write_class(i);
    add("hosts = {}\n", topology_.hosts());
    write_layout();
    write_costs();
    std::uint32_t sum = crc32c(toml_);
    for (const Link& link : topology_.links()) {
      const std::array<double, 4> values{static_cast<double>(link.from),
                                         static_cast<double>(link.to),
                                         static_cast<double>(link.link_class), link.lanes};
      sum = crc32c(std::as_bytes(std::span(values)), sum);
    }
    constexpr int ends = 16;
    std::vector<LinkId> way;
    for (int i = 0; i < ends * ends; ++i) {
      const auto host = [&](std::int64_t k) {
        return static_cast<Host>(k * topology_.hosts() / ends);
      };
      topology_.route(host(i / ends), host(i % ends), way);
      sum = crc32c(std::as_bytes(std::span(way)), sum);
    }
    return sum;
  }

 private:
  std::string source(const std::string& own) const {
    if (!own.empty()) return own;
    return machine_.source.empty() ? topology_.name() : machine_.source;
  }

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    toml_ += fmt::format(format, std::forward<Values>(values)...);
  }

  void write_class(std::size_t index) {
    const LinkClass& c = topology_.classes()[index];
    add("\n[link.{}]\nbandwidth = {}\nefficiency = {}\nlatency = {}\nlevel = {}\nsource = {}\n",
        toml_quoted(names_[index]), written(c.nominal), c.efficiency, written(c.latency), c.level,
        toml_quoted(source(c.source)));
  }

  void write_structure() {
    const Layout& layout = topology_.layout();
    if (layout.kind == Layout::Kind::grid && topology_.vertices() == topology_.hosts()) {
      const std::vector<LinkClass> classes(topology_.classes().begin(), topology_.classes().end());
      const bool fits = classes.size() == 1 || classes.size() == layout.dims.size();
      if (fits && is(torus(layout.dims, layout.wraps, classes))) return write_torus(layout);
    }
    write_graph();
  }

  /// As many links, and the same way between all hosts: numbers of links may differ.
  bool is(const Topology& other) const {
    if (topology_.links().size() != other.links().size()) return false;
    return !difference_to(other);
  }

  /// The first pair of hosts, of many hosts among some spread over them, with another route there.
  std::optional<std::pair<Host, Host>> difference_to(const Topology& other) const {
    std::vector<LinkId> mine;
    std::vector<LinkId> theirs;
    const int hosts = topology_.hosts();
    const int checked = std::min(hosts, most_checked);
    for (int i = 0; i < checked; ++i) {
      for (int j = 0; j < checked; ++j) {
        const Host from = checked_host(i, 0, hosts);
        const Host to = checked_host(j, i, hosts);
        topology_.route(from, to, mine);
        other.route(from, to, theirs);
        if (!same_way(mine, other, theirs)) return std::pair{from, to};
      }
    }
    return {};
  }

  void write_torus(const Layout& layout) {
    std::vector<std::string> wraps;
    std::vector<std::string> links;
    for (const bool wrap : layout.wraps) wraps.emplace_back(wrap ? "true" : "false");
    for (const std::string& name : names_) links.push_back(toml_quoted(name));
    add("\n[structure]\nkind = \"torus\"\nsource = {}\ndims = [{}]\nwraps = [{}]\nlinks = [{}]\n",
        toml_quoted(source("")), fmt::join(layout.dims, ", "), fmt::join(wraps, ", "),
        fmt::join(links, ", "));
  }

  // Pairs of links as cables, in an order that gives the same links when read.
  std::vector<Cable> cables() const {
    std::map<std::tuple<Vertex, Vertex, std::int32_t, float>, int> open;
    std::vector<Cable> made;
    for (const Link& link : topology_.links()) {
      require(link.from != link.to,
              fmt::format("topology {}: link '{}' has no ends, which a machine file cannot say; "
                          "keep the original, or convert it to simgrid",
                          topology_.name(), topology_.link_name(0)));
      int& back = open[{link.to, link.from, link.link_class, link.lanes}];
      if (back > 0) {
        --back;
        continue;
      }
      ++open[{link.from, link.to, link.link_class, link.lanes}];
      made.push_back({link.from, link.to, link.link_class, link.lanes, false});
    }
    for (auto cable = made.rbegin(); cable != made.rend(); ++cable) {
      int& unpaired = open[{cable->a, cable->b, cable->link_class, cable->lanes}];
      cable->one_way = unpaired > 0;
      unpaired -= cable->one_way ? 1 : 0;
    }
    return made;
  }

  // Each link by itself, in its order, which decides between ways that are as short and as wide.
  std::vector<Cable> one_way_cables() const {
    std::vector<Cable> made;
    for (const Link& link : topology_.links()) {
      made.push_back({link.from, link.to, link.link_class, link.lanes, true});
    }
    return made;
  }

  /// The first pair of hosts with another route where the graph is read from these cables.
  std::optional<std::pair<Host, Host>> difference(const std::vector<Cable>& cables,
                                                  EqualPaths equal_paths) const {
    const std::vector<LinkClass> classes(topology_.classes().begin(), topology_.classes().end());
    const Topology read = graph(topology_.name(), topology_.hosts(), topology_.vertices(),
                                topology_.layout(), classes, cables, {}, equal_paths);
    return difference_to(read);
  }

  std::pair<std::vector<Cable>, EqualPaths> cables_with_these_routes() const {
    std::optional<std::pair<Host, Host>> other;
    for (std::vector<Cable> made : {cables(), one_way_cables()}) {
      for (const EqualPaths equal : {EqualPaths::first, EqualPaths::spread}) {
        const auto here = difference(made, equal);
        if (!here) return {std::move(made), equal};
        if (!other) other = here;
      }
    }
    throw InvalidArgument(fmt::format(
        "topology {}: the route from {} to {} is not one of the shortest, or not of the widest of "
        "them, as a machine file's graph takes; convert it to simgrid",
        topology_.name(), topology_.vertex_name(other->first),
        topology_.vertex_name(other->second)));
  }

  // By the vertices passed and the class and capacity of each link.
  bool same_way(const std::vector<LinkId>& mine, const Topology& read,
                const std::vector<LinkId>& other) const {
    return std::equal(mine.begin(), mine.end(), other.begin(), other.end(),
                      [&](LinkId a, LinkId b) {
                        const Link& x = topology_.links()[a];
                        const Link& y = read.links()[b];
                        return x.from == y.from && x.to == y.to && x.link_class == y.link_class &&
                               topology_.capacity(a) == read.capacity(b);
                      });
  }

  void write_graph() {
    const auto [made, equal_paths] = cables_with_these_routes();
    add("\n[structure]\nkind = \"graph\"\nsource = {}\nhosts = {}\nswitches = {}\n",
        toml_quoted(source("")), topology_.hosts(), topology_.vertices() - topology_.hosts());
    if (equal_paths == EqualPaths::spread) add("equal_paths = \"spread\"\n");
    write_layout();
    add("cables = [\n");
    for (const Cable& cable : made) {
      add("  {{a = {}, b = {}, link = {}", cable.a, cable.b, toml_quoted(names_[cable.link_class]));
      if (cable.lanes != 1) add(", lanes = {}", cable.lanes);
      if (cable.one_way) add(", one_way = true");
      add("}},  # {} - {}\n", one_line(cable.a), one_line(cable.b));
    }
    add("]\n");
  }

  // Of nodes, or of axes, which cables do not tell.
  void write_layout() {
    const Layout& layout = topology_.layout();
    if (layout.kind == Layout::Kind::flat) return;
    const bool is_grid = layout.kind == Layout::Kind::grid;
    add("{} = [{}]\n", is_grid ? "grid" : "levels", fmt::join(layout.dims, ", "));
    std::vector<std::string> wraps;
    for (const bool wrap : layout.wraps) wraps.emplace_back(wrap ? "true" : "false");
    if (is_grid) add("wraps = [{}]\n", fmt::join(wraps, ", "));
    if (is_grid && layout.cores > 1) add("cores = {}\n", layout.cores);
  }

  std::string one_line(Vertex vertex) const {
    std::string name = topology_.vertex_name(vertex);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    return name;
  }

  void write_costs() {
    const Costs& costs = machine_.costs;
    add("\n[costs]\nsource = {}\n", toml_quoted(source("")));
    for (const CostKey& key : cost_keys) {
      const auto write = [&](auto member) {
        const bool is_given = costs.*member != Costs{}.*member;
        if (is_given) add("{} = {}\n", key.name, written(costs.*member));
      };
      std::visit(write, key.member);
    }
    write_gaps(costs.message_gap);
    for (const LatencyStep& step : costs.message_latency) {
      add("\n[[costs.message_latency]]\nfrom = \"{} B\"\nlatency = {}\n", step.from_bytes.count,
          written(step.latency));
    }
    for (const Protocol& protocol : costs.protocols) write_protocol(protocol);
    if (costs.gpus) write_gpus(*costs.gpus);
    if (!costs.in_network) return;
    const InNetwork& in = *costs.in_network;
    add("\n[in_network]\nname = {}\nlatency = {}\nrate = {}\nsource = {}\n", toml_quoted(in.name),
        written(in.latency), written(in.rate), toml_quoted(source(in.source)));
    if (in.max_ranks > 0) add("max_ranks = {}\n", in.max_ranks);
  }

  void write_gpus(const Gpus& gpus) {
    add("\n[gpus]\ngeneration = {}\nstart_factor = {}\nstep_factor = {}\n",
        toml_quoted(gpus.generation.name), gpus.generation.start_factor,
        gpus.generation.step_factor);
    add("network = {}\nhop_ll = {}\nhop_simple = {}\n", toml_quoted(gpus.network.name),
        written(gpus.network.hop_ll), written(gpus.network.hop_simple));
    add("ll_share = {}\nshort_ring_share = {}\n", gpus.network.ll_share,
        gpus.network.short_ring_share);
    add("cpu = {}\nsharp = {}\nsource = {}\n", toml_quoted(gpus.cpu), gpus.sharp,
        toml_quoted(source(gpus.source)));
    if (gpus.per_host > 0) add("per_host = {}\n", gpus.per_host);
  }

  void write_gaps(const std::vector<Seconds>& gaps) {
    std::vector<std::string> texts;
    for (const Seconds gap : gaps) texts.push_back(written(gap));
    if (!texts.empty()) add("message_gap = [{}]\n", fmt::join(texts, ", "));
  }

  // Caps in a file are of the payload, those of a Protocol of the wire.
  void write_protocol(const Protocol& protocol) {
    std::vector<std::string> latencies;
    std::vector<std::string> caps;
    for (const Seconds time : protocol.message_latency) latencies.push_back(written(time));
    for (const Bandwidth cap : protocol.message_cap) {
      const Bandwidth payload{cap.bytes_per_second / protocol.wire_factor};
      caps.push_back(payload > Bandwidth{} ? written(payload) : "\"none\"");
    }
    add("\n[[protocol]]\nname = {}\nwire_factor = {}\n", toml_quoted(protocol.name),
        protocol.wire_factor);
    if (!latencies.empty()) add("message_latency = [{}]\n", fmt::join(latencies, ", "));
    write_gaps(protocol.message_gap);
    if (!caps.empty()) add("message_cap = [{}]\n", fmt::join(caps, ", "));
    add("source = {}\n", toml_quoted(source(protocol.source)));
  }

  const Machine& machine_;
  const Topology& topology_;
  std::vector<std::string> names_;
  std::string toml_;
};

}  // namespace

std::uint32_t checksum_of(const Machine& machine) { return TomlWriter(machine).checksum(); }

std::string to_toml(const Machine& machine) {
  return with_checksum_line(TomlWriter(machine).text());
}

}  // namespace collbench
