// An endpoint whose messages carry checksums, over any other endpoint.
//
// Before every message goes a frame of 32 bytes: the message's number among those of its pair of
// ranks, its size, the CRC-32C of its bytes and one of the frame itself. So data that was damaged,
// lost, cut short, delivered twice or out of order on its way is found where it arrives, instead of
// becoming a wrong sum: the receiver fails all ranks, naming the sender. Received data is staged in
// memory of this endpoint and folded only after it has been verified, in the order of the
// schedule, so the sums have the same bits. It costs a pass over the data at either end, one more
// message each, and the fused plans of shared memory.
#pragma once

#include <memory>

#include "transports/endpoint.h"

namespace collbench {

/// Messages per message: the frame and the data.
constexpr int checked_messages = 2;

/// All ranks must be checked, or none. Reserves twice the traffic of `endpoint`.
std::unique_ptr<Endpoint> make_checked_endpoint(std::unique_ptr<Endpoint> endpoint);

}  // namespace collbench
