// All ranks of one process on its GPUs: an all-reduce of all of them as one call.
//
// Ranks are logical devices: several may share a GPU. The plans of all ranks are lowered to
// commands (device_commands.h) and played by one of two executors:
//   graph       a CUDA graph with a node for each command: copies and reduce kernels, ordered by
//               what they read and write
//   persistent  one kernel on each device that interprets the ranks' rows (device_rows.h), with
//               flags in device memory and no host in the loop
// Both give the bits of execute(). Memory of another GPU is read where it lies if the two are
// peers, else it goes through host memory. Buffers in host memory are copied to the device and
// back.
//
// Everything is made once for each set of buffers, and replayed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/schedule.h"
#include "core/units.h"
#include "transports/endpoint.h"

namespace collbench {

/// `automatic` is persistent up to 4 MiB and the graph above.
enum class CudaExecutor : std::uint8_t { automatic, graph, persistent };
std::string_view to_string(CudaExecutor executor);
/// "auto", "graph", "persistent"; empty is auto. Throws InvalidArgument with a suggestion.
CudaExecutor parse_cuda_executor(std::string_view name);

struct CudaWorldOptions {
  std::vector<int> devices;  // of each rank, by CUDA's numbers
  CudaExecutor executor = CudaExecutor::automatic;
  Seconds timeout{60};      // for one all-reduce of the persistent kernel
  bool peer_access = true;  // false: between devices everything goes through host memory
};

/// One collective of all ranks. `key` tells apart the schedules of one world: equal keys, counts,
/// types and operators must mean equal schedules.
struct CudaCollective {
  std::int64_t key = 0;
  ReduceOp op = ReduceOp::sum;
  std::span<const Region> in;   // of each rank
  std::span<const Region> out;  // in place where they are the same
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

  int ranks() const;
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

/// The rate of the fastest copy of `size` within a device, counting the bytes read (as many are
/// written): a bound for an all-reduce on one device.
Bandwidth measure_cuda_copy(int device, Bytes size, int repetitions);

}  // namespace collbench
