// The workers of a training run in several processes, as one of them sees them.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "training/replica.h"
#include "transports/communicator.h"
#include "transports/world/agreement.h"
#include "transports/world/endpoint_rendezvous.h"
#include "transports/world/joined_world.h"

namespace collbench {

/// Thread safety: one thread. Every worker makes the same calls; each throws TransportError on all
/// of them if one is lost.
class TrainTeam {
 public:
  /// Joins all ranks. Throws Unavailable in a build without gRPC.
  explicit TrainTeam(const JoinSpec& job);

  Rank rank() const { return rendezvous_.rank(); }
  int ranks() const { return rendezvous_.ranks(); }

  /// Runs `task` on every rank; what fails on one is told to all, and thrown on all.
  void together(const std::function<void()>& task);
  /// Throws on every rank if a value differs from rank 0's.
  void compare(const std::vector<NamedValue>& values) { require_same(values, rendezvous_); }
  /// Rank 0's text, on every rank.
  std::string from_rank_0(std::string text);
  /// One that plays `algorithm`, as gradient_schedule() takes it; all ranks choose as rank 0 would.
  std::unique_ptr<Communicator> communicator(const std::string& algorithm);
  /// The reports of all ranks' replicas, with the times of all their steps; the rest is of `own`.
  std::vector<ReplicaReport> gather(std::vector<ReplicaReport> own);

 private:
  std::shared_ptr<Endpoint> endpoint_;
  EndpointRendezvous rendezvous_;
  int cores_;  // of rank 0
};

}  // namespace collbench
