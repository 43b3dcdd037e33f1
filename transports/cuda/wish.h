// What the ranks of a collective on GPUs come for, and which schedule does it.
//
// However they meet, by threads or by processes, all must have come for the same.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>

#include "algorithms/schedule.h"
#include "core/data_type.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {

struct CudaWish {
  enum class Kind : std::uint8_t { barrier, all_reduce, broadcast };
  Kind kind = Kind::barrier;
  std::int64_t count = 0;  // elements of a region
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;  // of a broadcast
  bool in_place = true;
  bool operator==(const CudaWish&) const = default;
};

/// Those of all ranks, by rank: which two differ, in words; empty if none do.
std::string disagreement(std::span<const CudaWish> wishes);

/// The schedules of one group of ranks, asked for once: a choice may weigh all algorithms.
/// Thread safety: one thread at a time.
class CudaSchedules {
 public:
  CudaSchedules(int ranks, ScheduleChoice choice);
  /// That of an all-reduce or a broadcast. Wishes with equal keys, counts and types have the same.
  const Schedule& of(const CudaWish& wish);
  static std::int64_t key(const CudaWish& wish);

 private:
  int ranks_;
  ScheduleChoice choice_;
  std::map<std::tuple<std::int64_t, std::int64_t, DataType>, Schedule> known_;
};

}  // namespace collbench
