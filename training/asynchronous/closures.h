// The steps of asynchronous training, as TensorFlow's coordinator schedules them: each is a closure
// that the next free worker takes.
//
// A closure whose caller is lost goes to another one, so each is carried out at least once. Before
// the state is saved, no closure is handed out until all earlier ones are done, so that the saved
// state is the result of exactly the first n steps.
// Source: tensorflow/python/distribute/coordinator/cluster_coordinator.py,
// _CoordinatedClosureQueue.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "training/engines/engine.h"
#include "training/replica.h"
#include "transports/remote_calls.h"

namespace collbench {

/// A worker's report of a closure that it has carried out.
struct ClosureResult {
  std::int64_t step = 0;
  Score score;
  std::int64_t samples = 0;
  std::int64_t staleness = 0;  // updates by others between reading and updating
  StepTimes times;
};

/// A caller is a worker for as long as its connection lasts: one that is replaced, or comes back,
/// is another caller. Thread safety: any number of threads.
class Closures {
 public:
  /// Steps begin..end-1; pauses before each multiple of `pause_every` and at the end, 0 only there.
  /// `epoch` is what was done of the epoch that `begin` lies in. Only hooks.on_step is called.
  Closures(std::int64_t begin, std::int64_t end, std::int64_t steps_per_epoch,
           std::int64_t pause_every, const TrainingState* start, const ReplicaHooks& hooks);

  /// Waits for the next closure of `caller`, which gives up one that it has; nothing if all are
  /// done, once the caller is lost, or once `abandoned`, polled while waiting, is true. Throws
  /// TransportError once fail() was called.
  std::optional<std::int64_t> take(CallerNumber caller, const std::function<bool()>& abandoned);
  /// Notes the result; one of a closure that the caller does not have (any more) is ignored.
  void done(CallerNumber caller, const ClosureResult& result);
  /// The caller's unfinished closure goes to the next that asks for one, and it is given no other.
  void lost(CallerNumber caller);
  /// Hands out no new closures, and pauses for the last time when those that are out are done.
  void stop();
  /// From now on take() and wait_for_pause() throw TransportError(why). The first one counts.
  void fail(const std::string& why);

  /// Waits for the next pause, at most `longest`; the number of steps done then, or nothing.
  std::optional<std::int64_t> wait_for_pause(Seconds longest);
  /// Ends a pause that is not the last. Requires wait_for_pause() to have given one.
  void go_on();
  /// Whether the pause that was waited for is the last.
  bool finished() const;

  /// Step and epoch, for a state to be saved in a pause.
  void describe(TrainingState& state) const;
  /// Epochs in `report.epochs`, staleness since the beginning.
  std::vector<Progress> epochs() const;
  double mean_staleness() const;
  std::int64_t most_staleness() const { return most_stale_; }
  std::int64_t repeated() const { return repeated_; }

 private:
  bool paused() const { return next_ == limit_ && again_.empty() && out_.empty(); }
  std::int64_t next_limit(std::int64_t after) const;
  void count(const ClosureResult& result);
  void give_up(CallerNumber caller);

  const std::int64_t end_;
  const std::int64_t steps_per_epoch_;
  const std::int64_t pause_every_;
  std::function<void(const Progress&)> on_step_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t next_;
  std::int64_t limit_;
  bool stopping_ = false;
  std::string failure_;
  std::map<CallerNumber, std::int64_t> out_;
  std::deque<std::int64_t> again_;  // given up
  std::set<CallerNumber> lost_;
  std::int64_t finished_;
  std::int64_t here_ = 0;  // finished by this queue
  std::int64_t stale_ = 0;
  std::int64_t most_stale_ = 0;
  std::int64_t repeated_ = 0;
  Score epoch_;
  std::int64_t epoch_samples_ = 0;
  std::int64_t samples_ = 0;  // of the epoch, since this queue was made
  std::vector<Progress> epochs_;
  Seconds began_;
};

}  // namespace collbench
