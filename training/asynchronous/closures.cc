#include "training/asynchronous/closures.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.h"
#include "training/steady_time.h"

namespace collbench {
namespace {

constexpr std::chrono::milliseconds between_caller_looks{50};  // at whether a caller is still there

}  // namespace

Closures::Closures(std::int64_t begin, std::int64_t end, std::int64_t steps_per_epoch,
                   std::int64_t pause_every, const TrainingState* start, const ReplicaHooks& hooks)
    : end_(end),
      steps_per_epoch_(steps_per_epoch),
      pause_every_(pause_every),
      on_step_(hooks.on_step),
      next_(begin),
      limit_(next_limit(begin)),
      finished_(begin),
      began_(steady_now()) {
  if (start == nullptr) return;
  epoch_ = start->epoch;
  epoch_samples_ = start->epoch_samples;
}

std::int64_t Closures::next_limit(std::int64_t after) const {
  return pause_every_ == 0 ? end_ : std::min(end_, (after / pause_every_ + 1) * pause_every_);
}

std::optional<std::int64_t> Closures::take(CallerNumber caller,
                                           const std::function<bool()>& abandoned) {
  std::unique_lock lock(mutex_);
  give_up(caller);
  for (;;) {
    if (!failure_.empty()) throw TransportError(failure_);
    if (lost_.contains(caller)) return std::nullopt;
    std::optional<std::int64_t> step;
    if (!again_.empty()) {
      step = again_.front();
      again_.pop_front();
      ++repeated_;
    } else if (next_ < limit_) {
      step = next_++;
    } else if (paused() && (stopping_ || next_ == end_)) {
      return std::nullopt;
    }
    if (step) {
      out_[caller] = *step;
      return step;
    }
    if (abandoned()) return std::nullopt;
    changed_.wait_for(lock, between_caller_looks);
  }
}

void Closures::done(CallerNumber caller, const ClosureResult& result) {
  const std::lock_guard lock(mutex_);
  const auto out = out_.find(caller);
  if (out == out_.end() || out->second != result.step) return;
  out_.erase(out);
  count(result);
  changed_.notify_all();
}

void Closures::count(const ClosureResult& result) {
  ++finished_;
  ++here_;
  stale_ += result.staleness;
  most_stale_ = std::max(most_stale_, result.staleness);
  epoch_.loss += result.score.loss;
  epoch_.correct += result.score.correct;
  epoch_samples_ += result.samples;
  samples_ += result.samples;
  if (on_step_) {
    on_step_(progress_of(result.score, finished_, result.samples, result.times.whole));
  }
  if (finished_ % steps_per_epoch_ != 0) return;
  const Seconds end = steady_now();
  epochs_.push_back(progress_of(std::exchange(epoch_, {}), steps_per_epoch_,
                                std::exchange(epoch_samples_, 0),
                                end - std::exchange(began_, end)));
  epochs_.back().samples = std::exchange(samples_, 0);
}

void Closures::lost(CallerNumber caller) {
  const std::lock_guard lock(mutex_);
  lost_.insert(caller);
  give_up(caller);
  changed_.notify_all();
}

void Closures::give_up(CallerNumber caller) {
  const auto out = out_.find(caller);
  if (out == out_.end()) return;
  again_.push_back(out->second);
  out_.erase(out);
}

void Closures::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  limit_ = next_;
  changed_.notify_all();
}

void Closures::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = why;
  changed_.notify_all();
}

std::optional<std::int64_t> Closures::wait_for_pause(Seconds longest) {
  std::unique_lock lock(mutex_);
  const bool there =
      changed_.wait_for(lock, longest, [this] { return paused() || !failure_.empty(); });
  if (!failure_.empty()) throw TransportError(failure_);
  return there ? std::optional(finished_) : std::nullopt;
}

void Closures::go_on() {
  const std::lock_guard lock(mutex_);
  if (!stopping_) limit_ = next_limit(next_);
  changed_.notify_all();
}

bool Closures::finished() const {
  const std::lock_guard lock(mutex_);
  return paused() && (stopping_ || next_ == end_);
}

void Closures::describe(TrainingState& state) const {
  const std::lock_guard lock(mutex_);
  state.step = finished_;
  state.epoch = epoch_;
  state.epoch_samples = epoch_samples_;
  state.finished = finished_ == end_;
}

std::vector<Progress> Closures::epochs() const {
  const std::lock_guard lock(mutex_);
  return epochs_;
}

double Closures::mean_staleness() const {
  const std::lock_guard lock(mutex_);
  return here_ == 0 ? 0 : static_cast<double>(stale_) / static_cast<double>(here_);
}

}  // namespace collbench
