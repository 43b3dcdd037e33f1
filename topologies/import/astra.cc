#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "core/error.h"
#include "core/suggest.h"
#include "topologies/import/graph.h"
#include "topologies/import/import_topology.h"
#include "topologies/import/xml.h"

namespace collbench {
namespace {

constexpr double astra_gigabyte = 1024.0 * 1024 * 1024;  // ASTRA-sim's GB/s is 2^30 bytes/s

enum class DimensionKind { ring, fully_connected, switched };

// One dimension: how many links leave each host in it, and where its links and switches start.
struct Dimension {
  DimensionKind block = DimensionKind::ring;
  int length = 1;
  int stride = 1;
  int degree = 0;
  LinkId first_link = 0;
  Vertex first_switch = 0;
};

int degree_of(DimensionKind block, int length) {
  if (length == 1) return 0;
  if (block == DimensionKind::fully_connected) return length - 1;
  return block == DimensionKind::ring && length == 2 ? 1 : 2;
}

// Hosts numbered with the first dimension innermost. Links of dimension d: those of host 0, then of
// host 1 ...; a ring's are up and down, a full connection's lead to the hosts after it in cyclic
// order, a switch's are to and from it.
class Product {
 public:
  explicit Product(std::vector<Dimension> dimensions) : dimensions_(std::move(dimensions)) {
    for (const Dimension& d : dimensions_) hosts_ *= d.length;
    vertices_ = hosts_;
    std::int64_t links = 0;
    for (Dimension& d : dimensions_) {
      d.first_link = static_cast<LinkId>(links);
      links += static_cast<std::int64_t>(hosts_) * d.degree;
      require_links("ASTRA-sim network", links);
      d.first_switch = vertices_;
      if (d.block == DimensionKind::switched && d.degree > 0) vertices_ += hosts_ / d.length;
    }
  }

  int hosts() const { return hosts_; }
  int vertices() const { return vertices_; }

  std::vector<Link> links() const {
    std::vector<Link> made;
    for (std::size_t i = 0; i < dimensions_.size(); ++i) {
      const Dimension& d = dimensions_[i];
      for (Host host = 0; host < hosts_; ++host) {
        for (int k = 0; k < d.degree; ++k) {
          made.push_back(link(d, host, k, static_cast<std::int32_t>(i)));
        }
      }
    }
    return made;
  }

  void route(Host from, Host to, std::vector<LinkId>& out) const {
    for (const Dimension& d : dimensions_) {
      const int goal = coordinate(d, to);
      if (d.block == DimensionKind::switched && goal != coordinate(d, from)) {
        const Host next = moved(d, from, goal);
        out.push_back(d.first_link + from * 2);
        out.push_back(d.first_link + next * 2 + 1);
        from = next;
      }
      while (coordinate(d, from) != goal) {
        const int k = choose(d, coordinate(d, from), goal);
        out.push_back(d.first_link + from * d.degree + k);
        from = neighbour(d, from, k);
      }
    }
  }

 private:
  static int coordinate(const Dimension& d, Host host) { return host / d.stride % d.length; }
  static Host moved(const Dimension& d, Host host, int goal) {
    return host + (goal - coordinate(d, host)) * d.stride;
  }
  static Host neighbour(const Dimension& d, Host host, int k) {
    const int step = d.block == DimensionKind::ring && k == 1 ? d.length - 1 : k + 1;
    return moved(
        d, host,
        (coordinate(d, host) + (d.block == DimensionKind::ring && k == 0 ? 1 : step)) % d.length);
  }
  // The link to take: the shorter way round a ring, up when both are as long.
  static int choose(const Dimension& d, int from, int goal) {
    const int ahead = (goal - from + d.length) % d.length;
    if (d.block == DimensionKind::fully_connected) return ahead - 1;
    return d.degree == 1 || ahead <= d.length - ahead ? 0 : 1;
  }

  Link link(const Dimension& d, Host host, int k, std::int32_t link_class) const {
    if (d.block != DimensionKind::switched) return {host, neighbour(d, host, k), link_class, 1};
    const int below = host % d.stride + host / (d.stride * d.length) * d.stride;
    const Vertex hub = d.first_switch + below;
    return k == 0 ? Link{host, hub, link_class, 1} : Link{hub, host, link_class, 1};
  }

  std::vector<Dimension> dimensions_;
  int hosts_ = 1;
  int vertices_ = 1;
};

class AstraReader {
 public:
  AstraReader(std::string_view text, std::string file) : file_(std::move(file)) {
    try {
      read(YAML::Load(std::string(text)));
    } catch (const YAML::Exception& e) {
      refuse(e.mark, e.msg);
    }
  }

  Machine machine() {
    Product product = make_product();
    const int hosts = product.hosts();
    const Layout layout{Layout::Kind::grid, counts_, wraps()};
    std::vector<Link> links = product.links();
    const int vertices = product.vertices();
    const auto route = [product = std::move(product)](Host from, Host to,
                                                      std::vector<LinkId>& out) {
      product.route(from, to, out);
    };
    Topology topology(machine_name(file_), hosts, vertices, layout, classes_, std::move(links),
                      route);
    return {std::move(topology), Costs{},
            fmt::format("{} NPUs in {} dimensions, from an ASTRA-sim network file", hosts,
                        counts_.size()),
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
    double value = 0;
    if (!node.IsScalar() || !read_number(node.Scalar(), value)) {
      refuse(node.Mark(), fmt::format("an entry of '{}' is no number", key));
    }
    return value;
  }

  DimensionKind block(const YAML::Node& node) const {
    const std::vector<std::string> names = {"Ring", "FullyConnected", "Switch"};
    const std::string name = node.IsScalar() ? node.Scalar() : "";
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      refuse(node.Mark(), fmt::format("unknown topology '{}'.{} Known are {}", name,
                                      did_you_mean(name, names), fmt::join(names, ", ")));
    }
    return static_cast<DimensionKind>(found - names.begin());
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
      blocks_.push_back(block(blocks[i]));
      counts_.push_back(static_cast<int>(count));
      add_class(blocks[i].Scalar(), rates[i], latencies[i]);
    }
  }

  void add_class(const std::string& name, const YAML::Node& rate, const YAML::Node& latency) {
    LinkClass made;
    made.name = fmt::format("{} {}", name, classes_.size());
    made.nominal = {number(rate, "bandwidth") * astra_gigabyte};
    made.latency = Seconds{number(latency, "latency") * 1e-9};
    made.level = classes_.empty() ? 0 : 1;
    made.source = "bandwidth and latency in the file";
    if (!(made.nominal.bytes_per_second > 0)) refuse(rate.Mark(), "bandwidth must be above 0");
    if (made.latency.count() < 0) refuse(latency.Mark(), "latency must not be negative");
    classes_.push_back(std::move(made));
  }

  Product make_product() const {
    std::vector<Dimension> dimensions;
    int stride = 1;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      dimensions.push_back(
          {blocks_[i], counts_[i], stride, degree_of(blocks_[i], counts_[i]), 0, 0});
      stride *= counts_[i];
    }
    try {
      return Product(std::move(dimensions));
    } catch (const InvalidArgument& e) {
      throw InvalidArgument(fmt::format("{}: {}", file_, e.what()));
    }
  }

  std::vector<bool> wraps() const {
    std::vector<bool> made;
    for (const DimensionKind b : blocks_) made.push_back(b == DimensionKind::ring);
    return made;
  }

  std::string file_;
  std::vector<DimensionKind> blocks_;
  std::vector<int> counts_;
  std::vector<LinkClass> classes_;
};

}  // namespace

Machine from_astra_yaml(std::string_view text, const std::string& file) {
  return AstraReader(text, file).machine();
}

}  // namespace collbench
