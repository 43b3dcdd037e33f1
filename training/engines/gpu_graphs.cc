#include "training/engines/gpu_graphs.h"

#include <cuda_runtime_api.h>

#include "training/engines/gpu_array.h"
#include "transports/cuda/cuda_error.h"

namespace collbench {

void gpu_copy(const float* from, float* to, std::int64_t count, CUstream_st* stream) {
  check_cuda(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(float),
                             cudaMemcpyDeviceToDevice, stream),
             "cudaMemcpyAsync");
}

std::vector<double> gpu_values(const GpuArray<float>& array) {
  std::vector<float> values(static_cast<std::size_t>(array.size()));
  copy_with_cuda(reinterpret_cast<std::byte*>(values.data()),
                 reinterpret_cast<const std::byte*>(array.data()),
                 Bytes{std::ssize(values)} * sizeof(float));
  return {values.begin(), values.end()};
}

void set_gpu_values(std::span<const double> from, const GpuArray<float>& to) {
  const std::vector<float> values(from.begin(), from.end());
  copy_with_cuda(reinterpret_cast<std::byte*>(to.data()),
                 reinterpret_cast<const std::byte*>(values.data()),
                 Bytes{std::ssize(values)} * sizeof(float));
}

GpuPassGraph::~GpuPassGraph() {
  if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  for (const Reached& mark : marks_) cudaEventDestroy(mark.event);
}

void GpuPassGraph::record(std::size_t i, std::int64_t value, CUstream_st* stream, unsigned flags) {
  if (marks_.size() <= i) marks_.resize(i + 1);
  marks_[i].value = value;
  if (marks_[i].event == nullptr) {
    check_cuda(cudaEventCreateWithFlags(&marks_[i].event, cudaEventDisableTiming),
               "cudaEventCreate");
  }
  check_cuda(cudaEventRecordWithFlags(marks_[i].event, stream, flags), "cudaEventRecord");
}

void GpuPassGraph::run(const std::function<void(const Mark&)>& enqueue) {
  ++runs_;
  std::size_t marks = 0;
  if (runs_ == 1) {
    enqueue([&](std::int64_t value, CUstream_st* stream) {
      record(marks++, value, stream, cudaEventRecordDefault);
    });
    return;
  }
  if (runs_ == 2) {
    // Other threads may allocate meanwhile: only what this one does is captured or refused.
    check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    cudaGraph_t graph = nullptr;
    try {
      enqueue([&](std::int64_t value, CUstream_st* stream) {
        record(marks++, value, stream, cudaEventRecordExternal);
      });
    } catch (...) {
      if (cudaStreamEndCapture(stream_, &graph) == cudaSuccess) cudaGraphDestroy(graph);
      throw;
    }
    check_cuda(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    const cudaError_t error = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(error, "cudaGraphInstantiate");
  }
  check_cuda(cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch");
}

void GpuPassGraph::follow(const std::function<void(std::int64_t value)>& reached) {
  for (const Reached& mark : marks_) {
    check_cuda(cudaEventSynchronize(mark.event), "the backward pass");
    reached(mark.value);
  }
}

}  // namespace collbench
