// A team whose ranks are processes of this machine: copies of this program as `worker`, started by
// us or by a launcher.
//
// A worker's end shows at once as the end of its socket, whatever the other ranks wait in. A worker
// that stands still shows in the control block, where every rank notes its progress. Either way the
// rank is named, the other ranks are ended, and everything is reaped: a team leaves no process, no
// file and no segment.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/measure/backend.h"
#include "bench/measure/team.h"
#include "bench/measure/worker_case.h"
#include "transports/world/line_socket.h"
#include "transports/world/shared_memory.h"
#include "transports/world/worker_process.h"

namespace collbench {

class ProcessTeam final : public Team {
 public:
  /// Starts the workers. Throws TransportError naming the ranks that did not join in time.
  ProcessTeam(const Backend& backend, const Case& which, const Sampling& sampling);
  ~ProcessTeam() override;

  Measurement measure(const Case& which, const Sampling& sampling) override;
  /// The same with a case of its own for each rank, to see that disagreement is found.
  Measurement measure_each(std::span<const Case> cases, const Sampling& sampling);
  /// The workers' processes, by rank.
  std::vector<pid_t> processes() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    LineSocket socket;
    ProcessHandle process;
  };

  void welcome_all(LineListener& listener, Seconds timeout);
  void admit(LineSocket socket);
  std::string end_of(Rank rank);

  void collect(const Sampling& sampling, std::byte* arena);
  void receive_from(Rank rank);
  std::vector<Rank> silent() const;
  std::uint64_t total_progress() const;
  Fault stuck(Seconds timeout) const;
  void give_up(const Fault& fault, std::byte* arena);
  void end_workers(bool kindly);

  const Backend& backend_;
  int ranks_;
  WorkerKind kind_;
  std::string token_;
  SharedMemory control_memory_;
  Control control_;
  std::vector<ChildProcess> children_;  // the workers by rank, or the launcher alone
  std::vector<Worker> workers_;
  std::vector<std::optional<CaseOutcome>> outcomes_;
  std::vector<Rank> lost_;  // ranks whose socket has ended
  std::string broken_;      // why the team cannot go on
};

}  // namespace collbench
