// A rank's call of a collective on GPUs, and the schedule that implements it.
//
// Whether ranks are threads or processes, all must have made the same call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "algorithms/collective.h"
#include "algorithms/schedule.h"
#include "core/data_type.h"
#include "transports/communicator.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {

struct CudaCall {
  std::optional<Collective> collective;  // nothing: a barrier
  std::int64_t count = 0;                // elements of the vector
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = true;
  bool operator==(const CudaCall&) const = default;
};

/// As all ranks must make it: an operator that means nothing is left out.
CudaCall call_of(const Collective& collective, std::int64_t count, DataType type, ReduceOp op,
                 bool in_place);

/// A communicator on GPUs: every collective of a rank becomes the call that all ranks must make.
class CudaCollectives : public Communicator {
 public:
  void all_reduce(Region in, Region out, ReduceOp op) final;
  void broadcast(Region region, Rank root) final;
  void perform(const Collective& collective, Region in, Region out, ReduceOp op) final;

 private:
  /// In place if `call` says so: then `in` and `out` are the whole vector.
  virtual void play(const CudaCall& call, Region in, Region out) = 0;
};

/// Where the vector would begin of which `in` and `out` are what the buffers of a rank hold; null
/// for a buffer that is not there.
std::pair<std::byte*, std::byte*> vector_starts(const CudaCall& call, Rank rank, int ranks,
                                                std::byte* in, std::byte* out);

/// Which two ranks made different calls, as an error message; empty if all are equal.
std::string disagreement(std::span<const CudaCall> calls);

/// The schedules of one group of ranks, the last few hundred cached, because choosing one may
/// compare all algorithms.
/// Thread safety: one thread at a time.
class CudaSchedules {
 public:
  CudaSchedules(int ranks, PlayedSchedules played, std::string name);
  /// The schedule of what is no barrier, valid until the next call. Equal keys, counts and types
  /// give the same one. Throws Unavailable if there is none.
  const Schedule& of(const CudaCall& call);
  static std::int64_t key(const CudaCall& call);

 private:
  int ranks_;
  PlayedSchedules played_;
  std::string name_;
  std::map<std::tuple<std::int64_t, std::int64_t, DataType>, Schedule> known_;
};

}  // namespace collbench
