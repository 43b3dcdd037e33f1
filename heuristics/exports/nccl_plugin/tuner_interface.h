// The C interface between NCCL and a tuner plugin, versions 4 and 5, as far as a plugin needs it.
//
// NCCL loads the library named by NCCL_TUNER_PLUGIN, looks for ncclTunerPlugin_v5, then _v4, and
// calls init once for each communicator and getCollInfo before each collective. The cost table is
// an array of algorithms times protocols of float, passed as if it were float**; an entry of -1
// says that NCCL cannot use the pair, and the least of the others is chosen, so 0 wins.
// Source: facts of NVIDIA NCCL 2.28.9, src/include/plugin/nccl_tuner.h and tuner/tuner_v{4,5}.h.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// NCCL's results: 0 success, 4 invalid argument, 5 invalid usage.
typedef int CollbenchNcclResult;
/// `level` 2 warns, 3 informs; `flags` 64 is the subsystem TUNING.
typedef void (*CollbenchNcclLogger)(int level, unsigned long flags, const char* file, int line,
                                    const char* format, ...);

typedef CollbenchNcclResult (*CollbenchTunerAsk)(void* context, int collective, std::size_t bytes,
                                                 int pipe_ops, float** costs, int algorithms,
                                                 int protocols, int registered_buffers,
                                                 int* channels);

struct CollbenchTunerV4 {
  const char* name;
  CollbenchNcclResult (*init)(std::size_t ranks, std::size_t nodes, CollbenchNcclLogger logger,
                              void** context);
  CollbenchTunerAsk ask;
  CollbenchNcclResult (*destroy)(void* context);
};

/// The domain of NVLink and the constants of NCCL's model are there to be read and changed; this
/// plugin does neither.
struct CollbenchTunerV5 {
  const char* name;
  CollbenchNcclResult (*init)(void** context, std::uint64_t communicator, std::size_t ranks,
                              std::size_t nodes, CollbenchNcclLogger logger, void* nvlink_domain,
                              void* constants);
  CollbenchTunerAsk ask;
  CollbenchNcclResult (*finalize)(void* context);
};

extern __attribute__((visibility("default"))) const CollbenchTunerV4 ncclTunerPlugin_v4;
extern __attribute__((visibility("default"))) const CollbenchTunerV5 ncclTunerPlugin_v5;
}
