// The chief's side of what workers ask of it.
//
// A worker joins, then holds one call as a sign that it is there, and asks for closures with
// another. Whoever joins under a name takes the place of the one who had it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "training/asynchronous/closures.h"
#include "training/asynchronous/run_messages.h"
#include "training/replica.h"
#include "transports/remote_calls.h"

namespace collbench {

/// Thread safety: any number of threads.
class CoordinatorService {
 public:
  CoordinatorService(const ServerRun& run, PlanValues values);

  /// Answers a call. Throws InvalidArgument for what it cannot read, and for a worker that does not
  /// fit; TransportError once the run has failed.
  std::string answer(const IncomingCall& call);

  /// Waits until all workers have come, and lets them begin. Throws TransportError naming those
  /// that are missing after the timeout, or why one cannot take part.
  void begin(Closures& closures);
  /// Fails the run if no worker has been there for the timeout. To be asked now and then.
  void look_after_workers();
  /// Workers that ask for more hear that the run is over, or `why` it has failed. Returns whether
  /// it had begun.
  bool end(const std::string& why);
  /// Waits a little for them to hear it.
  void wait_for_farewells();
  /// The times of each worker's closures.
  std::vector<ReplicaReport> reports();

 private:
  struct Worker {
    std::int64_t incarnation = 0;
    bool here = false;
    bool leaving = false;
    bool told = false;  // why the run has failed
    std::vector<StepTimes> steps;
  };
  std::string join(PacketReader& request);
  std::string next(PacketReader& request, const std::function<bool()>& abandoned);
  void stay(PacketReader& request, const std::function<bool()>& abandoned);
  std::size_t known_worker(PacketReader& request);
  void require_same(const TaskAddress& worker, PacketReader& request) const;
  std::string missing() const;
  int here() const;

  const ServerRun run_;
  const PlanValues values_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Worker> workers_;
  std::string unfit_;  // why the run cannot begin, or has failed
  bool ended_ = false;
  Closures* closures_ = nullptr;
  Seconds last_seen_{0};  // any worker
};

}  // namespace collbench
