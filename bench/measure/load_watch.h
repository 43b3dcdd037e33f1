// Checks whether a measurement had the machine to itself.
//
// The processors' busy time over a case, less the time our own processes used, is foreign load; the
// hypervisor's share is steal. Either one turns a 64 us figure into 4,000 us, so it belongs in the
// record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace collbench {

/// Readings of the machine at one moment. CPU times in seconds over all processors.
struct LoadReading {
  double wall = 0;
  double busy = 0;  // of all processes, without stolen time
  double stolen = 0;
  double ours = 0;                        // user and system time of our processes
  std::int64_t involuntary_switches = 0;  // of all threads of our processes
};

/// Warnings from the difference of two readings on `cores` processors with `workers` ranks; empty
/// if nothing is suspicious. Foreign load above 10 % of the machine, steal above 2 %, and, only
/// where every rank has a core, more than 50 involuntary switches per rank and second are.
std::vector<std::string> load_warnings(const LoadReading& before, const LoadReading& after,
                                       int cores, int workers);

/// Watches from construction to warnings(). `children` are our processes beside this one.
class LoadWatch {
 public:
  LoadWatch(std::vector<pid_t> children, int workers);
  std::vector<std::string> warnings() const;

 private:
  std::vector<pid_t> processes_;
  int workers_;
  LoadReading start_;
};

}  // namespace collbench
