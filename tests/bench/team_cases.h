// Cases and questions that the tests of teams share.
#pragma once

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "bench/records/case.h"

namespace collbench {

inline Case team_case(const std::string& backend, const std::string& algorithm, int workers,
                      std::int64_t bytes = 40'000) {
  Case point;
  point.algorithm = algorithm;
  point.backend = backend;
  point.workers = workers;
  point.bytes = Bytes{bytes};
  return point;
}

inline Sampling quick(int iterations = 10) {
  Sampling sampling;
  sampling.iterations = iterations;
  sampling.warmup = 1;
  sampling.max_time = Seconds{0.02};
  sampling.timeout = Seconds{30};
  return sampling;
}

/// Runs, in the sense that matters to a user: neither gone nor waiting to be reaped.
inline bool runs(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  return name_end != std::string::npos && line[name_end + 2] != 'Z';
}

/// How long a turn on a busy processor a thread asks for (0: the calling one); 0 before Linux 6.12,
/// where all have turns of one length. Source: sched_getattr(2).
inline std::uint64_t turn_ns(pid_t thread) {
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t turn_ns, deadline_ns, period_ns;
  } told{};
  syscall(SYS_sched_getattr, thread, &told, sizeof told, 0);
  return told.turn_ns;
}
inline bool turns_differ() { return turn_ns(0) != 0; }

/// Names of ours in shared memory. Tests that run side by side with stand-ins for GPU libraries, or
/// with Open MPI, have others.
inline std::set<std::string> shared_memory_files() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (has("collbench") && !has("stand-in")) names.insert(name);
  }
  return names;
}

}  // namespace collbench
