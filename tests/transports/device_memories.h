// The memories of all ranks of an all-reduce, and what execute() makes of them: the reference for
// commands and rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/schedule.h"
#include "core/data_type.h"
#include "transports/cuda/device_commands.h"

namespace collbench {

using Bits = std::vector<std::byte>;

struct AllReduceCase {
  Schedule schedule;
  std::int64_t count = 0;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = true;
};

/// Memory of every rank and place, filled with the inputs and, where nothing was put, with noise.
class DeviceMemories {
 public:
  explicit DeviceMemories(const AllReduceCase& point);
  /// Of a rank and place; in place, the input is the output.
  std::byte* at(const DeviceOperand& operand);
  /// By rank * device_places + place.
  const std::vector<std::byte*>& bases() const { return bases_; }
  std::vector<Bits> outputs() const;
  /// Whether an input was written that should not have been.
  bool inputs_kept() const;

 private:
  AllReduceCase point_;
  std::vector<Bits> memories_;
  std::vector<std::byte*> bases_;
};

/// What execute() leaves in the output of every rank, played on threads.
std::vector<Bits> executed(const AllReduceCase& point);

/// An algorithm and its options.
struct ScheduleFamily {
  std::string name;  // of tests
  std::string spec;
  /// For several numbers of ranks, of those that it allows.
  std::vector<Schedule> schedules() const;
};
/// Every algorithm of the registry, and options that change its shape.
std::vector<ScheduleFamily> every_family();

}  // namespace collbench
