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

/// The functions that are called. Those of `optional` may be null: older versions lack them.
struct NcclFunctions {
  int (*get_version)(int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  const char* (*last_error)(NcclComm) = nullptr;
  int (*get_unique_id)(NcclUniqueId*) = nullptr;
  int (*init_rank)(NcclComm*, int ranks, NcclUniqueId, int rank, NcclConfig*) = nullptr;
  int (*finalize)(NcclComm) = nullptr;
  int (*destroy)(NcclComm) = nullptr;
  int (*abort)(NcclComm) = nullptr;
  int (*async_error)(NcclComm, int*) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int type, int op, NcclComm,
                    void* stream) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int type, int root, NcclComm,
                   void* stream) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;

  struct Optional {
    int (*group_simulate_end)(NcclSimulation*) = nullptr;                    // since 2.22
    int (*register_buffer)(NcclComm, void*, std::size_t, void**) = nullptr;  // since 2.19
    int (*deregister_buffer)(NcclComm, void*) = nullptr;
    int (*mem_alloc)(void**, std::size_t) = nullptr;
    int (*mem_free)(void*) = nullptr;
  } optional;
};

}  // namespace collbench
