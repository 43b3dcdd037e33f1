// The persistent kernel: rows played by a GPU, one block of threads for each lane of each rank.
#pragma once

#include <cstdint>

#include "core/data_type.h"
#include "core/units.h"
#include "transports/cuda/device_row_player.h"

struct CUstream_st;  // what cudaStream_t points to

namespace collbench {

/// What one launch on one device plays.
struct CudaRowLaunch {
  DeviceRowTable table;
  const std::int32_t* ranks = nullptr;  // those of this device, in its memory
  int rank_count = 0;
  bool beyond_device = false;  // flags are also those of other devices or processes
  std::int32_t* late =
      nullptr;           // host memory: 1 + a rank that waited in vain; not 0 ends all waits
  Seconds patience{60};  // with one kernel
};

/// How many lanes of `ranks` ranks the current device can play at a time. Throws Unavailable if not
/// one.
int most_cuda_lanes(DataType type, ReduceOp op, int ranks);

/// Enqueues the kernel on the current device. All blocks run at a time, or it throws.
void launch_cuda_rows(const CudaRowLaunch& launch, DataType type, ReduceOp op, CUstream_st* stream);

}  // namespace collbench
