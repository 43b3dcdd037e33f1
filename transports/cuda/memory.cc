#include "transports/cuda/memory.h"

#include <algorithm>

#include <cuda_runtime_api.h>

#include "core/error.h"
#include "transports/cuda/cuda_error.h"

namespace collbench {
namespace {

std::size_t at_least_one(Bytes size) {
  return static_cast<std::size_t>(std::max<std::int64_t>(size.count, 1));
}

}  // namespace

std::shared_ptr<std::byte> allocate_on_cuda(int device, Bytes size) {
  const std::string where = "gpu:" + std::to_string(device);
  check_cuda(cudaSetDevice(device), "using " + where);
  void* memory = nullptr;
  if (const cudaError_t error = cudaMalloc(&memory, at_least_one(size)); error != cudaSuccess) {
    cudaGetLastError();
    std::size_t free = 0;
    std::size_t total = 0;
    if (error != cudaErrorMemoryAllocation || cudaMemGetInfo(&free, &total) != cudaSuccess) {
      check_cuda(error, "cudaMalloc on " + where);
    }
    throw Unavailable(where + " is out of memory: " + to_string(size) + " wanted, " +
                      rounded(Bytes{static_cast<std::int64_t>(free)}) + " of " +
                      rounded(Bytes{static_cast<std::int64_t>(total)}) +
                      " free; use smaller vectors or fewer workers");
  }
  std::shared_ptr<std::byte> owner(static_cast<std::byte*>(memory),
                                   [](std::byte* m) { cudaFree(m); });
  check_cuda(cudaMemset(memory, 0, at_least_one(size)), "cudaMemset on " + where);
  check_cuda(cudaDeviceSynchronize(), "clearing memory of " + where);
  return owner;
}

std::shared_ptr<std::byte> allocate_for_cuda(Bytes size) {
  void* memory = nullptr;
  check_cuda(
      cudaHostAlloc(&memory, at_least_one(size), cudaHostAllocPortable | cudaHostAllocMapped),
      "pinning " + to_string(size) + " of host memory");
  std::fill_n(static_cast<std::byte*>(memory), at_least_one(size), std::byte{0});
  return {static_cast<std::byte*>(memory), [](std::byte* m) { cudaFreeHost(m); }};
}

int current_cuda_device() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

void use_cuda_device(int device) {
  check_cuda(cudaSetDevice(device), "using gpu:" + std::to_string(device));
}

bool is_on_cuda(const std::byte* memory) {
  cudaPointerAttributes attributes{};
  const cudaError_t error = cudaPointerGetAttributes(&attributes, memory);
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess &&
         (attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged);
}

void copy_with_cuda(std::byte* to, const std::byte* from, Bytes size) {
  check_cuda(cudaMemcpy(to, from, static_cast<std::size_t>(size.count), cudaMemcpyDefault),
             "cudaMemcpy");
  // A copy within a device is only enqueued.
  check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
}

Bandwidth measure_cuda_copy(int device, const std::byte* from, Bytes size, int repetitions) {
  const auto to = allocate_on_cuda(device, size);
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check_cuda(cudaEventCreate(&begin), "cudaEventCreate");
  check_cuda(cudaEventCreate(&end), "cudaEventCreate");
  float best = 0;
  for (int i = 0; i < repetitions; ++i) {
    check_cuda(cudaEventRecord(begin), "cudaEventRecord");
    check_cuda(cudaMemcpyAsync(to.get(), from, static_cast<std::size_t>(size.count),
                               cudaMemcpyDeviceToDevice),
               "cudaMemcpyAsync");
    check_cuda(cudaEventRecord(end), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    if (best == 0 || milliseconds < best) best = milliseconds;
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return size / Seconds{best * 1e-3};
}

}  // namespace collbench
