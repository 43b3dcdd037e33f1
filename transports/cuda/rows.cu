#include <algorithm>
#include <string>

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "core/error.h"
#include "transports/cuda/cuda_error.h"
#include "transports/cuda/rows.h"

namespace collbench {
namespace {

constexpr int threads_per_block = 256;
constexpr unsigned polls_between_looks = 1024;

struct RowDeadline {
  std::int32_t* late;
  std::uint64_t nanoseconds;
  bool beyond_device;
};

__device__ std::uint64_t device_nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// A block of threads as the Machine of play_row().
class BlockMachine {
 public:
  __device__ BlockMachine(const RowDeadline& watch, std::byte** addresses)
      : watch_(watch), addresses_(addresses) {}
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return threads_per_block; }
  __device__ static bool any(bool said) { return __syncthreads_or(said ? 1 : 0) != 0; }

  // Relaxed: a load that acquires throws away what the multiprocessor has cached, for all of its
  // blocks, and this one is repeated without end.
  __device__ bool reached(const std::uint64_t* flag, std::uint64_t number) const {
    auto& word = *const_cast<std::uint64_t*>(flag);
    if (watch_.beyond_device) {
      return cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>(word).load(
                 cuda::memory_order_relaxed) >= number;
    }
    return cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(word).load(
               cuda::memory_order_relaxed) >= number;
  }

  __device__ void acquire() const {
    if (watch_.beyond_device) {
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_system);
    } else {
      cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    }
  }

  __device__ void publish(std::uint64_t* flag, std::uint64_t number) const {
    if (watch_.beyond_device) {
      cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>(*flag).store(
          number, cuda::memory_order_release);
    } else {
      cuda::atomic_ref<std::uint64_t, cuda::thread_scope_device>(*flag).store(
          number, cuda::memory_order_release);
    }
  }

  __device__ std::byte** addresses(int slot) const {
    return addresses_ + slot * device_near_operands;
  }

  // Checks the clock and the failure flag in host memory only now and then: both are slow to read.
  __device__ bool patient() {
    if (++polls_ % polls_between_looks != 0) return true;
    const std::uint64_t now = device_nanoseconds();
    if (began_ == 0) began_ = now;
    if (now - began_ > watch_.nanoseconds) return false;
    return *static_cast<volatile std::int32_t*>(watch_.late) == 0;
  }

 private:
  const RowDeadline& watch_;
  std::byte** addresses_;
  unsigned polls_ = 0;
  std::uint64_t began_ = 0;
};

template <class Element, class Op>
__global__ void __launch_bounds__(threads_per_block)
    play_rows(const __grid_constant__ DeviceRowTable table, const std::int32_t* ranks,
              const __grid_constant__ RowDeadline watch) {
  __shared__ std::byte* addresses[2 * device_near_operands];
  BlockMachine machine(watch, addresses);
  const int lane = static_cast<int>(blockIdx.x) % table.lanes;
  const Rank rank = ranks[static_cast<int>(blockIdx.x) / table.lanes];
  if (!play_row<Element, Op>(table, rank, lane, machine) && threadIdx.x == 0) {
    *static_cast<volatile std::int32_t*>(watch.late) = rank + 1;
  }
}

const void* kernel_of(DataType type, ReduceOp op) {
  const void* kernel = nullptr;
  visit_element(type, op, [&]<class Element, class Op>() {
    kernel = reinterpret_cast<const void*>(play_rows<Element, Op>);
  });
  return kernel;
}

}  // namespace

int most_cuda_lanes(DataType type, ReduceOp op, int ranks) {
  int device = 0;
  int processors = 0;
  int blocks = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
             "cudaDeviceGetAttribute");
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_of(type, op),
                                                           threads_per_block, 0),
             "looking up how many blocks gpu:" + std::to_string(device) + " holds");
  const int lanes = processors * blocks / std::max(ranks, 1);
  if (lanes < 1) {
    throw Unavailable("gpu:" + std::to_string(device) + " plays " +
                      std::to_string(processors * blocks) +
                      " ranks at a time with the persistent kernel, not " + std::to_string(ranks) +
                      "; use the graph executor");
  }
  return lanes;
}

void launch_cuda_rows(const CudaRowLaunch& launch, DataType type, ReduceOp op,
                      CUstream_st* stream) {
  DeviceRowTable table = launch.table;
  const std::int32_t* ranks = launch.ranks;
  RowDeadline watch{launch.late, static_cast<std::uint64_t>(launch.patience.count() * 1e9),
                    launch.beyond_device};
  void* arguments[] = {&table, &ranks, &watch};
  const auto blocks = static_cast<unsigned>(launch.rank_count * table.lanes);
  check_cuda(cudaLaunchCooperativeKernel(kernel_of(type, op), dim3(blocks), dim3(threads_per_block),
                                         arguments, 0, stream),
             "launching the persistent kernel");
}

}  // namespace collbench
