#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "core/error.h"
#include "core/parse.h"
#include "core/suggest.h"
#include "topologies/import/graph.h"
#include "topologies/import/import_topology.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

constexpr double astra_gigabyte = 1024.0 * 1024 * 1024;  // ASTRA-sim's GB/s is 2^30 bytes/s

const std::vector<std::string> block_names{"Ring", "FullyConnected", "Switch"};

// The network that joins the hosts of one dimension.
Topology block(const std::string& name, int hosts, LinkClass link) {
  if (hosts == 1 || name == "Ring") return torus({hosts}, {true}, {std::move(link)});
  if (name == "FullyConnected") return fully_connected(hosts, link);
  link.latency *= 2;  // of each of the two links, of which a star's class is the sum
  return star(hosts, link);
}

class AstraReader {
 public:
  AstraReader(std::string_view text, std::string file) : file_(std::move(file)) {
    try {
      read(YAML::Load(std::string(text)));
    } catch (const YAML::Exception& e) {
      refuse(e.mark, e.msg);
    }
  }

  Machine machine() const {
    std::vector<Topology> networks;
    std::vector<bool> wraps;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      networks.push_back(block(blocks_[i], counts_[i], classes_[i]));
      wraps.push_back(blocks_[i] == "Ring");
    }
    const Topology topology =
        product(machine_name(file_), networks, {Layout::Kind::grid, counts_, std::move(wraps)});
    return {topology, Costs{},
            fmt::format("{} NPUs in {} dimensions, from an ASTRA-sim network file",
                        topology.hosts(), counts_.size()),
            fmt::format("ASTRA-sim network file {} (1 GB/s there is 2^30 bytes/s)", file_)};
  }

 private:
  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& what) const {
    throw InvalidArgument(fmt::format("{}:{}: {}", file_, mark.line + 1, what));
  }

  std::vector<YAML::Node> list(const YAML::Node& root, const std::string& key) const {
    const YAML::Node node = root[key];
    if (!node) refuse(root.Mark(), fmt::format("the key '{}' is missing", key));
    if (!node.IsSequence() || node.size() == 0 || node.size() > 16) {
      refuse(node.Mark(), fmt::format("'{}' must be a list like [ 8 ] of 1 to 16 entries", key));
    }
    return {node.begin(), node.end()};
  }

  double number(const YAML::Node& node, const std::string& key) const {
    const auto value = number_in(node.IsScalar() ? node.Scalar() : "");
    if (!value) refuse(node.Mark(), fmt::format("an entry of '{}' is not a number", key));
    return *value;
  }

  std::string block_name(const YAML::Node& node) const {
    const std::string name = node.IsScalar() ? node.Scalar() : "";
    if (std::ranges::count(block_names, name) > 0) return name;
    refuse(node.Mark(), unknown_name("topology", name, block_names));
  }

  void read(const YAML::Node& root) {
    if (!root.IsMap())
      refuse(root.Mark(), "an ASTRA-sim network file has keys, as 'topology: [..]'");
    const auto blocks = list(root, "topology");
    const auto counts = list(root, "npus_count");
    const auto rates = list(root, "bandwidth");
    const auto latencies = list(root, "latency");
    for (const auto* other : {&counts, &rates, &latencies}) {
      if (other->size() == blocks.size()) continue;
      refuse(other->front().Mark(), fmt::format("{} entries for the {} dimensions of 'topology'",
                                                other->size(), blocks.size()));
    }
    std::int64_t hosts = 1;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const double count = number(counts[i], "npus_count");
      if (count < 1 || count > 1e6 || count != std::floor(count) ||
          (hosts *= static_cast<std::int64_t>(count)) > 1'000'000) {
        refuse(counts[i].Mark(), "npus_count must be whole numbers from 1, a million NPUs at most");
      }
      blocks_.push_back(block_name(blocks[i]));
      counts_.push_back(static_cast<int>(count));
      add_class(blocks[i].Scalar(), rates[i], latencies[i]);
    }
  }

  void add_class(const std::string& name, const YAML::Node& rate, const YAML::Node& latency) {
    LinkClass made{.name = fmt::format("{} {}", name, classes_.size()),
                   .nominal = {number(rate, "bandwidth") * astra_gigabyte},
                   .latency = Seconds{number(latency, "latency") * 1e-9},
                   .level = classes_.empty() ? 0 : 1,
                   .source = "bandwidth and latency in the file"};
    if (!(made.nominal.bytes_per_second > 0)) refuse(rate.Mark(), "bandwidth must be above 0");
    if (made.latency.count() < 0) refuse(latency.Mark(), "latency must not be negative");
    classes_.push_back(std::move(made));
  }

  std::string file_;
  std::vector<std::string> blocks_;
  std::vector<int> counts_;
  std::vector<LinkClass> classes_;
};

}  // namespace

Machine from_astra_yaml(std::string_view text, const std::string& file) {
  const AstraReader reader(text, file);
  try {
    return reader.machine();
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(fmt::format("{}: {}", file, e.what()));
  }
}

}  // namespace collbench
