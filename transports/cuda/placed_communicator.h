// Two communicators of the same ranks as one: one for device memory, one for host memory.
#pragma once

#include <cstddef>
#include <memory>

#include "transports/communicator.h"

namespace collbench {

/// Each collective goes to the communicator that its region is for, as `is_on_device` says; a
/// barrier is the host's. All ranks must come with regions of the same place. Requires that both
/// have the same rank and ranks. Thread safety: as theirs.
std::unique_ptr<Communicator> make_placed_communicator(
    std::unique_ptr<Communicator> on_device, std::unique_ptr<Communicator> on_host,
    bool (*is_on_device)(const std::byte* memory));

}  // namespace collbench
