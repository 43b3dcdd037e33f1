#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "topologies/import/graph.h"
#include "topologies/import/import_topology.h"
#include "topologies/import/rates.h"
#include "topologies/import/xml.h"

namespace collbench {
namespace {

bool is_object(const XmlElement& element, std::string_view type) {
  return element.name == "object" && element.text("type") == type;
}

// "0302 [10de:20b0] ...": class and vendor, empty where the attribute has another form.
struct PciKind {
  std::string device_class;
  std::string vendor;
};
PciKind pci_kind(const XmlElement& device) {
  const std::string text = device.text("pci_type");
  if (text.size() < 10) return {text.substr(0, 4), ""};
  return {text.substr(0, 4), text.substr(6, 4)};
}

// A display controller of a graphics vendor, not that of a board's service processor.
bool is_gpu(const XmlElement& element) {
  if (!is_object(element, "PCIDev")) return false;
  const auto [device_class, vendor] = pci_kind(element);
  if (device_class == "0302" || device_class == "1200" || device_class == "0380") return true;
  return device_class == "0300" && (vendor == "10de" || vendor == "1002");
}

bool is_adapter(const XmlElement& element) {
  return is_object(element, "PCIDev") && pci_kind(element).device_class.starts_with("02");
}

template <class Predicate>
int count_objects(const XmlElement& element, const Predicate& predicate) {
  int found = predicate(element) ? 1 : 0;
  for (const XmlElement& child : element.children) found += count_objects(child, predicate);
  return found;
}

LinkClass assumed(const std::string& name, double GBps) {
  return {.name = name,
          .nominal = {GBps * 1e9},
          .source = fmt::format("assumed: {} GB/s, since hwloc states no rate", GBps)};
}

// Walks the tree from the machine inwards. `place` is the part that a child hangs on.
class HwlocReader {
 public:
  explicit HwlocReader(const XmlElement& root) {
    const auto is_core = [](const XmlElement& e) { return is_object(e, "Core"); };
    has_gpus_ = count_objects(root, is_gpu) > 0;
    host_type_ = has_gpus_ ? "" : (count_objects(root, is_core) > 0 ? "Core" : "PU");
    for (const XmlElement& child : root.children) walk(child, {});
    std::erase(numa_parts_, -1);
    parts_.add_mesh(numa_parts_, cpu_class("", "", 0, 0));
  }

  Machine machine(const std::string& file) const {
    const char* hosts = has_gpus_ ? "GPUs" : (host_type_ == "Core" ? "cores" : "threads");
    return {parts_.build(machine_name(file), file), Costs{},
            fmt::format("{} {} of one node, from an hwloc file", parts_.hosts(), hosts),
            fmt::format("hwloc file {}", file)};
  }

 private:
  // Where a walk stands: the number of the nearest NUMA node, 0 outside of all; the part of the
  // nearest cache and bridge, -1 where none is.
  struct Place {
    std::size_t numa = 0;
    int cache = -1;
    int bridge = -1;
    double GBps = 0;  // of the PCI link above, 0 if not stated
  };

  void walk(const XmlElement& element, Place place) {
    const std::string type = element.text("type");
    if (element.name != "object" || type == "MemCache") return;
    if (begins_numa(element)) {
      place = {numa_parts_.size(), -1, -1, 0};
      numa_parts_.push_back(-1);
    } else if (type == "L3Cache" || (type == "Cache" && element.text("depth") == "3")) {
      if (!has_gpus_) place.cache = add_cache(place, element);
    } else if (type == "Bridge") {
      place = below_bridge(element, place);
    } else if (type == "PCIDev") {
      return add_device(element, place);
    } else if (type == host_type_) {
      return add_core(place);
    }
    for (const XmlElement& child : element.children) walk(child, place);
  }

  // Since hwloc 2 a NUMA node is a leaf beside the objects whose memory it is, or below a cache of
  // that memory; before, their parent. What is no object, such as its sizes of pages, is in both.
  static bool begins_numa(const XmlElement& element) {
    if (element.text("type") == "NUMANode") return !is_leaf(element);
    return std::ranges::any_of(element.children, [](const XmlElement& child) {
      return is_object(child, "MemCache") || (is_object(child, "NUMANode") && is_leaf(child));
    });
  }

  static bool is_leaf(const XmlElement& element) {
    return std::ranges::none_of(element.children,
                                [](const XmlElement& child) { return child.name == "object"; });
  }

  // The part of a NUMA node, made when something first hangs on it.
  int numa_of(const Place& place) {
    int& part = numa_parts_[place.numa];
    if (part < 0) {
      part =
          parts_.add_switch(place.numa == 0 ? "machine" : fmt::format("numa {}", place.numa - 1));
    }
    return part;
  }

  int add_cache(const Place& place, const XmlElement& cache) {
    const int cores =
        count_objects(cache, [&](const XmlElement& e) { return is_object(e, host_type_); });
    const int numa = numa_of(place);
    const int part = parts_.add_switch(fmt::format("L3 {}", caches_++));
    parts_.add_cable(part, numa, assumed("core", 10), std::max(cores, 1));
    return part;
  }

  void add_core(const Place& place) {
    const std::string name =
        fmt::format("{} {}", host_type_ == "Core" ? "core" : "thread", parts_.hosts());
    const int above = place.cache >= 0 ? place.cache : numa_of(place);
    parts_.add_cable(parts_.add_host(name), above, assumed("core", 10));
  }

  Place below_bridge(const XmlElement& bridge, Place place) {
    const bool is_host_bridge = bridge.text("bridge_type", "0-1").starts_with("0");
    if (is_host_bridge) return place;
    const auto used = [](const XmlElement& e) { return is_gpu(e) || is_adapter(e); };
    place.GBps = link_GBps(bridge, place);
    if (count_objects(bridge, used) < 2) return place;
    const int part = parts_.add_switch(fmt::format("pci {}", bridge.text("pci_busid", "?")));
    connect_pci(part, bridge, place);
    place.bridge = part;
    return place;
  }

  static double link_GBps(const XmlElement& device, const Place& place) {
    const double stated = device.number("pci_link_speed", 0);
    if (stated < 0 || stated > 1e5) device.refuse("pci_link_speed must be from 0 to 1e5 GB/s");
    return stated > 0 ? stated : place.GBps;
  }

  void connect_pci(int part, const XmlElement& device, const Place& place) {
    LinkClass link = pcie_class(0, 0);
    const double GBps = link_GBps(device, place);
    if (GBps > 0) {
      link.name = fmt::format("pcie {:.4g} GB/s", GBps);
      link.nominal = {GBps * 1e9};
      link.source = "nominal: pci_link_speed in the file; efficiency: as NCCL counts on for Gen3";
    }
    parts_.add_cable(part, place.bridge >= 0 ? place.bridge : numa_of(place), link);
  }

  void add_device(const XmlElement& device, const Place& place) {
    if (is_gpu(device) && has_gpus_) {
      connect_pci(parts_.add_host(fmt::format("gpu {}", parts_.hosts())), device, place);
    } else if (is_adapter(device)) {
      connect_pci(parts_.add_switch("nic " + adapter_name(device)), device, place);
    }
  }

  static std::string adapter_name(const XmlElement& device) {
    for (const XmlElement& child : device.children) {
      if (is_object(child, "OSDev") && child.find("name") != nullptr) return child.text("name");
    }
    return device.text("pci_busid", "?");
  }

  GraphParts parts_;
  bool has_gpus_ = false;
  std::string host_type_;
  std::vector<int> numa_parts_{-1};  // by the number of a NUMA node
  int caches_ = 0;
};

}  // namespace

Machine from_hwloc_xml(std::string_view text, const std::string& file) {
  const XmlElement root = parse_xml(text, file);
  if (root.name != "topology") root.refuse("an hwloc file starts with <topology>");
  return HwlocReader(root).machine(file);
}

}  // namespace collbench
