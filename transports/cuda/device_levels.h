// Commands as levels: those that need nothing of each other, played side by side by one kernel.
//
// A command's level is one more than the highest of those that it depends on. A graph of one kernel
// for each level and device has as few launches, one after the other, as the commands allow; on a
// device they cost more than the commands of short vectors.
//
// Pure functions, as in device_commands.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "transports/cuda/device_commands.h"

namespace collbench {

/// A command's elements [first, first + count), which are all of them or one device's share.
struct DevicePiece {
  std::int32_t command = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// What one kernel plays.
struct DeviceLevel {
  int place = 0;                    // whose device
  std::vector<DevicePiece> pieces;  // in any order
  std::vector<std::int32_t>
      before;  // earlier levels that must have ended; none follows from others
};

/// The most 8-byte words of a level: they are arguments of its kernel, of which CUDA allows 4 KiB.
constexpr int most_level_words = 500;
/// Of a piece: four, and one for each operand.
constexpr int level_words(const DeviceCommand& command) {
  return 4 + command.sources + command.destinations;
}

/// In an order in which they could be run sequentially. `place_of` is the place of each rank, below
/// `places`. A command of any rank is shared among all places, cut at whole groups of 16 bytes.
/// Throws Unavailable for a command with more operands than a level has words for.
std::vector<DeviceLevel> levels_of(const DeviceCommands& commands, std::span<const int> place_of,
                                   int places);

}  // namespace collbench
