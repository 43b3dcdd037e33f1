// The persistent kernel: rows played by a GPU, one block of threads for each lane of each rank.
#pragma once

#include <cstdint>

#include "core/data_type.h"
#include "core/units.h"
#include "transports/cuda/device_row_player.h"

struct CUstream_st;  // what cudaStream_t points to

namespace collbench {

/// The arguments of one launch on one device.
struct CudaRowLaunch {
  DeviceRowTable table;
  const std::int32_t* ranks = nullptr;  // those of this device, in its memory
  int rank_count = 0;
  bool beyond_device = false;    // flags are also those of other devices or processes
  std::int32_t* late = nullptr;  // host memory: 1 + a rank that timed out; not 0 ends all waits
  Seconds patience{60};          // time limit of one kernel
};

/// How many lanes of `ranks` ranks the current device can run at a time. Throws Unavailable if not
/// even one.
int most_cuda_lanes(DataType type, ReduceOp op, int ranks);

/// Enqueues the kernel on the current device (a cooperative launch: all blocks run at the same
/// time, or it throws).
void launch_cuda_rows(const CudaRowLaunch& launch, DataType type, ReduceOp op, CUstream_st* stream);

}  // namespace collbench
