#include "topologies/local_machine.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/error.h"
#include "core/input_file.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

constexpr int most_processors = 1 << 16;

// "0-3,8"; nothing if it has another form.
std::vector<int> read_list(const std::string& text) {
  try {
    return parse_ranges("the kernel's list", text, most_processors - 1);
  } catch (const InvalidArgument&) {
    return {};
  }
}

int first_of(const std::string& path, int otherwise) {
  const std::vector<int> numbers = read_list(first_line(path));
  return numbers.empty() ? otherwise : numbers.front();
}

void read_cpuinfo(const std::string& path, LocalMachine& local) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line) && !line.empty();) {  // the first processor's
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (key == "vendor_id") local.vendor = value;
    if (key == "cpu family") local.family = small_integer_in(value).value_or(0);
    if (key == "model") local.model = small_integer_in(value).value_or(0);
    if (key == "model name") local.cpu = value;
  }
}

// The node of every processor.
std::map<int, int> read_nodes(const std::string& folder, LocalMachine& local) {
  std::map<int, int> node_of;
  for (const int node : read_list(first_line(folder + "/online"))) {
    local.nodes.push_back(node);
    for (const int cpu : read_list(first_line(fmt::format("{}/node{}/cpulist", folder, node)))) {
      node_of[cpu] = node;
    }
  }
  if (local.nodes.empty()) local.nodes.push_back(0);
  return node_of;
}

// The first processor of those that share the last-level cache with `cpu`; -1 if the kernel does
// not report it.
int cache_of(const std::string& folder) {
  int level = 0;
  int first = -1;
  for (int index = 0; index < 8; ++index) {
    const std::string cache = fmt::format("{}/cache/index{}", folder, index);
    const int found = first_of(cache + "/level", 0);
    if (found <= level || found < 3) continue;
    level = found;
    first = first_of(cache + "/shared_cpu_list", -1);
  }
  return first;
}

void read_cores(const std::string& folder, const std::map<int, int>& node_of, LocalMachine& local) {
  std::map<std::pair<int, int>, std::size_t> known;  // package and core to place
  for (const int cpu : read_list(first_line(folder + "/online"))) {
    const std::string own = fmt::format("{}/cpu{}", folder, cpu);
    const int package = first_of(own + "/topology/physical_package_id", 0);
    const int core = first_of(own + "/topology/core_id", cpu);
    const auto [found, is_new] = known.try_emplace({package, core}, local.cores.size());
    if (is_new) {
      const auto node = node_of.find(cpu);
      local.cores.push_back(
          {{}, node == node_of.end() ? local.nodes.front() : node->second, cache_of(own)});
    }
    local.cores[found->second].processors.push_back(cpu);
  }
}

// The form that hwloc writes, of what the importer reads.
std::string to_hwloc_xml(const LocalMachine& local) {
  std::string text = "<topology version=\"2.0\"><object type=\"Machine\">";
  for (const int node : local.nodes) {
    std::set<int> caches;
    for (const LocalCore& core : local.cores) {
      if (core.node == node) caches.insert(core.cache);
    }
    if (caches.empty()) continue;
    text += "<object type=\"Package\"><object type=\"NUMANode\"/>";
    for (const int cache : caches) {
      if (cache >= 0) text += "<object type=\"L3Cache\">";
      for (const LocalCore& core : local.cores) {
        if (core.node == node && core.cache == cache) text += "<object type=\"Core\"/>";
      }
      if (cache >= 0) text += "</object>";
    }
    text += "</object>";
  }
  return text + "</object></topology>";
}

std::string link_speed(int generation) {
  static constexpr double transfers[] = {0, 2.5, 5, 8, 16, 32, 64};
  const bool known = generation > 0 && generation < static_cast<int>(std::size(transfers));
  return known ? fmt::format("{} GT/s PCIe", transfers[generation]) : "";
}

std::string gpu_element(const LocalMachine& local, std::size_t index) {
  const LocalGpu& gpu = local.gpus[index];
  std::string text = fmt::format(
      "<pci busid=\"{}\" class=\"0x030200\" link_speed=\"{}\" link_width=\"{}\">"
      "<gpu dev=\"{}\" sm=\"{}\" rank=\"{}\">",
      gpu.bus_id, link_speed(gpu.pcie_generation), gpu.pcie_lanes, index, gpu.sm, index);
  if (gpu.switch_links > 0) {
    text += fmt::format("<nvlink target=\"nvswitch\" count=\"{}\" tclass=\"0x068000\"/>",
                        gpu.switch_links);
  }
  for (const auto& [peer, count] : gpu.peer_links) {
    text += fmt::format("<nvlink target=\"{}\" count=\"{}\" tclass=\"0x030200\"/>", peer, count);
  }
  return text + "</gpu></pci>\n";
}

std::string gpus_of_node(const LocalMachine& local, int node) {
  std::string text;
  std::map<int, std::string> below_switches;
  for (std::size_t i = 0; i < local.gpus.size(); ++i) {
    const LocalGpu& gpu = local.gpus[i];
    const bool known =
        std::find(local.nodes.begin(), local.nodes.end(), gpu.node) != local.nodes.end();
    if ((known ? gpu.node : local.nodes.front()) != node) continue;
    (gpu.pcie_switch < 0 ? text : below_switches[gpu.pcie_switch]) += gpu_element(local, i);
  }
  for (const auto& [number, gpus] : below_switches) {
    const std::string speed = link_speed(local.gpus.front().pcie_generation);
    text += fmt::format(
        "<pci busid=\"switch {}\" class=\"0x060400\" link_speed=\"{}\" link_width=\"16\">\n{}"
        "</pci>\n",
        number, speed, gpus);
  }
  return text;
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

LocalMachine read_local_machine(const std::string& root) {
  LocalMachine local;
  local.host = root.empty() ? host_name() : "machine";
  utsname system{};
  uname(&system);
  const std::string machine = system.machine;
  local.arch = machine == "aarch64" ? "arm64" : machine;
  read_cpuinfo(root + "/proc/cpuinfo", local);
  const auto node_of = read_nodes(root + "/sys/devices/system/node", local);
  read_cores(root + "/sys/devices/system/cpu", node_of, local);
  if (local.cores.empty()) {
    throw Unavailable(fmt::format("{}/sys/devices/system/cpu describes no processor", root));
  }
  return local;
}

std::string to_nccl_xml(const LocalMachine& local) {
  std::string text = "<system version=\"1\">\n";
  for (const int node : local.nodes) {
    text += fmt::format(
        "<cpu numaid=\"{}\" arch=\"{}\" vendor=\"{}\" familyid=\"{}\" modelid=\"{}\">\n{}</cpu>\n",
        node, local.arch, local.vendor, local.family, local.model, gpus_of_node(local, node));
  }
  return text + "</system>\n";
}

Machine from_local_machine(const LocalMachine& local) {
  const bool has_gpus = !local.gpus.empty();
  Machine made = has_gpus ? from_nccl_xml(to_nccl_xml(local), local.host)
                          : from_hwloc_xml(to_hwloc_xml(local), local.host);
  made.summary = has_gpus ? fmt::format("{} of {}, {}", counted(std::ssize(local.gpus), "GPU"),
                                        counted(std::ssize(local.nodes), "NUMA node"), local.cpu)
                          : fmt::format("{} of {}, {}", counted(std::ssize(local.cores), "core"),
                                        counted(std::ssize(local.nodes), "NUMA node"), local.cpu);
  made.source = fmt::format("read from this machine: /sys and /proc{}", has_gpus ? ", NVML" : "");
  return made;
}

}  // namespace collbench
