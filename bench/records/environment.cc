#include "bench/records/environment.h"

#include <algorithm>
#include <ctime>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/available_memory.h"
#include "core/cgroup.h"
#include "core/input_file.h"
#include "core/parse.h"
#include "core/version.h"
#include "transports/cuda/devices.h"
#include "transports/cuda/driver.h"
#include "transports/cuda/nccl_library.h"
#include "transports/kernels/kernels.h"
#include "transports/nccl/gpu_survey.h"

namespace collbench {
namespace {

// "always [madvise] never" -> "madvise".
std::string chosen(const std::string& line) {
  const auto open = line.find('[');
  const auto close = line.find(']');
  return open == std::string::npos || close < open ? line : line.substr(open + 1, close - open - 1);
}

std::string compiler() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#else
  return std::string("g++ ") + __VERSION__;
#endif
}

// "0-1,4": the processors of the affinity mask as ranges.
std::string affinity() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "unknown";
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpu);
    if (last > cpu) text += "-" + std::to_string(last);
    cpu = last;
  }
  return text;
}

// "1.5 cores" or "none".
std::string cgroup_quota() {
  const std::optional<double> allowed = processors_allowed_in(cgroup_folders("cpu"));
  return allowed ? fmt::format("{:g} cores", *allowed) : "none";
}

// Share of all processor time since boot that the hypervisor gave to other guests.
std::string steal() {
  std::istringstream line(first_line("/proc/stat"));
  std::string cpu;
  line >> cpu;
  double total = 0;
  double stolen = 0;
  double ticks = 0;
  for (int column = 0; column < 8 && line >> ticks; ++column) {
    total += ticks;
    if (column == 7) stolen = ticks;
  }
  if (total <= 0) return "unknown";
  return fmt::format("{:.3g} % since boot", 100 * stolen / total);
}

// "NCCL_ALGO=Ring NCCL_DEBUG=INFO": what the user tells NCCL; secrets have other names.
std::string nccl_variables() {
  std::vector<std::string> found;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::string_view(*variable).starts_with("NCCL_")) found.emplace_back(*variable);
  }
  std::sort(found.begin(), found.end());
  return fmt::format("{}", fmt::join(found, " "));
}

}  // namespace

Environment collect_environment() {
  Environment environment;
  utsname system{};
  uname(&system);
  environment["host"] = system.nodename;
  environment["kernel"] = std::string(system.sysname) + " " + system.release;
  environment["cpu"] = value_in_file("/proc/cpuinfo", "model name", "unknown");
  environment["cores"] = std::to_string(sysconf(_SC_NPROCESSORS_ONLN));
  environment["affinity"] = affinity();
  environment["cgroup_quota"] = cgroup_quota();
  environment["governor"] =
      first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "none");
  environment["thp"] = chosen(first_line("/sys/kernel/mm/transparent_hugepage/enabled", "unknown"));
  environment["load"] = first_line("/proc/loadavg", "unknown");
  environment["steal"] = steal();
  environment["memory_available"] = to_string(available_memory());
  environment["compiler"] = compiler();
  environment["build_flags"] = collbench_build_flags();
  environment["isa"] = kernel_isa();
  environment["git_revision"] = collbench_revision();
  environment["version"] = collbench_version();
  return environment;
}

void add_gpus(Environment& environment) {
  const GpuSurvey survey = survey_gpus();
  environment.merge(gpu_environment(survey));
  if (!survey.unavailable.empty()) environment["gpu"] = "unknown: " + survey.unavailable;
  const CudaDriverState driver = find_cuda_driver();
  environment["cuda_driver"] = to_string(CudaVersion{driver.version});
  const FoundLibrary nccl = find_nccl();
  if (nccl.unavailable.empty()) environment["nccl"] = nccl.version;
  if (const std::string variables = nccl_variables(); !variables.empty()) {
    environment["nccl_variables"] = variables;
  }
}

std::string now_utc() { return fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr))); }

}  // namespace collbench
