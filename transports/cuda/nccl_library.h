// NCCL as found at run time: no header and no library of it is needed to build.
//
// libnccl.so.2 is looked for where the dynamic linker looks, then in the Python packages of this
// machine and user (nvidia/nccl/lib, where PyTorch's wheels have it). COLLBENCH_NCCL_LIBRARY names
// a file instead. Versions from 2.18 on are used: the first with all functions that a
// communicator needs.
#pragma once

#include <string>
#include <vector>

#include "core/shared_library.h"
#include "transports/cuda/nccl_abi.h"

namespace collbench {

/// Loads the library, reads its version and unloads it. Never throws; starts no GPU.
FoundLibrary find_nccl();

/// The functions that are called.
struct NcclFunctions {
  explicit NcclFunctions(const SharedLibrary& nccl) : library(nccl) {}

  SharedLibrary library;
  LibraryFunction<const char*(int)> error_string{library, "ncclGetErrorString"};
  LibraryFunction<const char*(NcclComm)> last_error{library, "ncclGetLastError"};
  LibraryFunction<int(NcclUniqueId*)> get_unique_id{library, "ncclGetUniqueId"};
  LibraryFunction<int(NcclComm*, int ranks, NcclUniqueId, int rank, NcclConfig*)> init_rank{
      library, "ncclCommInitRankConfig"};
  LibraryFunction<int(NcclComm)> finalize{library, "ncclCommFinalize"};
  LibraryFunction<int(NcclComm)> destroy{library, "ncclCommDestroy"};
  LibraryFunction<int(NcclComm)> abort{library, "ncclCommAbort"};
  LibraryFunction<int(NcclComm, int*)> async_error{library, "ncclCommGetAsyncError"};
  LibraryFunction<int(const void*, void*, std::size_t, int type, int op, NcclComm, void* stream)>
      all_reduce{library, "ncclAllReduce"};
  LibraryFunction<int(const void*, void*, std::size_t, int type, int root, NcclComm, void* stream)>
      broadcast{library, "ncclBroadcast"};
  LibraryFunction<int(const void*, void*, std::size_t own, int type, int op, NcclComm,
                      void* stream)>
      reduce_scatter{library, "ncclReduceScatter"};
  LibraryFunction<int(const void*, void*, std::size_t own, int type, NcclComm, void* stream)>
      all_gather{library, "ncclAllGather"};
  LibraryFunction<int(const void*, void*, std::size_t, int type, int op, int root, NcclComm,
                      void* stream)>
      reduce{library, "ncclReduce"};
  LibraryFunction<int()> group_start{library, "ncclGroupStart"};
  LibraryFunction<int()> group_end{library, "ncclGroupEnd"};

  static constexpr Necessity may_lack = Necessity::optional;
  LibraryFunction<int(NcclSimulation*)> group_simulate_end{library, "ncclGroupSimulateEnd",
                                                           may_lack};  // since 2.22
  LibraryFunction<int(NcclComm, void*, std::size_t, void**)> register_buffer{
      library, "ncclCommRegister", may_lack};  // since 2.19
  LibraryFunction<int(NcclComm, void*)> deregister_buffer{library, "ncclCommDeregister", may_lack};
  LibraryFunction<int(void**, std::size_t)> mem_alloc{library, "ncclMemAlloc", may_lack};
  LibraryFunction<int(void*)> mem_free{library, "ncclMemFree", may_lack};
};

/// The loaded library. It stays loaded until the process ends, because it may have started threads.
struct LoadedNccl {
  NcclFunctions call;
  int number = 0;  // as ncclGetVersion has it
  std::string version;
  std::string path;
};
/// Loads it at the first call. Throws Unavailable with the reason that find_nccl() gives.
const LoadedNccl& load_nccl();

/// Files that may be NCCL's library, in the order they are tried: the named one alone, or the usual
/// name and then those that are there of Python packages and of the CUDA Toolkit.
std::vector<std::string> nccl_candidates();

/// ncclGetVersion's number as text: 10000 major + 100 minor + patch since 2.9, before it 1000
/// major + 100 minor + patch. Source: nccl.h, NCCL_VERSION.
std::string nccl_version(int number);

}  // namespace collbench
