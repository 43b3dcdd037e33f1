// An endpoint that does wrong to some of its messages on purpose, over any other endpoint.
//
// Senders lose, hold back, repeat, cut and swap messages, or die; receivers change bits, so that
// nobody's own memory is touched. Held messages go with the next one to the same rank, or when they
// are waited for. Fused plans are played message by message, since there is nothing else to damage.
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
