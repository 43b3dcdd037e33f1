// The memories of all ranks of a collective, and what execute() makes of them: the reference for
// commands and rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/collective.h"
#include "algorithms/schedule.h"
#include "core/data_type.h"
#include "transports/cuda/device_commands.h"

namespace collbench {

using Bits = std::vector<std::byte>;

struct DeviceCase {
  Schedule schedule;
  std::int64_t count = 0;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = true;
  Collective collective = {};
  Elements before(Rank rank) const {
    return elements_before(collective, rank, schedule.ranks(), count);
  }
  Elements after(Rank rank) const {
    return elements_after(collective, rank, schedule.ranks(), count);
  }
};

/// Memory of every rank and place, filled with the inputs and, where nothing was put, with noise.
class DeviceMemories {
 public:
  explicit DeviceMemories(const DeviceCase& point);
  /// Of a rank and place; in place, the input is the output.
  std::byte* at(const DeviceOperand& operand);
  /// By rank * device_places + place.
  const std::vector<std::byte*>& bases() const { return bases_; }
  /// What each rank is to have, and what lies beyond the vector if it was written.
  std::vector<Bits> outputs() const;
  /// Whether an input was written that should not have been.
  bool inputs_kept() const;

 private:
  DeviceCase point_;
  std::vector<Bits> memories_;
  std::vector<std::byte*> bases_;
};

/// What every rank is to have, as execute() leaves it, played on threads.
std::vector<Bits> executed(const DeviceCase& point);

/// An algorithm and its options.
struct ScheduleFamily {
  std::string name;  // of tests
  std::string spec;
  /// For several numbers of ranks, of those that it allows; none without that collective.
  std::vector<Schedule> schedules(const Collective& collective = {}) const;
};
/// Every algorithm of the registry, and options that change its shape.
std::vector<ScheduleFamily> every_family();

}  // namespace collbench
