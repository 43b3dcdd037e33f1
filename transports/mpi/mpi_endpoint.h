// The ranks of MPI_COMM_WORLD as a machine on which schedules are played, over MPI's point-to-point
// messages: on any fabric that has an MPI.
//
// Both sides cut a message into the same pieces, all of one tag, so MPI's order of messages is the
// order of the schedule. A piece is received into its place, or, where it is to be reduced, into
// staging memory that stays in the cache; the reduction of one piece overlaps the arrival of the
// next. Requests are made anew for each message: Open MPI 4.1 sends small messages without one, and
// a persistent send takes 0.29 us instead of 0.16 (4 B between two processes, there and back at
// once, median of 15 times 2,000, busy 2-core machine); persistent receives gain nothing.
#pragma once

#include <memory>

#include "transports/endpoint.h"

namespace collbench {

/// This process's rank; starts MPI if that has not been done. Waiting ends with TransportError,
/// naming the peer, when it has sent or taken nothing for `timeout`; an infinite one leaves waiting
/// to MPI itself. Thread safety: one thread per process, the same for all endpoints.
std::unique_ptr<Endpoint> make_mpi_endpoint(Seconds timeout);

}  // namespace collbench
