// NCCL as found at run time: no header and no library of it is needed to build.
//
// libnccl.so.2 is looked for where the dynamic linker looks. COLLBENCH_NCCL_LIBRARY names a file
// instead, for example the one of a Python package (nvidia/nccl/lib/libnccl.so.2).
#pragma once

#include <string>

namespace collbench {

struct NcclLibrary {
  std::string version;      // "2.27.7"
  std::string path;         // the file that was loaded
  std::string unavailable;  // why there is none; empty if there is
};

/// Loads the library, asks for its version and lets it go. Never throws; starts no GPU.
NcclLibrary find_nccl();

/// ncclGetVersion's number as text: 10000 major + 100 minor + patch since 2.9, before it 1000
/// major + 100 minor + patch. Source: nccl.h, NCCL_VERSION.
std::string nccl_version(int number);

}  // namespace collbench
