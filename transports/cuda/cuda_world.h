// All ranks of one process on its GPUs: a collective of all of them as one call.
//
// Ranks are logical devices: several may share a GPU. The plans of all ranks are lowered to
// commands (device_commands.h) and played by one of two executors:
//   graph       a CUDA graph with a kernel for each level (device_levels.h): the commands that need
//               nothing of each other
//   persistent  one kernel on each device that interprets the ranks' rows (device_rows.h), with
//               flags in device memory and no host in the loop
// Both give the bits of execute(). Memory of another GPU is read where it lies if the two are
// peers, else it goes through host memory. Buffers in host memory are copied to the device and
// back.
//
// Everything is made once for each set of buffers, and replayed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.h"
#include "algorithms/schedule.h"
#include "core/units.h"
#include "transports/cuda/cuda_call.h"
#include "transports/endpoint.h"

namespace collbench {

/// `automatic` is the graph on one device; on several, persistent up to 4 MiB and the graph above.
enum class CudaExecutor : std::uint8_t { automatic, graph, persistent };
std::string_view to_string(CudaExecutor executor);
/// "auto", "graph", "persistent"; empty is auto. Throws InvalidArgument with a suggestion.
CudaExecutor parse_cuda_executor(std::string_view name);

struct CudaWorldOptions {
  std::vector<int> devices;  // of each rank, by CUDA's numbers
  CudaExecutor executor = CudaExecutor::automatic;
  Seconds timeout{60};  // for one collective of the persistent kernel
};

/// One collective of all ranks. `key` tells apart the schedules of one world: equal keys, counts,
/// types and operators must mean equal schedules.
struct CudaCollective {
  std::int64_t key = 0;
  ReduceOp op = ReduceOp::sum;
  std::span<const Region> in;   // of each rank: what it has before
  std::span<const Region> out;  // what it has after; in place, both are the whole vector
  Collective collective = {};
  bool in_place = in[0].data == out[0].data;
  /// Elements of the vector.
  std::int64_t count() const { return std::max(in[0].count, out[0].count); }
  DataType type() const { return in[0].type; }
  CudaCall call() const { return {collective, count(), type(), op, in_place}; }
};

/// Thread safety: one thread at a time. Throws Unavailable where the devices cannot do it,
/// TransportError with CUDA's words if they fail, after which the world is unusable.
class CudaWorld {
 public:
  /// Throws Unavailable, with the reason, if there are no GPUs or they cannot do it.
  explicit CudaWorld(const CudaWorldOptions& options);
  ~CudaWorld();
  CudaWorld(const CudaWorld&) = delete;
  CudaWorld& operator=(const CudaWorld&) = delete;

  const CudaWorldOptions& options() const;
  /// "2 logical devices on gpu:0 (NVIDIA H200)".
  std::string description() const;

  /// Plays `schedule`; done when it returns. Only the first call of a key looks at the schedule.
  void play(const CudaCollective& collective, const Schedule& schedule);
  /// The time of one of `replays` run back to back, by the devices' clock; the host only keeps them
  /// busy.
  Seconds time_on_device(const CudaCollective& collective, const Schedule& schedule, int replays);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace collbench
