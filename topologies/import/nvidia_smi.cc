#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "topologies/import/graph.h"
#include "topologies/import/import_topology.h"
#include "topologies/import/rates.h"
#include "topologies/import/xml.h"

namespace collbench {
namespace {

// How far two devices are from each other on PCI, ascending; NV# entries hide it.
enum Distance : int { unknown = 0, one_switch = 1, switches = 2, one_cpu = 4, system = 5 };
constexpr int most_nvlinks =
    18;  // NVLinks of one GPU: 4 on Pascal, 6, 12, 18 on Hopper and Blackwell
constexpr int most_devices = 1'024;

LinkClass assumed_nvlink() {
  LinkClass link = nvlink_class(70);
  link.name = "nvlink";
  link.source = "assumed: NVLink 2, since the matrix names no generation; " + link.source;
  return link;
}

struct Relation {
  Distance distance = unknown;
  int nvlinks = 0;
};

struct ConnectionTable {
  std::vector<std::string> devices;
  std::vector<std::string> affinity;  // CPU list as written, empty if unknown
  std::vector<std::vector<Relation>> relation;
};

bool is_gpu(const std::string& device) { return device.starts_with("GPU"); }

// Words of a line, without the escape sequences that underline the header on terminals.
std::vector<std::string> words_of(const std::string& line) {
  const std::string plain = without_terminal_codes(line);
  const std::vector<std::string_view> words = split_at_blanks(plain);
  return {words.begin(), words.end()};
}

class MatrixReader {
 public:
  MatrixReader(std::string_view text, std::string file) : file_(std::move(file)) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      const std::vector<std::string> words = words_of(line);
      if (words.empty()) continue;
      if (words[0] == "Legend:") break;
      if (matrix_.devices.empty()) {
        read_header(words);
      } else {
        read_row(words);
      }
    }
    finish();
  }
  const ConnectionTable& matrix() const { return matrix_; }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw InvalidArgument(fmt::format("{}:{}: {}", file_, line_, what));
  }

  void read_header(const std::vector<std::string>& words) {
    if (words[0] != "GPU0") return;  // a prompt, or the command itself
    for (const std::string& word : words) {
      if (word == "CPU" || word == "NUMA") break;
      if (!index_.emplace(word, index_.size()).second) refuse("column " + word + " appears twice");
      matrix_.devices.push_back(word);
    }
    const std::size_t n = matrix_.devices.size();
    if (n > most_devices) refuse(fmt::format("{} devices; at most {}", n, most_devices));
    matrix_.affinity.resize(n);
    matrix_.relation.resize(n);
  }

  void read_row(const std::vector<std::string>& words) {
    const auto found = index_.find(words[0]);
    if (found == index_.end()) refuse("row '" + words[0] + "' has no column of this name");
    const std::size_t n = matrix_.devices.size();
    std::vector<Relation>& row = matrix_.relation[found->second];
    if (!row.empty()) refuse("row " + words[0] + " appears twice");
    if (words.size() < n + 1) {
      refuse(fmt::format("row {} has {} entries for {} columns", words[0], words.size() - 1, n));
    }
    for (std::size_t i = 0; i < n; ++i) {
      row.push_back(read_entry(words[i + 1], i == found->second));
    }
    if (words.size() > n + 1 && words[n + 1] != "N/A") {
      matrix_.affinity[found->second] = words[n + 1];
    }
  }

  Relation read_entry(const std::string& entry, bool is_itself) const {
    static const std::map<std::string, Distance> distances = {
        {"PIX", one_switch}, {"PXB", switches}, {"PHB", one_cpu},
        {"NODE", one_cpu},   {"SYS", system},   {"SOC", system}};
    if (is_itself != (entry == "X"))
      refuse("'X' belongs where a device meets itself, nowhere else");
    if (is_itself) return {};
    const auto found = distances.find(entry);
    if (found != distances.end()) return {found->second, 0};
    const auto count = small_integer_in(entry.starts_with("NV") ? entry.substr(2) : "", 1, 100);
    if (count) return {unknown, *count};
    refuse(fmt::format("unknown entry '{}'; known are X, NV#, PIX, PXB, PHB, NODE, SYS", entry));
  }

  void finish() const {
    require(!matrix_.devices.empty(),
            fmt::format("{}: no line that starts with GPU0, as nvidia-smi topo -m prints", file_));
    const auto& relation = matrix_.relation;
    for (std::size_t i = 0; i < relation.size(); ++i) {
      require(!relation[i].empty(),
              fmt::format("{}: no row for column {}", file_, matrix_.devices[i]));
      for (std::size_t j = 0; j < i; ++j) {
        require(relation[i][j].distance == relation[j][i].distance &&
                    relation[i][j].nvlinks == relation[j][i].nvlinks,
                fmt::format("{}: {} and {} disagree about how they are connected", file_,
                            matrix_.devices[j], matrix_.devices[i]));
      }
    }
  }

  std::string file_;
  int line_ = 0;
  ConnectionTable matrix_;
  std::map<std::string, std::size_t> index_;
};

// Sets of devices that are joined whenever two of them are at most so far apart. CPUs in common
// tell it only of those whose distance NVLinks hide.
std::vector<int> groups(const ConnectionTable& matrix, Distance at_most) {
  std::vector<int> group(matrix.devices.size());
  std::iota(group.begin(), group.end(), 0);
  for (std::size_t i = 0; i < group.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Distance distance = matrix.relation[i][j].distance;
      const bool same_cpu = at_most >= one_cpu && !matrix.affinity[i].empty() &&
                            matrix.affinity[i] == matrix.affinity[j];
      const bool joins = distance == unknown ? same_cpu : distance <= at_most;
      const int from = group[i];
      if (joins && from != group[j]) std::replace(group.begin(), group.end(), from, group[j]);
    }
  }
  return group;
}

// The PCI tree that the distances describe, and the NVLinks.
class MatrixGraph {
 public:
  MatrixGraph(const ConnectionTable& matrix, std::string file)
      : matrix_(matrix), file_(std::move(file)) {
    for (const std::string& device : matrix.devices) {
      part_.push_back(is_gpu(device) ? parts_.add_host("gpu " + device.substr(3))
                                     : parts_.add_switch("nic " + device));
    }
    add_pci();
    add_nvlinks();
  }

  Machine machine() const {
    return {parts_.build(machine_name(file_), file_), nccl_costs(has_nvlink_, false),
            fmt::format("{} GPUs of one node, from nvidia-smi topo -m{}", parts_.hosts(),
                        has_nvlink_ ? "; NVLinks taken for 25 GB/s each" : ""),
            fmt::format("nvidia-smi topo -m, {}", file_)};
  }

 private:
  // The part that stands for group `id`, made when first asked for, below `parent`.
  int junction(std::map<int, int>& known, int id, const std::string& name, int parent) {
    const auto [found, is_new] = known.emplace(id, 0);
    if (!is_new) return found->second;
    found->second = parts_.add_switch(fmt::format("{} {}", name, known.size() - 1));
    if (parent >= 0) parts_.add_cable(found->second, parent, pcie_class(0, 0));
    return found->second;
  }

  bool shares(const std::vector<int>& group, std::size_t device) const {
    return std::count(group.begin(), group.end(), group[device]) > 1;
  }

  bool is_placed(std::size_t device) const {
    const auto& row = matrix_.relation[device];
    return !matrix_.affinity[device].empty() ||
           std::any_of(row.begin(), row.end(), [](const Relation& r) { return r.distance != 0; });
  }

  void add_pci() {
    const std::vector<int> cpu = groups(matrix_, one_cpu);
    const std::vector<int> upper = groups(matrix_, switches);
    const std::vector<int> lower = groups(matrix_, one_switch);
    std::map<int, int> cpus;
    std::map<int, int> uppers;
    std::map<int, int> lowers;
    for (std::size_t i = 0; i < part_.size(); ++i) {
      if (!is_placed(i)) continue;
      int parent = junction(cpus, cpu[i], "cpu", -1);
      const bool is_nested = std::count(upper.begin(), upper.end(), upper[i]) !=
                             std::count(lower.begin(), lower.end(), lower[i]);
      if (is_nested) parent = junction(uppers, upper[i], "pci bridge", parent);
      if (shares(lower, i)) parent = junction(lowers, lower[i], "pci switch", parent);
      parts_.add_cable(part_[i], parent, pcie_class(0, 0));
    }
    std::vector<int> all;
    for (const auto& [group, part] : cpus) all.push_back(part);
    parts_.add_mesh(all, cpu_class("", "", 0, 0));
  }

  void add_nvlinks() {
    int most = 0;
    for (const auto& row : matrix_.relation) {
      most = std::max(most, std::accumulate(row.begin(), row.end(), 0,
                                            [](int sum, Relation r) { return sum + r.nvlinks; }));
    }
    has_nvlink_ = most > 0;
    if (most > most_nvlinks) return add_nvswitch();
    for (std::size_t i = 0; i < part_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const int count = matrix_.relation[i][j].nvlinks;
        if (count > 0) parts_.add_cable(part_[j], part_[i], assumed_nvlink(), count);
      }
    }
  }

  // Behind a switch two GPUs have as many NVLinks in common as the one with fewer has.
  void add_nvswitch() {
    const int hub = parts_.add_switch("nvswitch");
    std::vector<int> lanes;
    for (const auto& row : matrix_.relation) {
      lanes.push_back(std::ranges::max(row, {}, &Relation::nvlinks).nvlinks);
    }
    for (std::size_t i = 0; i < part_.size(); ++i) {
      if (!is_gpu(matrix_.devices[i])) continue;
      for (std::size_t j = 0; j < i; ++j) {
        require(!is_gpu(matrix_.devices[j]) ||
                    matrix_.relation[i][j].nvlinks == std::min(lanes[i], lanes[j]),
                fmt::format("{}: the NV counts exceed the {} links a GPU has, and are not those "
                            "of a switch: how {} and {} are wired is not in the matrix",
                            file_, most_nvlinks, matrix_.devices[j], matrix_.devices[i]));
      }
      if (lanes[i] > 0) parts_.add_cable(part_[i], hub, assumed_nvlink(), lanes[i]);
    }
  }

  const ConnectionTable& matrix_;
  std::string file_;
  GraphParts parts_;
  std::vector<int> part_;
  bool has_nvlink_ = false;
};

}  // namespace

Machine from_nvidia_smi(std::string_view text, const std::string& file) {
  const MatrixReader reader(text, file);
  return MatrixGraph(reader.matrix(), file).machine();
}

}  // namespace collbench
