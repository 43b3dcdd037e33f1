// NCCL as a black box: the same Communicator, played by NCCL on memory of GPUs.
//
// What NCCL can do here: every element type and sum, prod, min and max of them; avg of integers,
// and of floating point for 1, 2, 4, 8, ... ranks. For other numbers it rounds every term before it
// adds, which is not the average that collbench means. min and max may lose a NaN.
#pragma once

#include <memory>

#include "transports/communicator.h"
#include "transports/nccl/session.h"

namespace collbench {

/// Joins the other ranks, on the thread that will use it. Throws as NcclSession. Regions are memory
/// that the rank's GPU can access; others are refused with InvalidArgument. What allocate() gives
/// is memory of this GPU, registered with NCCL if the settings say so; it must go before the
/// communicator is used no more, and may go after it.
std::unique_ptr<Communicator> make_nccl_communicator(const NcclOptions& options);

}  // namespace collbench
