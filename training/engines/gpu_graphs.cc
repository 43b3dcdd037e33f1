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

GpuPassGraphs::~GpuPassGraphs() {
  for (const Part& part : parts_) {
    if (part.graph != nullptr) cudaGraphExecDestroy(part.graph);
    if (part.event != nullptr) cudaEventDestroy(part.event);
  }
}

void GpuPassGraphs::record(std::size_t part, std::int64_t mark) {
  if (parts_.size() <= part) parts_.resize(part + 1);
  if (parts_[part].event == nullptr) {
    check_cuda(cudaEventCreateWithFlags(&parts_[part].event, cudaEventDisableTiming),
               "cudaEventCreate");
  }
  parts_[part].mark = mark;
  check_cuda(cudaEventRecord(parts_[part].event, stream_), "cudaEventRecord");
}

// Other threads may allocate meanwhile: only what this one does is captured or refused.
void GpuPassGraphs::begin_capture() {
  check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
             "cudaStreamBeginCapture");
}

void GpuPassGraphs::end_capture(std::size_t part) {
  if (parts_.size() <= part) parts_.resize(part + 1);
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
  const cudaError_t error = cudaGraphInstantiate(&parts_[part].graph, graph, 0);
  cudaGraphDestroy(graph);
  check_cuda(error, "cudaGraphInstantiate");
  check_cuda(cudaGraphLaunch(parts_[part].graph, stream_), "cudaGraphLaunch");
}

void GpuPassGraphs::run(const std::function<void(const Cut&)>& enqueue) {
  ++runs_;
  std::size_t part = 0;
  if (runs_ == 1) {
    enqueue([&](std::int64_t mark) { record(part++, mark); });
    return;
  }
  if (runs_ == 2) {
    begin_capture();
    try {
      enqueue([&](std::int64_t mark) {
        end_capture(part);
        record(part++, mark);
        begin_capture();
      });
    } catch (...) {
      cudaGraph_t abandoned = nullptr;
      if (cudaStreamEndCapture(stream_, &abandoned) == cudaSuccess) cudaGraphDestroy(abandoned);
      throw;
    }
    end_capture(part);
    return;
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].graph != nullptr) {
      check_cuda(cudaGraphLaunch(parts_[i].graph, stream_), "cudaGraphLaunch");
    }
    if (parts_[i].event != nullptr) record(i, parts_[i].mark);
  }
}

void GpuPassGraphs::follow(const std::function<void(std::int64_t mark)>& reached) {
  for (const Part& part : parts_) {
    if (part.event == nullptr) continue;
    check_cuda(cudaEventSynchronize(part.event), "the backward pass");
    reached(part.mark);
  }
}

}  // namespace collbench
