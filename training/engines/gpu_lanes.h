// The two streams of a pass over a network on a GPU: the chain of values and of their gradients,
// and beside it what only has to be done in time for the all-reduce, the gradients of kernels.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "training/engines/gpu_math.h"

struct CUstream_st;  // what cudaStream_t points to
struct CUevent_st;   // cudaEvent_t

namespace collbench {

class LaneStream {
 public:
  LaneStream();
  ~LaneStream();
  LaneStream(const LaneStream&) = delete;
  LaneStream& operator=(const LaneStream&) = delete;
  CUstream_st* get() const { return stream_; }

 private:
  CUstream_st* stream_ = nullptr;
};

/// Thread safety: one thread. All can be captured into a graph, which must begin on the chain's
/// stream and end after join(). Throws TransportError in CUDA's words.
class GpuLanes {
 public:
  /// As GpuMath.
  explicit GpuLanes(std::int64_t largest_rows);
  ~GpuLanes();
  GpuLanes(const GpuLanes&) = delete;
  GpuLanes& operator=(const GpuLanes&) = delete;

  GpuMath& chain() { return chain_; }
  GpuMath& beside() { return beside_; }

  /// What is enqueued beside from now on follows all that the chain has.
  void fork();
  /// What has been enqueued beside reads this memory.
  void reads_beside(const float* memory);
  /// The chain goes on when nothing beside reads this memory any more.
  void wait_to_write(const float* memory);
  /// The chain goes on when all beside is done.
  void join();

 private:
  LaneStream chain_stream_;
  LaneStream beside_stream_;
  GpuMath chain_;
  GpuMath beside_;
  CUevent_st* fork_ = nullptr;
  CUevent_st* join_ = nullptr;
  std::vector<CUevent_st*> unused_;
  std::vector<std::pair<const float*, CUevent_st*>> reading_;  // beside
};

}  // namespace collbench
