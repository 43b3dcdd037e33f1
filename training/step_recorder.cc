#include "training/step_recorder.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "training/trace_slices.h"

namespace collbench {
namespace {

constexpr std::size_t most_steps = 5;
constexpr std::size_t most_spans = 4096;

/// The parts of a step, one after the other, from its end backwards to its beginning.
void add_parts(TraceSlices& trace, const StepTimes& step, Seconds begin) {
  const auto part = [&](const char* name, Seconds time) {
    if (time > Seconds{0}) trace.add(TraceRow::computation, name, "step", begin, begin + time);
    begin += time;
  };
  part("input", step.input);
  part("forward", step.forward);
  part("backward", step.backward);
  part("exposed communication", step.exposed);
  part("optimizer", step.optimizer);
  part("checks", step.checks);
}

}  // namespace

void StepRecorder::all_reduce(Region in, Region out, ReduceOp op) {
  const Seconds begin = now();
  communicator_->all_reduce(in, out, op);
  add({begin, now(), in.size()});
}

void StepRecorder::perform(const Collective& collective, Region in, Region out, ReduceOp op) {
  const Seconds begin = now();
  communicator_->perform(collective, in, out, op);
  add({begin, now(), std::max(in.size(), out.size()), collective.kind});
}

void StepRecorder::add(const Span& span) {
  spans_.push_back(span);
  if (spans_.size() > most_spans) spans_.pop_front();
}

ReplicaHooks StepRecorder::recorded(ReplicaHooks hooks) {
  hooks.on_step = [this, next = std::move(hooks.on_step)](const Progress& progress) {
    ended_.push_back(now());
    if (ended_.size() > most_steps) ended_.pop_front();
    if (next) next(progress);
  };
  hooks.around = [this](Communicator& communicator) -> Communicator& {
    communicator_ = &communicator;
    rank_ = communicator.rank();
    ranks_ = communicator.ranks();
    return *this;
  };
  return hooks;
}

void StepRecorder::write(std::ostream& out, const std::vector<StepTimes>& steps) const {
  TraceSlices trace(out);
  const std::size_t shown = std::min(ended_.size(), steps.size());
  Seconds first{0};
  for (std::size_t i = 0; i < shown; ++i) {
    const StepTimes& step = steps[steps.size() - shown + i];
    const Seconds begin = ended_[ended_.size() - shown + i] - step.whole;
    if (i == 0) first = begin;
    add_parts(trace, step, begin - first);
  }
  for (const Span& span : spans_) {
    if (shown == 0 || span.begin < first) continue;
    trace.add(TraceRow::all_reduces, to_string(span.size), to_string(span.kind), span.begin - first,
              span.end - first, fmt::format("{{\"bytes\":{}}}", span.size.count));
  }
  trace.finish(fmt::format("{{\"rank\":{},\"ranks\":{},\"steps\":{}}}", rank_, ranks_, shown));
}

}  // namespace collbench
