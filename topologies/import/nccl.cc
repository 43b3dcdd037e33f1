#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/parse.h"
#include "topologies/import/graph.h"
#include "topologies/import/import_topology.h"
#include "topologies/import/rates.h"
#include "topologies/import/xml.h"

namespace collbench {
namespace {

constexpr const char* nvswitch_class = "0x068000";

// "32.0 GT/s PCIe", "16 GT/s" or "": gigatransfers per second, 0 if unknown.
double transfers(const XmlElement& pci) {
  const std::string speed = pci.text("link_speed");
  return std::max(number_in(speed.substr(0, speed.find(' '))).value_or(0), 0.0);
}

bool holds_gpu_element(const XmlElement& element) {
  if (element.name == "gpu") return true;
  for (const XmlElement& child : element.children) {
    if (holds_gpu_element(child)) return true;
  }
  return false;
}

// One pass over the tree makes the parts, a second one the NVLinks or, of AMD's GPUs, the xGMI
// links, which name GPUs by bus id.
class NcclReader {
 public:
  explicit NcclReader(const XmlElement& system) : lists_gpus_(holds_gpu_element(system)) {
    for (const XmlElement& cpu : system.children) {
      if (cpu.name == "cpu") read_cpu(cpu);
    }
    parts_.add_mesh(cpus_, inter_cpu_.value_or(cpu_class("", "", 0, 0)));
    for (const PendingGpu& gpu : gpus_) connect(gpu);
  }

  Machine machine(const std::string& file) const {
    std::string summary = fmt::format("{} GPUs of one node, from an {} topology file",
                                      parts_.hosts(), has_xgmi_ ? "RCCL" : "NCCL");
    if (has_xgmi_) summary += "; costs beside the links as NCCL's";
    if (lost_ > 0) {
      summary += fmt::format("; {} {} lead to GPUs outside the file", lost_,
                             has_xgmi_ ? "xGMI links" : "NVLinks");
    }
    if (!unread_.empty()) {
      summary += fmt::format("; of the GPUs not read: <{}>", fmt::join(unread_, ">, <"));
    }
    return {parts_.build(machine_name(file), file), nccl_costs(has_nvlink_, has_amd_cpus_), summary,
            fmt::format("NCCL topology file {}", file)};
  }

 private:
  struct PendingGpu {
    const XmlElement* gpu;
    std::string bus_id;
    int part;
    int cpu;
  };

  void read_cpu(const XmlElement& cpu) {
    const int part = parts_.add_switch(fmt::format("cpu {}", cpu.text("numaid", "0")));
    cpus_.push_back(part);
    has_amd_cpus_ = has_amd_cpus_ && cpu.text("vendor") == "AuthenticAMD";
    const LinkClass link =
        cpu_class(cpu.text("arch"), cpu.text("vendor"), cpu.integer("familyid", 0, -1, 1 << 20),
                  cpu.integer("modelid", 0, -1, 1 << 20));
    // Two kinds of CPU in one node: the slower decides.
    if (!inter_cpu_ || link.nominal < inter_cpu_->nominal) inter_cpu_ = link;
    for (const XmlElement& child : cpu.children) read_device(child, part, part);
  }

  void read_device(const XmlElement& element, int parent, int cpu) {
    if (element.name == "pci") read_pci(element, parent, cpu);
    if (element.name == "nic") read_ports(element, parent);
  }

  void read_pci(const XmlElement& pci, int parent, int cpu) {
    const std::string& bus_id = pci.need("busid");
    const LinkClass link = pcie_class(transfers(pci), pci.integer("link_width", 0, 0, 32));
    const std::string kind = pci.text("class").substr(0, 4);
    const XmlElement* gpu = nullptr;
    const XmlElement* nic = nullptr;
    for (const XmlElement& child : pci.children) {
      if (child.name == "gpu") gpu = &child;
      if (child.name == "nic") nic = &child;
    }
    if (gpu != nullptr || (kind == "0x03" && !lists_gpus_)) {
      parts_.add_cable(add_gpu(gpu == nullptr ? pci : *gpu, bus_id, cpu), parent, link);
    } else if (nic != nullptr || kind == "0x02") {
      const int adapter = parts_.add_switch(fmt::format("nic {}", bus_id));
      parts_.add_cable(adapter, parent, link);
      if (nic != nullptr) read_ports(*nic, adapter);
    } else if (!pci.children.empty()) {
      const int bridge = parts_.add_switch(fmt::format("pci {}", bus_id));
      parts_.add_cable(bridge, parent, link);
      for (const XmlElement& child : pci.children) read_device(child, bridge, cpu);
    }
  }

  int add_gpu(const XmlElement& gpu, const std::string& bus_id, int cpu) {
    const int device = gpu.integer("dev", parts_.hosts(), -1, 1 << 20);
    const int part =
        parts_.add_host(fmt::format("gpu {}", device), gpu.integer("rank", device, -1, 1 << 24));
    if (!by_bus_id_.emplace(bus_id, part).second) {
      gpu.refuse(fmt::format("a second GPU at bus id {}", bus_id));
    }
    gpus_.push_back({&gpu, bus_id, part, cpu});
    return part;
  }

  void read_ports(const XmlElement& nic, int parent) {
    for (const XmlElement& net : nic.children) {
      if (net.name != "net") continue;
      const double latency_us = net.number("latency", 0);
      if (latency_us < 0 || latency_us > 1e6) net.refuse("latency must be from 0 to 1e6 us");
      const int port = parts_.add_switch(fmt::format("port {}", net.text("name", "?")));
      parts_.add_cable(parent, port,
                       port_class(net.number("speed", 0), Seconds{latency_us * 1e-6}));
    }
  }

  void connect(const PendingGpu& gpu) {
    // Of each part that links lead to, how many do: a file may have several rows for it.
    std::vector<std::pair<int, int>> lanes;
    for (const XmlElement& link : gpu.gpu->children) {
      if (link.name == "nvlink" || link.name == "xgmi") {
        add_lanes(lanes, end_of(link, gpu), link.integer("count", 1, 1, 1'000));
        has_xgmi_ = has_xgmi_ || link.name == "xgmi";
      } else if (link.name == "c2c") {
        connect_to_cpu(gpu, link);
      } else if (gpu.gpu->name == "gpu") {
        unread_.insert(link.name);
      }
    }
    const int sm = gpu.gpu->integer("sm", 70, 0, 10'000);
    const LinkClass link = has_xgmi_ ? xgmi_class(gpu.gpu->text("gcn")) : nvlink_class(sm);
    for (const auto& [part, count] : lanes) {
      const bool is_new = joined_.emplace(std::minmax(gpu.part, part)).second;
      if (is_new) parts_.add_cable(gpu.part, part, link, count);
      has_nvlink_ = has_nvlink_ || part != gpu.cpu;
    }
  }

  void add_lanes(std::vector<std::pair<int, int>>& lanes, int part, int count) {
    const auto known = std::ranges::find(lanes, part, &std::pair<int, int>::first);
    if (part < 0) {
      lost_ += count;
    } else if (known == lanes.end()) {
      lanes.emplace_back(part, count);
    } else {
      known->second += count;
    }
  }

  // The part that a GPU's link leads to, -1 if it is not in the file.
  int end_of(const XmlElement& link, const PendingGpu& gpu) {
    const std::string kind = link.text("tclass");
    if (kind == nvswitch_class) {
      if (nvswitch_ < 0) nvswitch_ = parts_.add_switch("nvswitch");
      return nvswitch_;
    }
    if (kind.starts_with("0x0680")) return gpu.cpu;
    const auto other = by_bus_id_.find(link.need("target"));
    const bool is_there = other != by_bus_id_.end() && other->second != gpu.part;
    return is_there ? other->second : -1;
  }

  // `bw` is in MB/s per link.
  void connect_to_cpu(const PendingGpu& gpu, const XmlElement& c2c) {
    LinkClass link;
    link.name = "c2c";
    link.nominal = {c2c.number("bw", 0) * 1e6};
    link.source = "bw in the file";
    if (!(link.nominal.bytes_per_second > 0)) c2c.refuse("bw must be above 0");
    parts_.add_cable(gpu.part, gpu.cpu, link, c2c.integer("count", 1, 1, 1'000));
  }

  bool lists_gpus_;
  GraphParts parts_;
  std::vector<int> cpus_;
  std::optional<LinkClass> inter_cpu_;
  std::vector<PendingGpu> gpus_;
  std::map<std::string, int> by_bus_id_;
  std::set<std::pair<int, int>> joined_;  // parts, by NVLink or xGMI
  std::set<std::string> unread_;          // elements
  bool has_amd_cpus_ = true;
  bool has_nvlink_ = false;  // between GPUs; xGMI is as good
  bool has_xgmi_ = false;
  int nvswitch_ = -1;
  int lost_ = 0;
};

}  // namespace

Machine from_nccl_xml(std::string_view text, const std::string& file) {
  const XmlElement system = parse_xml(text, file);
  if (system.name != "system") system.refuse("an NCCL topology file starts with <system>");
  return NcclReader(system).machine(file);
}

}  // namespace collbench
