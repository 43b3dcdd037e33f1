// The plans of all ranks as one list of commands over memory, which GPUs can run without the host.
//
// A plan's sends and receives define which rank needs which elements of which other. The host of
// several devices sees all plans, so sends vanish: a receive becomes a copy and a reducing receive
// an N-way reduction that read the peers' buffers where they lie. A command depends on the earlier
// ones that wrote what it reads, or read or wrote what it writes, and on nothing else. The fold of
// each reduction is the plan's own, so results are those of execute() bit by bit.
//
// Pure functions: no device is needed to make a list or to check it. Two executors play it: a CUDA
// graph with one node for each command, and rows of commands (device_rows.h) that one kernel reads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "transports/endpoint.h"
#include "transports/play/plan.h"

namespace collbench {

/// The five memories of a rank, scratch and work as in plans. `stage` is readable by every device;
/// a rank copies into it what peers without access to its own memory need.
enum class DevicePlace : std::uint8_t { input, output, scratch, work, stage };
constexpr int device_places = 5;

struct DeviceOperand {
  Rank rank = 0;
  DevicePlace place = DevicePlace::input;
  bool operator==(const DeviceOperand&) const = default;
};

/// destinations = fold(sources) / divisor over elements [first, first + count), which are the same
/// places in every memory. One source with divisor 1 is a copy of bits.
struct DeviceCommand {
  Rank rank = 0;  // whose device runs it
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int32_t first_operand = 0;  // range of DeviceCommands::operands: sources, then destinations
  std::int32_t sources = 0;
  std::int32_t destinations = 0;
  std::int32_t divisor = 1;
  std::int32_t first_dependency = 0;  // range of DeviceCommands::dependencies
  std::int32_t dependency_count = 0;
  bool any_rank = false;  // a fused piece, of which every rank may do a part
};

/// Commands in an order in which they could be run sequentially.
struct DeviceCommands {
  int ranks = 0;
  std::int64_t count = 0;  // elements of the vector
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = true;
  bool fused = false;
  bool uses_scratch = false;
  bool uses_work = false;
  bool uses_stage = false;
  std::vector<DeviceCommand> commands{};
  std::vector<DeviceOperand> operands{};
  std::vector<std::int32_t> dependencies{};  // indices of earlier commands, ascending, none twice

  std::span<const DeviceOperand> sources(const DeviceCommand& command) const {
    return std::span(operands).subspan(static_cast<std::size_t>(command.first_operand),
                                       static_cast<std::size_t>(command.sources));
  }
  std::span<const DeviceOperand> destinations(const DeviceCommand& command) const {
    return std::span(operands).subspan(
        static_cast<std::size_t>(command.first_operand + command.sources),
        static_cast<std::size_t>(command.destinations));
  }
  std::span<const std::int32_t> before(const DeviceCommand& command) const {
    return std::span(dependencies)
        .subspan(static_cast<std::size_t>(command.first_dependency),
                 static_cast<std::size_t>(command.dependency_count));
  }
};

struct LoweringOptions {
  /// Whether the device of `reader` reads and writes the memory of `owner`; null: all do.
  std::function<bool(Rank reader, Rank owner)> reaches = {};
  bool fuse = true;  // play the fusion of the plans, where they have one and all ranks reach all
};

/// `plans` are those of rank 0, 1, ... of one schedule. Throws InvalidArgument if they are not, or
/// if a message lies elsewhere at its receiver than at its sender, which no all-reduce of the
/// registry does.
DeviceCommands lower(std::span<const Plan> plans, const LoweringOptions& options = {});

/// The plans of all ranks of `schedule`, lowered; `count` elements are the whole vector.
DeviceCommands lower(const Schedule& schedule, std::int64_t count, DataType type, ReduceOp op,
                     bool in_place, const LoweringOptions& options = {},
                     const Collective& collective = {});

/// Where the share of `part` of `parts` begins in a command of any rank, in elements from its first
/// and at a whole group of 16 bytes; that of `parts` is its end.
std::int64_t share_begin(const DeviceCommands& commands, const DeviceCommand& command,
                         std::int64_t part, std::int64_t parts);

/// What a rank needs for scratch and work: where there are both, work lies behind.
Bytes scratch_room(const DeviceCommands& commands);
Bytes work_begin(const DeviceCommands& commands);

/// Bytes that the commands read and write, each operand once: what their memory must move.
Bytes memory_traffic(const DeviceCommands& commands);

}  // namespace collbench
