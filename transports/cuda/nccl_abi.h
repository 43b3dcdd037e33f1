// NCCL's binary interface, as far as collbench calls it: declarations of our own, so that no header
// of NCCL is needed to build and one build serves every version from 2.18 on.
//
// NCCL only appends to its structures, and their first word is the size that the caller was built
// with. These are the structures of 2.18 (configuration) and 2.22 (prediction), which later
// versions accept. Source: nccl.h of NCCL 2.18 to 2.30.
#pragma once

#include <climits>
#include <cstddef>

namespace collbench {

struct NcclUniqueId {
  char bytes[128];
};

using NcclComm = void*;  // ncclComm_t

enum NcclResult : int {
  nccl_success = 0,
  nccl_invalid_usage = 5,
  nccl_remote_error = 6,
  nccl_in_progress = 7,
};

enum NcclType : int {
  nccl_u8 = 1,
  nccl_i32 = 2,
  nccl_i64 = 4,
  nccl_f16 = 6,
  nccl_f32 = 7,
  nccl_f64 = 8,
  nccl_bf16 = 9,
};

enum NcclOp : int { nccl_sum = 0, nccl_prod = 1, nccl_max = 2, nccl_min = 3, nccl_avg = 4 };

/// ncclConfig_v21800. INT_MIN and null mean NCCL's own choice.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = INT_MIN;
  int cga_cluster_size = INT_MIN;
  int least_ctas = INT_MIN;
  int most_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
  int beyond = INT_MIN;  // where a later version has its next field
};

/// ncclSimInfo_v22200.
struct NcclSimulation {
  std::size_t size = sizeof(NcclSimulation);
  unsigned magic = 0x74685283;
  unsigned version = 22200;
  float estimated_us = -1;
};

}  // namespace collbench
