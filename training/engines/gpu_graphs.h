// The passes of a network as CUDA graphs: launched as one, with events where gradients are final.
//
// A pass is enqueued plainly the first time, in which libraries load and choose, captured the
// second time, and from then on replayed. Between two cuts it is one graph.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

struct CUstream_st;     // what cudaStream_t points to
struct CUgraphExec_st;  // cudaGraphExec_t
struct CUevent_st;      // cudaEvent_t

namespace collbench {

/// Thread safety: one thread. Throws TransportError in CUDA's words.
class GpuPassGraphs {
 public:
  explicit GpuPassGraphs(CUstream_st* stream) : stream_(stream) {}
  ~GpuPassGraphs();
  GpuPassGraphs(const GpuPassGraphs&) = delete;
  GpuPassGraphs& operator=(const GpuPassGraphs&) = delete;

  using Cut = std::function<void(std::int64_t mark)>;
  /// Does `enqueue(cut)`, or what it did before; it must enqueue the same each time.
  void run(const std::function<void(const Cut&)>& enqueue);
  /// Calls reached(mark) for each cut of the last run, once the device is there.
  void follow(const std::function<void(std::int64_t mark)>& reached);

 private:
  struct Part {
    CUgraphExec_st* graph = nullptr;  // null: enqueued plainly, or nothing
    CUevent_st* event = nullptr;      // null for what follows the last cut
    std::int64_t mark = 0;
  };
  void record(std::size_t part, std::int64_t mark);
  void begin_capture();
  void end_capture(std::size_t part);

  CUstream_st* stream_;
  int runs_ = 0;
  std::vector<Part> parts_;
};

}  // namespace collbench
