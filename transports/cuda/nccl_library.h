// NCCL as found at run time: no header and no library of it is needed to build.
//
// libnccl.so.2 is looked for where the dynamic linker looks, then in the Python packages of this
// machine and user (nvidia/nccl/lib, where PyTorch's wheels have it). COLLBENCH_NCCL_LIBRARY names
// a file instead. Versions from 2.18 on are used: the first with all functions that a
// communicator needs.
#pragma once

#include <string>
#include <vector>

#include "transports/cuda/nccl_abi.h"

namespace collbench {

struct NcclLibrary {
  std::string version;      // "2.27.7"
  std::string path;         // the file that was loaded
  std::string unavailable;  // why there is none that can be used; empty if there is
};

/// Loads the library, reads its version and unloads it. Never throws; starts no GPU.
NcclLibrary find_nccl();

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
/// name and then those of Python packages that are there.
std::vector<std::string> nccl_candidates();

/// ncclGetVersion's number as text: 10000 major + 100 minor + patch since 2.9, before it 1000
/// major + 100 minor + patch. Source: nccl.h, NCCL_VERSION.
std::string nccl_version(int number);

}  // namespace collbench
