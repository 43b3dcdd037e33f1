// The chief's handlers for the workers' requests.
//
// A worker joins, then requests closures; the end of its connection tells the chief that it was
// lost. A worker that joins under a name in use replaces the earlier one.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "training/asynchronous/closures.h"
#include "training/asynchronous/run_messages.h"
#include "training/replica.h"
#include "transports/remote_calls.h"
#include "transports/world/agreement.h"

namespace collbench {

/// Thread safety: any number of threads.
class CoordinatorService {
 public:
  /// `values` are the settings that all workers must share.
  CoordinatorService(const ServerRun& run, std::vector<NamedValue> values);

  /// Answers a call. Throws InvalidArgument for what it cannot read, and for a worker that does not
  /// fit; TransportError once the run has failed.
  std::string answer(const IncomingCall& call);
  /// The worker that it was, if any, has left or is lost.
  void gone(CallerNumber caller);

  /// Waits until all workers have joined, and lets them begin. Throws TransportError naming those
  /// that are missing after the timeout, or the reason why one cannot take part.
  void begin(Closures& closures);
  /// Fails the run if no worker has been connected for the timeout. To be called periodically.
  void look_after_workers();
  /// From now on, requests are answered with the end of the run, or with `why` it failed. Returns
  /// whether the run had begun.
  bool end(const std::string& why);
  /// Waits briefly until the workers have received that answer.
  void wait_for_farewells();
  /// The times of each worker's closures.
  std::vector<ReplicaReport> reports();

 private:
  struct Worker {
    CallerNumber caller = 0;  // none: it is not here
    bool came = false;        // some time
    bool leaving = false;
    bool told = false;  // has received the reason why the run failed
    std::vector<StepTimes> steps;
  };
  std::string join(PacketReader& request, CallerNumber caller);
  std::string next(PacketReader& request, const IncomingCall& call);
  /// Requires the lock. Throws InvalidArgument if another process has come in the worker's place.
  void require_its_place(std::size_t worker, CallerNumber caller) const;
  std::string missing() const;
  int here() const;

  const ServerRun run_;
  const std::vector<NamedValue> values_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Worker> workers_;
  std::string unfit_;  // why the run cannot begin, or has failed
  bool ended_ = false;
  Closures* closures_ = nullptr;
  Seconds last_seen_{0};  // any worker
};

}  // namespace collbench
