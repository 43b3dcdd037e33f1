// A rank's call of a collective on GPUs, and the schedule that implements it.
//
// Whether ranks are threads or processes, all must have made the same call.
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

struct CudaCall {
  enum class Kind : std::uint8_t { barrier, all_reduce, broadcast };
  Kind kind = Kind::barrier;
  std::int64_t count = 0;  // elements of a region
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;  // of a broadcast
  bool in_place = true;
  bool operator==(const CudaCall&) const = default;
};

/// Which two ranks made different calls, as an error message; empty if all are equal.
std::string disagreement(std::span<const CudaCall> wishes);

/// The schedules of one group of ranks, cached, because choosing one may compare all algorithms.
/// Thread safety: one thread at a time.
class CudaSchedules {
 public:
  CudaSchedules(int ranks, ScheduleChoice choice);
  /// The schedule of an all-reduce or a broadcast. Equal keys, counts and types give the same one.
  const Schedule& of(const CudaCall& wish);
  static std::int64_t key(const CudaCall& wish);

 private:
  int ranks_;
  ScheduleChoice choice_;
  std::map<std::tuple<std::int64_t, std::int64_t, DataType>, Schedule> known_;
};

}  // namespace collbench
