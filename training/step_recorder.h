// Keeps when the last steps of a replica and their all-reduces ran, for a trace.
//
// It stands between a replica and its communicator: all that the replica sums goes through it. When
// a step ends is reported by the hook that a replica calls after each.
#pragma once

#include <deque>
#include <iosfwd>
#include <string>
#include <vector>

#include "training/replica.h"
#include "transports/communicator.h"

namespace collbench {

/// Thread safety: as Communicator; step_ended() on the replica's thread, write() once it has ended.
class StepRecorder final : public Communicator {
 public:
  Rank rank() const override { return communicator_->rank(); }
  int ranks() const override { return communicator_->ranks(); }
  Seconds now() const override { return communicator_->now(); }
  std::string description() const override { return communicator_->description(); }
  void all_reduce(Region in, Region out, ReduceOp op) override;
  void perform(const Collective& collective, Region in, Region out, ReduceOp op) override;
  void broadcast(Region region, Rank root) override { communicator_->broadcast(region, root); }
  void barrier() override { communicator_->barrier(); }

  /// The same hooks, by which this recorder also learns when a step has ended and what it is to
  /// stand in front of. It must outlive the training.
  ReplicaHooks recorded(ReplicaHooks hooks);
  /// Writes the last steps of all, as TraceSlices: the parts of each step, and beside them its
  /// collectives with their sizes, in microseconds since the first of them began.
  void write(std::ostream& out, const std::vector<StepTimes>& steps) const;

 private:
  struct Span {
    Seconds begin{0};
    Seconds end{0};
    Bytes size;  // of the whole vector
    CollectiveKind kind = CollectiveKind::all_reduce;
  };
  void add(const Span& span);

  Communicator* communicator_ = nullptr;
  Rank rank_ = 0;  // of the communicator, which ends before what is recorded is written
  int ranks_ = 1;
  std::deque<Span> spans_;     // of the thread that communicates
  std::deque<Seconds> ended_;  // of the thread that computes
};

}  // namespace collbench
