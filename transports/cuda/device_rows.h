// Commands as one row per rank, interpreted by one kernel without the host.
//
// A rank does the steps of its row in order. Where a step needs what another rank has done first,
// it waits until that rank has published the number of that step; numbers only grow, so one flag
// per rank is enough, and a wait that follows from earlier ones is left out. Everything is a number
// or an index: the tables are copied to a device as they are.
//
// Elements keep their place in every memory, so a row can be played by many lanes side by side:
// lane l of every rank does the stripes l, l + lanes, l + 2 lanes... of the buffer, with flags of
// its own, and never waits for another lane.
#pragma once

#include <cstdint>
#include <vector>

#include "transports/cuda/device_commands.h"

namespace collbench {

struct DeviceRowStep {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int32_t first_operand = 0;  // range of DeviceRows::operands: sources, then destinations
  std::int32_t sources = 0;
  std::int32_t destinations = 0;
  std::int32_t divisor = 1;
  std::int32_t first_wait = 0;  // range of DeviceRows::waits, all of them before the step
  std::int32_t waits = 0;
  std::int32_t publishes = 0;  // the number of this step if some rank waits for it; else 0
};

/// Until `rank` has published `number` or a larger one.
struct DeviceWait {
  std::int32_t rank = 0;
  std::int32_t number = 0;
};

struct DeviceRows {
  int ranks = 0;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  std::vector<std::int32_t> first_step;  // of each rank, and one behind the last
  std::vector<DeviceRowStep> steps;
  std::vector<std::int32_t> operands;  // rank * device_places + place
  std::vector<DeviceWait> waits;
  std::int32_t numbers = 1;  // no step has this number or a larger one
  std::int64_t largest = 0;  // elements of the largest step
};

/// How the rows of several ranks start. `together`: by one launch, with all buffers ready and
/// unused until all rows have ended. `apart`: on several devices or by several processes, so that
/// each row begins by publishing that its buffers are ready and ends by waiting for the last reader
/// of them.
enum class DeviceStart : std::uint8_t { together, apart };

DeviceRows tabulate(const DeviceCommands& commands, DeviceStart start);

/// How a buffer is cut among lanes: in stripes of whole groups of 16 bytes.
struct DeviceLanes {
  int lanes = 1;
  std::int64_t stripe = 0;  // elements
};
/// As many lanes as have 4 KiB of the largest step to do, but no more than `most`. Requires most >
/// 0.
DeviceLanes choose_lanes(const DeviceRows& rows, int most);

}  // namespace collbench
