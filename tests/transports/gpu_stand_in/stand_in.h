// One small library that stands in for the CUDA driver, NCCL and NVML on machines without a GPU, so
// that everything which calls them really runs in tests.
//
// "Device memory" is memory of the host that the process cannot touch at the addresses it is given,
// so a caller that forgets to copy crashes as it would with a GPU; one that frees what another
// process has open is aborted. Streams are threads. Ranks of a
// communicator may be threads or processes; they meet in a file of shared memory. Variables of the
// environment set the machine and its faults:
//
//   STAND_IN_DEVICES=N          GPUs (8)
//   STAND_IN_GPUS=3,5           their numbers as NVML has them (0,1,...)
//   STAND_IN_NCCL_VERSION=N     as ncclGetVersion has it (22809)
//   STAND_IN_FAULT=KIND:RANK    that rank's NCCL is faulty:
//       init-hang               never joins
//       hang                    its first all-reduce after the fault is set never ends
//       call-hang               the call itself does not return until the communicator is aborted
//       async                   reports ncclRemoteError once something is enqueued
//       enqueue                 ncclAllReduce returns ncclSystemError
//       wrong                   adds one to the first element
//       abort-hang              as hang, and ncclCommAbort does not return while this is set
//   STAND_IN_PEERS=none         GPUs do not reach each other's memory
//   STAND_IN_MACHINE=NAME       what NVML describes: 8xh100 (default), h200, 2xpcie, none
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace stand_in {

/// The value of a variable, or `otherwise`.
std::string setting(const char* variable, const std::string& otherwise);
int devices();

/// Where the bytes of a device address really are; null for an address that is no device memory.
std::byte* behind(const void* device_address);
/// Allocates and releases device memory.
void* allocate(std::size_t bytes);
bool release(void* device_address);

/// The device of the calling thread.
int current_device();
/// Runs `work` behind what the stream has already, or keeps it for the graph being captured.
void enqueue(void* stream, std::function<void()> work);

}  // namespace stand_in
