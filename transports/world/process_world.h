// A world whose ranks are processes of this machine: copies of this program as `worker`, started by
// us or by a launcher.
//
// A worker's end shows at once as the end of its socket, whatever the other ranks wait in. A worker
// that stands still shows in the control block, where every rank notes its progress. Either way the
// rank is named, the other ranks are ended, and everything is reaped: a world leaves no process, no
// file and no segment.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "transports/world/line_socket.h"
#include "transports/world/shared_memory.h"
#include "transports/world/shared_rendezvous.h"
#include "transports/world/worker_process.h"
#include "transports/world/worker_protocol.h"
#include "transports/world/world.h"

namespace collbench {

class ProcessWorld final : public World {
 public:
  /// Starts the workers. Throws TransportError naming the ranks that did not join in time.
  ProcessWorld(const WorldSpec& spec, Seconds timeout);
  ~ProcessWorld() override;

  const Backend& backend() const override { return backend_; }
  int ranks() const override { return ranks_; }
  RankRange own_ranks() const override { return {}; }
  /// Throws InvalidArgument for work that cannot be ordered by a text.
  void on_all(const WorldSpec& spec, Seconds timeout, const Work& work) override;
  std::vector<pid_t> processes() const override;

 private:
  using Clock = std::chrono::steady_clock;
  struct JoinedWorker {
    LineSocket socket;
    ProcessHandle process;
  };

  void welcome_all(LineListener& listener, Seconds timeout);
  void admit(LineSocket socket);
  std::string end_of(Rank rank);

  void collect(std::byte* arena);
  void receive_from(Rank rank);
  std::vector<Rank> silent() const;
  std::uint64_t total_progress() const;
  Fault stuck() const;
  void give_up(const Fault& fault, std::byte* arena);
  void conclude();
  void end_workers(bool kindly);

  const Backend& backend_;
  int ranks_;
  RankKind kind_;
  std::string token_;
  SharedMemory control_memory_;
  Control control_;
  std::vector<ChildProcess> children_;  // the workers by rank, or the launcher alone
  std::vector<JoinedWorker> workers_;
  WorldSpec spec_;  // of the work under way, as is its timeout
  Seconds timeout_{0};
  std::vector<std::optional<OrderOutcome>> outcomes_;
  std::vector<Rank> lost_;  // ranks whose socket has ended
  std::string broken_;      // why the world cannot go on
};

}  // namespace collbench
