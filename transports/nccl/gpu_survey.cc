#include "transports/nccl/gpu_survey.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/environment_variable.h"
#include "core/error.h"
#include "core/shared_library.h"

namespace collbench {
namespace {

// Values and structures of nvml.h.
constexpr int success = 0;
constexpr int clock_sm = 1;
constexpr int clock_memory = 2;
constexpr unsigned most_links = 18;
constexpr int link_to_gpu = 0;
constexpr int link_to_switch = 2;
constexpr std::size_t cpu_words = 64;  // of 64 processors each
constexpr std::size_t node_words = 16;

using Device = void*;
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Nvml {
  SharedLibrary library{environment_variable("COLLBENCH_NVML_LIBRARY", "libnvidia-ml.so.1")};

  LibraryFunction<int()> init{library, "nvmlInit_v2"};
  LibraryFunction<int()> shutdown{library, "nvmlShutdown"};
  LibraryFunction<const char*(int)> error_string{library, "nvmlErrorString"};
  LibraryFunction<int(char*, unsigned)> driver_version{library, "nvmlSystemGetDriverVersion"};
  LibraryFunction<int(unsigned*)> count{library, "nvmlDeviceGetCount_v2"};
  LibraryFunction<int(unsigned, Device*)> handle{library, "nvmlDeviceGetHandleByIndex_v2"};
  LibraryFunction<int(Device, char*, unsigned)> name{library, "nvmlDeviceGetName"};
  LibraryFunction<int(Device, PciInfo*)> pci_info{library, "nvmlDeviceGetPciInfo_v3"};
  // Older drivers or smaller GPUs lack some of these.
  static constexpr Necessity may_lack = Necessity::optional;
  LibraryFunction<int(Device, NvmlMemory*)> memory{library, "nvmlDeviceGetMemoryInfo", may_lack};
  LibraryFunction<int(Device, int*, int*)> capability{library, "nvmlDeviceGetCudaComputeCapability",
                                                      may_lack};
  LibraryFunction<int(Device, int, unsigned*)> clock{library, "nvmlDeviceGetClockInfo", may_lack};
  LibraryFunction<int(Device, int, unsigned*)> most_clock{library, "nvmlDeviceGetMaxClockInfo",
                                                          may_lack};
  LibraryFunction<int(Device, unsigned*)> power_limit{library, "nvmlDeviceGetEnforcedPowerLimit",
                                                      may_lack};
  LibraryFunction<int(Device, unsigned long long*)> throttle_reasons{
      library, "nvmlDeviceGetCurrentClocksThrottleReasons", may_lack};
  LibraryFunction<int(Device, int*, int*)> ecc_mode{library, "nvmlDeviceGetEccMode", may_lack};
  LibraryFunction<int(Device, unsigned*, unsigned*)> mig_mode{library, "nvmlDeviceGetMigMode",
                                                              may_lack};
  LibraryFunction<int(Device, unsigned*)> pcie_generation{
      library, "nvmlDeviceGetMaxPcieLinkGeneration", may_lack};
  LibraryFunction<int(Device, unsigned*)> pcie_width{library, "nvmlDeviceGetMaxPcieLinkWidth",
                                                     may_lack};
  LibraryFunction<int(Device, unsigned, unsigned long*)> cpu_affinity{
      library, "nvmlDeviceGetCpuAffinity", may_lack};
  LibraryFunction<int(Device, unsigned, unsigned long*, int)> memory_affinity{
      library, "nvmlDeviceGetMemoryAffinity", may_lack};
  LibraryFunction<int(Device, unsigned, int*)> link_state{library, "nvmlDeviceGetNvLinkState",
                                                          may_lack};
  LibraryFunction<int(Device, unsigned, int*)> link_remote_type{
      library, "nvmlDeviceGetNvLinkRemoteDeviceType", may_lack};
  LibraryFunction<int(Device, unsigned, PciInfo*)> link_remote_pci{
      library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", may_lack};
  LibraryFunction<int(Device, Device, int*)> common_ancestor{
      library, "nvmlDeviceGetTopologyCommonAncestor", may_lack};

  Nvml() { check(init(), "nvmlInit"); }
  ~Nvml() { shutdown(); }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  void check(int code, const char* call) const {
    if (code != success) {
      throw Unavailable(fmt::format("NVML: {} failed: {}", call, error_string(code)));
    }
  }
};

// The result of an optional call; nothing if NVML lacks it or it fails.
template <typename Value>
std::optional<Value> ask(const LibraryFunction<int(Device, Value*)>& call, Device device) {
  Value value{};
  if (!call || call(device, &value) != success) return std::nullopt;
  return value;
}
template <typename Value, typename Key>
std::optional<Value> ask(const LibraryFunction<int(Device, Key, Value*)>& call, Device device,
                         Key key) {
  Value value{};
  if (!call || call(device, key, &value) != success) return std::nullopt;
  return value;
}

int whole(std::optional<unsigned> value) { return static_cast<int>(value.value_or(0)); }

// NVML's "00000000:1B:00.0" as the kernel's "0000:1b:00.0".
std::string kernel_bus_id(const PciInfo& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

template <std::size_t n>
std::vector<int> members(const std::array<unsigned long, n>& words) {
  std::vector<int> set;
  for (std::size_t i = 0; i < n * 64; ++i) {
    if ((words[i / 64] >> (i % 64) & 1) != 0) set.push_back(static_cast<int>(i));
  }
  return set;
}

std::string ranges(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (last > i) text += fmt::format("-{}", numbers[last]);
    i = last + 1;
  }
  return text;
}

std::vector<std::string> reasons_of(unsigned long long bits) {
  static constexpr std::pair<unsigned long long, const char*> words[] = {
      {0x02, "application clocks"}, {0x04, "power cap"},          {0x08, "hardware slowdown"},
      {0x10, "sync boost"},         {0x20, "thermal (software)"}, {0x40, "thermal (hardware)"},
      {0x80, "power brake"},        {0x100, "display clocks"}};
  std::vector<std::string> reasons;
  for (const auto& [bit, word] : words) {
    if ((bits & bit) != 0) reasons.emplace_back(word);
  }
  return reasons;
}

void read_links(const Nvml& nvml, Device device, GpuFacts& gpu) {
  for (unsigned link = 0; link < most_links; ++link) {
    if (ask(nvml.link_state, device, link).value_or(0) != 1) continue;
    const auto type = ask(nvml.link_remote_type, device, link);
    const auto remote = ask(nvml.link_remote_pci, device, link);
    if (type == link_to_switch) ++gpu.switch_links;
    if (type == link_to_gpu && remote) ++gpu.peer_links[kernel_bus_id(*remote)];
  }
}

void read_affinity(const Nvml& nvml, Device device, GpuFacts& gpu) {
  std::array<unsigned long, cpu_words> cpus{};
  if (nvml.cpu_affinity && nvml.cpu_affinity(device, cpu_words, cpus.data()) == success) {
    gpu.cpus = ranges(members(cpus));
  }
  std::array<unsigned long, node_words> nodes{};
  if (nvml.memory_affinity &&
      nvml.memory_affinity(device, node_words, nodes.data(), 0) == success) {
    const std::vector<int> close = members(nodes);
    if (!close.empty()) gpu.numa_node = close.front();
  }
}

void read_modes(const Nvml& nvml, Device device, GpuFacts& gpu) {
  int now = 0;
  int later = 0;
  if (nvml.ecc_mode && nvml.ecc_mode(device, &now, &later) == success) gpu.ecc = now;
  unsigned mig = 0;
  unsigned mig_later = 0;
  if (nvml.mig_mode && nvml.mig_mode(device, &mig, &mig_later) == success) {
    gpu.mig = static_cast<int>(mig);
  }
}

GpuFacts read_gpu(const Nvml& nvml, Device device) {
  GpuFacts gpu;
  char name[96] = {};
  nvml.check(nvml.name(device, name, sizeof name), "nvmlDeviceGetName");
  gpu.name = name;
  PciInfo pci{};
  nvml.check(nvml.pci_info(device, &pci), "nvmlDeviceGetPciInfo");
  gpu.bus_id = kernel_bus_id(pci);
  if (const auto memory = ask(nvml.memory, device)) {
    gpu.memory = Bytes{static_cast<std::int64_t>(memory->total)};
  }
  int major = 0;
  int minor = 0;
  if (nvml.capability && nvml.capability(device, &major, &minor) == success) {
    gpu.sm = 10 * major + minor;
  }
  gpu.clock_sm_mhz = whole(ask(nvml.clock, device, clock_sm));
  gpu.clock_memory_mhz = whole(ask(nvml.clock, device, clock_memory));
  gpu.clock_sm_most_mhz = whole(ask(nvml.most_clock, device, clock_sm));
  gpu.power_limit_w = ask(nvml.power_limit, device).value_or(0) / 1000.0;
  gpu.slowed_by = reasons_of(ask(nvml.throttle_reasons, device).value_or(0));
  gpu.pcie_generation = whole(ask(nvml.pcie_generation, device));
  gpu.pcie_lanes = whole(ask(nvml.pcie_width, device));
  read_modes(nvml, device, gpu);
  read_affinity(nvml, device, gpu);
  read_links(nvml, device, gpu);
  return gpu;
}

std::string distance(const Nvml& nvml, Device a, Device b) {
  if (a == b) return "X";
  switch (ask(nvml.common_ancestor, a, b).value_or(-1)) {
    case 0:  // one board
    case 10:
      return "PIX";
    case 20:
      return "PXB";
    case 30:
      return "PHB";
    case 40:
      return "NODE";
    case 50:
      return "SYS";
    default:
      return "?";
  }
}

// As nvidia-smi: NVLinks where there are any, else how far apart on PCI.
std::string relation(const GpuFacts& a, const GpuFacts& b, const std::string& on_pci) {
  const auto direct = a.peer_links.find(b.bus_id);
  const int links = std::min(a.switch_links, b.switch_links) +
                    (direct == a.peer_links.end() ? 0 : direct->second);
  return on_pci != "X" && links > 0 ? fmt::format("NV{}", links) : on_pci;
}

// "A" if all GPUs report it, else "gpu 0: A; gpu 1-7: B". Empty if none reports anything.
template <typename Describe>
std::string listed(const std::vector<GpuFacts>& gpus, Describe describe) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::string text = describe(gpus[i]);
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& group) { return group.first == text; });
    if (found == groups.end()) found = groups.insert(groups.end(), {text, {}});
    found->second.push_back(static_cast<int>(i));
  }
  if (groups.size() == 1) return groups[0].first;
  std::vector<std::string> texts;
  for (const auto& [text, members_of_group] : groups) {
    texts.push_back(
        fmt::format("gpu {}: {}", ranges(members_of_group), text.empty() ? "unknown" : text));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string on_off(int state) { return state < 0 ? "" : state == 0 ? "off" : "on"; }

}  // namespace

GpuSurvey survey_gpus() {
  GpuSurvey survey;
  try {
    const Nvml nvml;
    char version[96] = {};
    nvml.check(nvml.driver_version(version, sizeof version), "nvmlSystemGetDriverVersion");
    survey.driver = version;
    unsigned count = 0;
    nvml.check(nvml.count(&count), "nvmlDeviceGetCount");
    std::vector<Device> devices(count);
    for (unsigned i = 0; i < count; ++i) {
      nvml.check(nvml.handle(i, &devices[i]), "nvmlDeviceGetHandleByIndex");
      survey.gpus.push_back(read_gpu(nvml, devices[i]));
    }
    survey.distances.resize(count);
    survey.relations.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        const std::string on_pci = distance(nvml, devices[i], devices[j]);
        survey.distances[i].push_back(on_pci);
        survey.relations[i].push_back(relation(survey.gpus[i], survey.gpus[j], on_pci));
      }
    }
  } catch (const Error& error) {
    survey = {};
    survey.unavailable = error.what();
  }
  return survey;
}

std::string topology_matrix(const GpuSurvey& survey) {
  std::string text = "    ";
  for (std::size_t i = 0; i < survey.gpus.size(); ++i) text += fmt::format("\tGPU{}", i);
  text += "\tCPU Affinity\tNUMA Affinity\n";
  for (std::size_t i = 0; i < survey.gpus.size(); ++i) {
    const GpuFacts& gpu = survey.gpus[i];
    text += fmt::format("GPU{}\t{}\t{}\t{}\n", i, fmt::join(survey.relations[i], "\t"), gpu.cpus,
                        gpu.numa_node < 0 ? "N/A" : std::to_string(gpu.numa_node));
  }
  return text;
}

std::map<std::string, std::string> gpu_environment(const GpuSurvey& survey) {
  std::map<std::string, std::string> environment;
  if (survey.gpus.empty()) return environment;
  const auto add = [&](const char* key, auto describe) {
    const std::string text = listed(survey.gpus, describe);
    if (!text.empty()) environment[key] = text;
  };
  environment["gpu_count"] = std::to_string(survey.gpus.size());
  environment["gpu_driver"] = survey.driver;
  environment["gpu_topology"] = topology_matrix(survey);
  add("gpu", [](const GpuFacts& gpu) { return gpu.name; });
  add("gpu_memory", [](const GpuFacts& gpu) { return to_string(gpu.memory); });
  add("gpu_clocks", [](const GpuFacts& gpu) {
    return fmt::format("SM {} of {} MHz, memory {} MHz", gpu.clock_sm_mhz, gpu.clock_sm_most_mhz,
                       gpu.clock_memory_mhz);
  });
  add("gpu_power_limit",
      [](const GpuFacts& gpu) { return fmt::format("{:g} W", gpu.power_limit_w); });
  add("gpu_slowed_by", [](const GpuFacts& gpu) {
    return gpu.slowed_by.empty() ? "nothing" : fmt::format("{}", fmt::join(gpu.slowed_by, ", "));
  });
  add("gpu_ecc", [](const GpuFacts& gpu) { return on_off(gpu.ecc); });
  add("gpu_mig", [](const GpuFacts& gpu) { return on_off(gpu.mig); });
  add("gpu_pcie", [](const GpuFacts& gpu) {
    return fmt::format("generation {} x{}", gpu.pcie_generation, gpu.pcie_lanes);
  });
  return environment;
}

std::vector<std::string> slowed_gpus(const GpuSurvey& survey,
                                     std::span<const std::string> bus_ids) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < survey.gpus.size(); ++i) {
    const GpuFacts& gpu = survey.gpus[i];
    if (gpu.slowed_by.empty()) continue;
    const auto seen = std::ranges::find(bus_ids, gpu.bus_id);
    const std::string name = seen == bus_ids.end() ? fmt::format("gpu {} of nvidia-smi", i)
                                                   : fmt::format("gpu:{}", seen - bus_ids.begin());
    texts.push_back(fmt::format("{} ({}) was slowed down: {}", name, gpu.bus_id,
                                fmt::join(gpu.slowed_by, ", ")));
  }
  return texts;
}

}  // namespace collbench
