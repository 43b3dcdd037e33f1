// An endpoint that injects faults into its messages, over any other endpoint.
//
// Senders drop, delay, repeat, truncate and swap messages, or die; receivers flip bits in what they
// received, so that no sender's buffer changes. Held messages are sent with the next one to the
// same rank, or when they are waited for. Fused plans are played message by message, because they
// have no messages to damage.
#pragma once

#include <memory>
#include <vector>

#include "transports/endpoint.h"
#include "transports/faults/injected_fault.h"

namespace collbench {

/// `messages` is how many messages of `endpoint` make one that counts, the last of them being the
/// data: checked_messages below a checked endpoint, else 1. All ranks must get the same faults.
std::unique_ptr<Endpoint> make_faulty_endpoint(std::unique_ptr<Endpoint> endpoint,
                                               std::vector<InjectedFault> faults, int messages);

}  // namespace collbench
