// Memory of GPUs, and host memory that they read and write.
#pragma once

#include <cstddef>
#include <memory>

#include "core/units.h"

namespace collbench {

/// Zeroed memory of CUDA's `device`, aligned to 256 bytes, given back with the last copy. Throws
/// Unavailable, with the requested and the free size, if it does not fit.
std::shared_ptr<std::byte> allocate_on_cuda(int device, Bytes size);
/// Zeroed host memory at an address that every device can use.
std::shared_ptr<std::byte> allocate_for_cuda(Bytes size);

/// The device that this thread works on, by CUDA's number, and a change of it. Throw as CUDA says.
int current_cuda_device();
void use_cuda_device(int device);

/// Whether `memory` is a device's.
bool is_on_cuda(const std::byte* memory);

/// Copies between any two of host and devices; done when it returns. Throws TransportError.
void copy_with_cuda(std::byte* to, const std::byte* from, Bytes size);

/// The rate of the fastest copy of `from` within its device, counting the bytes read (as many are
/// written): a bound for an all-reduce on one device.
Bandwidth measure_cuda_copy(int device, const std::byte* from, Bytes size, int repetitions);

}  // namespace collbench
