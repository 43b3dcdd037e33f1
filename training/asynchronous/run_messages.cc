#include "training/asynchronous/run_messages.h"

#include <cstring>
#include <span>
#include <type_traits>

#include <fmt/format.h>

#include "core/error.h"
#include "training/steady_time.h"

namespace collbench {
namespace {

constexpr Seconds between_words{2.0};  // between reports of missing tasks
// The limit of every count in a step, small enough that sums cannot overflow.
constexpr std::int64_t most_counted = std::int64_t{1} << 32;
constexpr std::int64_t most_updates = std::int64_t{1} << 53;

}  // namespace

RunPatience::RunPatience(const ServerRun& run) : run_(run), begin_(steady_now()), said_(begin_) {}

void RunPatience::look(const std::string& missing) {
  run_.while_waiting();
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
  to.memory(std::as_bytes(std::span(&result, 1)));
}

ClosureResult read_result(PacketReader& from) {
  ClosureResult result;
  static_assert(std::is_trivially_copyable_v<ClosureResult>);
  const std::span<const std::byte> bytes = from.memory();
  require(bytes.size() == sizeof result,
          fmt::format("a result has {} bytes, not {}", bytes.size(), sizeof result));
  std::memcpy(&result, bytes.data(), sizeof result);
  for (const std::int64_t count : {result.score.correct, result.samples, result.staleness}) {
    require(count >= 0 && count <= most_counted,
            fmt::format("a result counts {}, not one of 0 to {}", count, most_counted));
  }
  return result;
}

}  // namespace collbench
