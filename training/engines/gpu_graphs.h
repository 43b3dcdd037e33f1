// The passes of a network as CUDA graphs, with events where gradients are final.
//
// A pass is enqueued plainly the first time, in which libraries load and choose, captured the
// second time, and from then on replayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

struct CUstream_st;     // what cudaStream_t points to
struct CUgraphExec_st;  // cudaGraphExec_t
struct CUevent_st;      // cudaEvent_t

namespace collbench {

/// Thread safety: one thread. Throws TransportError in CUDA's words.
class GpuPassGraph {
 public:
  /// Of a pass that begins and ends on this stream.
  explicit GpuPassGraph(CUstream_st* stream) : stream_(stream) {}
  ~GpuPassGraph();
  GpuPassGraph(const GpuPassGraph&) = delete;
  GpuPassGraph& operator=(const GpuPassGraph&) = delete;

  /// Puts a mark on a stream of the pass.
  using Mark = std::function<void(std::int64_t value, CUstream_st* stream)>;
  /// Does `enqueue(mark)`, or what it did before; it must enqueue the same each time.
  void run(const std::function<void(const Mark&)>& enqueue);
  /// Calls reached(value) for each mark of the last run, in their order, once the device is there.
  void follow(const std::function<void(std::int64_t value)>& reached);

 private:
  struct Reached {
    std::int64_t value = 0;
    CUevent_st* event = nullptr;
  };
  void record(std::size_t i, std::int64_t value, CUstream_st* stream, unsigned flags);

  CUstream_st* stream_;
  int runs_ = 0;
  CUgraphExec_st* graph_ = nullptr;
  std::vector<Reached> marks_;
};

}  // namespace collbench
