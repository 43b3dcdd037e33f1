#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/doctor.h"
#include "core/environment_variable.h"
#include "core/error.h"
#include "core/json.h"
#include "core/shared_library.h"
#include "transports/cuda/driver.h"

namespace collbench {
namespace {

std::string version_of_cudnn(std::size_t number) {
  const std::size_t unit = number >= 90000 ? 10000 : 1000;  // 9 numbers as 90102, 8 as 8907
  return fmt::format("{}.{}.{}", number / unit, number % unit / 100, number % 100);
}

FoundLibrary find_cudnn() {
  FoundLibrary found;
  for (const char* name : {"libcudnn.so.9", "libcudnn.so.8"}) {
    try {
      const SharedLibrary library(environment_variable("COLLBENCH_CUDNN_LIBRARY", name));
      std::size_t (*get_version)() = nullptr;
      library.bind(get_version, "cudnnGetVersion");
      return {version_of_cudnn(get_version()), library.path(), ""};
    } catch (const Error& error) {
      if (found.unavailable.empty()) found.unavailable = error.what();
    }
  }
  return found;
}

std::string shown(const FoundLibrary& library) {
  return library.unavailable.empty() ? fmt::format("{} ({})", library.version, library.path)
                                     : library.unavailable;
}

nlohmann::json json_of(const FoundLibrary& library) {
  return {{"version", library.version}, {"path", library.path}, {"reason", library.unavailable}};
}

std::string peers_of(const CudaDevice& device) {
  return device.peers.empty() ? "none" : fmt::format("{}", fmt::join(device.peers, " "));
}

// Whether GPUs read each other's memory, which decides how schedules move data between them.
std::string peer_access(const CudaDevices& cuda) {
  const std::size_t others = cuda.devices.size() - 1;
  if (others == 0) return "one GPU: workers share its memory";
  const bool all = std::all_of(cuda.devices.begin(), cuda.devices.end(),
                               [&](const CudaDevice& d) { return d.peers.size() == others; });
  return all ? "every GPU reads every other"
             : "not between all GPUs: copies go through host memory where it is missing";
}

std::string device_line(const CudaDevice& device) {
  return fmt::format("{}, compute capability {}, {}, {}; reads peers: {}", device.name,
                     device.capability, rounded(device.memory), device.pci_bus_id,
                     peers_of(device));
}

std::string device_line(const GpuFacts& gpu) {
  return fmt::format("{}, compute capability {}.{}, {}, {}", gpu.name, gpu.sm / 10, gpu.sm % 10,
                     rounded(gpu.memory), gpu.bus_id);
}

}  // namespace

std::vector<Finding> judge_gpus(const GpuReport& report) {
  std::vector<Finding> findings;
  for (const std::string& slowed : slowed_gpus(report.survey, report.bus_ids)) {
    findings.push_back({"GPU clock", slowed, Health::bad, "", &cause("throttled")});
  }
  const std::vector<CudaDevice>& devices = report.cuda.devices;
  const bool all_peers = std::all_of(devices.begin(), devices.end(), [&](const CudaDevice& device) {
    return device.peers.size() + 1 == devices.size();
  });
  if (!all_peers) {
    findings.push_back(
        {"peer access", peer_access(report.cuda), Health::note, "", &cause("host_staging")});
  }
  return findings;
}

GpuReport look_for_gpus() {
  return {find_cuda_devices(), survey_gpus(), find_nccl(), find_cudnn(), cuda_bus_ids()};
}

std::string describe_gpus(const GpuReport& report) {
  const CudaDevices& cuda = report.cuda;
  std::string text;
  const auto line = [&text](std::string_view what, const std::string& value) {
    text += fmt::format("  {:<14}{}\n", what, value);
  };
  if (!cuda.unavailable.empty()) line("devices", "none: " + cuda.unavailable);
  for (std::size_t i = 0; i < cuda.devices.size(); ++i) {
    line(fmt::format("gpu:{}", i), device_line(cuda.devices[i]));
  }
  if (!cuda.devices.empty()) line("peer access", peer_access(cuda));
  for (std::size_t i = 0; cuda.devices.empty() && i < report.survey.gpus.size(); ++i) {
    line(fmt::format("gpu {}", i), device_line(report.survey.gpus[i]));
  }
  line("CUDA",
       fmt::format("runtime {}, driver for {}", to_string(cuda.runtime), to_string(cuda.driver)));
  line("driver", report.survey.unavailable.empty() ? report.survey.driver
                                                   : "unknown: " + report.survey.unavailable);
  line("NCCL", shown(report.nccl));
  line("cuDNN", shown(report.cudnn));
  for (const auto& [key, value] : gpu_environment(report.survey)) {
    const bool said = key == "gpu" || key == "gpu_count" || key == "gpu_driver" ||
                      key == "gpu_memory" || key == "gpu_topology";
    if (!said) line(key.substr(4), value);
  }
  if (report.survey.gpus.size() > 1) text += topology_matrix(report.survey);
  return text;
}

std::string gpus_json(const GpuReport& report) {
  nlohmann::json document = {{"cuda_runtime", to_string(report.cuda.runtime)},
                             {"cuda_driver", to_string(report.cuda.driver)},
                             {"reason", report.cuda.unavailable},
                             {"devices", nlohmann::json::array()},
                             {"survey", gpu_environment(report.survey)},
                             {"survey_reason", report.survey.unavailable},
                             {"nccl", json_of(report.nccl)},
                             {"cudnn", json_of(report.cudnn)}};
  for (const CudaDevice& device : report.cuda.devices) {
    document["devices"].push_back({{"name", device.name},
                                   {"compute_capability", device.capability},
                                   {"memory_bytes", device.memory.count},
                                   {"pci_bus_id", device.pci_bus_id},
                                   {"peers", device.peers}});
  }
  return json_text(document);
}

}  // namespace collbench
