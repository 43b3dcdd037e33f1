#include "training/engines/gpu_lanes.h"

#include <algorithm>

#include <cuda_runtime_api.h>

#include "transports/cuda/cuda_error.h"

namespace collbench {
namespace {

CUevent_st* make_lane_event() {
  CUevent_st* event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return event;
}

void let_follow(CUstream_st* stream, CUevent_st* event) {
  check_cuda(cudaStreamWaitEvent(stream, event, 0), "cudaStreamWaitEvent");
}

void record_lane(CUevent_st* event, CUstream_st* stream) {
  check_cuda(cudaEventRecord(event, stream), "cudaEventRecord");
}

}  // namespace

LaneStream::LaneStream() {
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
}
LaneStream::~LaneStream() { cudaStreamDestroy(stream_); }

GpuLanes::GpuLanes(std::int64_t largest_rows)
    : chain_(chain_stream_.get(), largest_rows),
      beside_(beside_stream_.get(), largest_rows),
      fork_(make_lane_event()),
      join_(make_lane_event()) {}

GpuLanes::~GpuLanes() {
  cudaStreamSynchronize(chain_.stream());
  cudaStreamSynchronize(beside_.stream());
  for (const auto& [memory, event] : reading_) unused_.push_back(event);
  for (CUevent_st* event : unused_) cudaEventDestroy(event);
  cudaEventDestroy(fork_);
  cudaEventDestroy(join_);
}

void GpuLanes::fork() {
  record_lane(fork_, chain_.stream());
  let_follow(beside_.stream(), fork_);
}

void GpuLanes::reads_beside(const float* memory) {
  if (unused_.empty()) unused_.push_back(make_lane_event());
  record_lane(unused_.back(), beside_.stream());
  reading_.emplace_back(memory, unused_.back());
  unused_.pop_back();
}

void GpuLanes::wait_to_write(const float* memory) {
  const auto ends = std::partition(reading_.begin(), reading_.end(),
                                   [memory](const auto& read) { return read.first != memory; });
  for (auto read = ends; read != reading_.end(); ++read) {
    let_follow(chain_.stream(), read->second);
    unused_.push_back(read->second);
  }
  reading_.erase(ends, reading_.end());
}

void GpuLanes::join() {
  record_lane(join_, beside_.stream());
  let_follow(chain_.stream(), join_);
  for (const auto& [memory, event] : reading_) unused_.push_back(event);
  reading_.clear();
}

}  // namespace collbench
