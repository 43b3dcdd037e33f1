#include "training/asynchronous/run_messages.h"

#include <chrono>

#include <fmt/format.h>

#include "core/error.h"
#include "training/steady_time.h"

namespace collbench {
namespace {

constexpr Seconds between_words{2.0};  // between reports of missing tasks
// The limit of every count in a step, small enough that sums cannot overflow.
constexpr std::int64_t most_counted = std::int64_t{1} << 32;
constexpr std::int64_t most_updates = std::int64_t{1} << 53;

constexpr Seconds StepTimes::*told_times[] = {&StepTimes::input,    &StepTimes::forward,
                                              &StepTimes::backward, &StepTimes::communication,
                                              &StepTimes::exposed,  &StepTimes::whole};

}  // namespace

RunPatience::RunPatience(const ServerRun& run) : run_(run), begin_(steady_now()), said_(begin_) {}

void RunPatience::look(const std::string& missing) {
  if (steady_now() - begin_ > run_.timeout) {
    throw TransportError(fmt::format("after {} there is no {}", to_string(run_.timeout), missing));
  }
  if (steady_now() - said_ < between_words) return;
  said_ = steady_now();
  run_.say("waiting for " + missing);
}

PacketWriter request(Request what) {
  PacketWriter writer;
  writer.number(static_cast<std::int64_t>(what));
  return writer;
}

void write(const StoreContents& contents, PacketWriter& to) {
  to.text(contents.engine).number(static_cast<std::int64_t>(contents.type));
  to.text(contents.optimizer.name)
      .real(contents.optimizer.learning_rate)
      .real(contents.optimizer.momentum);
  to.number(std::ssize(contents.shards));
  for (const std::int64_t count : contents.shards) to.number(count);
  to.reals(contents.values).reals(contents.statistics);
  to.number(contents.state.updates).number(std::ssize(contents.state.slots));
  for (const std::vector<double>& slot : contents.state.slots) to.reals(slot);
}

StoreContents read_contents(PacketReader& from) {
  StoreContents contents;
  contents.engine = from.text();
  const std::int64_t type = from.number();
  require(type == static_cast<std::int64_t>(DataType::f32) ||
              type == static_cast<std::int64_t>(DataType::f64),
          fmt::format("variables are f32 or f64, not type {}", type));
  contents.type = static_cast<DataType>(type);
  contents.optimizer.name = from.text();
  contents.optimizer.learning_rate = from.real();
  contents.optimizer.momentum = from.real();
  const std::int64_t shards = from.number("shards", 0, 1 << 20);
  for (std::int64_t i = 0; i < shards; ++i) {
    contents.shards.push_back(from.number("elements in a shard", 0, std::int64_t{1} << 40));
  }
  contents.values = from.reals();
  contents.statistics = from.reals();
  contents.state.updates = from.number("updates", 0, most_updates);
  const std::int64_t slots = from.number("slots", 0, 2);
  for (std::int64_t i = 0; i < slots; ++i) contents.state.slots.push_back(from.reals());
  return contents;
}

void write(const ClosureResult& result, PacketWriter& to) {
  to.number(result.step).real(result.score.loss).number(result.score.correct);
  to.number(result.samples).number(result.staleness);
  for (const auto time : told_times) to.real((result.times.*time).count());
}

ClosureResult read_result(PacketReader& from) {
  ClosureResult result;
  result.step = from.number();
  result.score.loss = from.real();
  result.score.correct = from.number("correct samples", 0, most_counted);
  result.samples = from.number("samples", 0, most_counted);
  result.staleness = from.number("updates by others", 0, most_counted);
  for (const auto time : told_times) result.times.*time = Seconds{from.real()};
  return result;
}

}  // namespace collbench
