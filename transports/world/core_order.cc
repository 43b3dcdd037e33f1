#include "transports/world/core_order.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <sched.h>

#include "core/input_file.h"
#include "core/parse.h"

namespace collbench {
namespace {

// A number of the kernel's topology files; `fallback` where there is none.
int read_topology(int cpu, const std::string& name, int fallback) {
  const std::string file = fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", cpu, name);
  return small_integer_in(first_line(file), std::numeric_limits<int>::min()).value_or(fallback);
}

std::vector<CoreSite> read_usable_sites() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<CoreSite> sites;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    sites.push_back(
        {cpu, read_topology(cpu, "physical_package_id", 0), read_topology(cpu, "core_id", cpu)});
  }
  return sites;
}

}  // namespace

std::span<const CoreSite> usable_core_sites() {
  static const std::vector<CoreSite> sites = read_usable_sites();
  return sites;
}

std::vector<int> scattered(std::span<const CoreSite> sites) {
  // Per processor: which hardware thread of its core it is, which core of its package, the package.
  std::vector<std::tuple<int, int, int, int>> order;
  std::map<std::pair<int, int>, int> threads_of_core;
  std::map<std::pair<int, int>, int> place_in_package;
  std::map<int, int> cores_of_package;
  for (const CoreSite& site : sites) {
    const std::pair core{site.package, site.core};
    const auto [place, is_new] = place_in_package.try_emplace(core, 0);
    if (is_new) place->second = cores_of_package[site.package]++;
    order.emplace_back(threads_of_core[core]++, place->second, site.package, site.cpu);
  }
  std::sort(order.begin(), order.end());
  std::vector<int> cpus;
  for (const auto& entry : order) cpus.push_back(std::get<3>(entry));
  return cpus;
}

void pin_to_core(int place, std::span<const int> cpus) {
  const std::span<const CoreSite> usable = usable_core_sites();
  const std::size_t count = cpus.empty() ? usable.size() : cpus.size();
  if (count == 0) return;
  const std::size_t index = static_cast<std::size_t>(place) % count;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpus.empty() ? usable[index].cpu : cpus[index], &one);
  sched_setaffinity(0, sizeof one, &one);
}

}  // namespace collbench
