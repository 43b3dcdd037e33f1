// Which processors the ranks of a machine are put on, in the order of the ranks.
#pragma once

#include <span>
#include <vector>

namespace collbench {

/// A processor as the kernel numbers it, and where it lies.
struct CoreSite {
  int cpu = 0;
  int package = 0;
  int core = 0;  // processors of one package and core are hardware threads of it
};

/// The processors this process may use, ascending; asked once, before any thread is pinned. Where
/// the kernel does not report places, they are 0 and each processor is a core of its own.
std::span<const CoreSite> usable_core_sites();

/// Numbers of the processors in an order that keeps neighbours apart: packages take turns, and a
/// core's second hardware thread comes after every core has one.
std::vector<int> scattered(std::span<const CoreSite> sites);

/// Binds the calling thread, and the threads it makes later, to the `place`-th of `cpus`, round and
/// round; of all usable ones if the list is empty.
void pin_to_core(int place, std::span<const int> cpus);

}  // namespace collbench
