// Waiting on a wire: spin briefly, then yield, then sleep, and give up on a silent peer by name.
//
// When nothing has come for the timeout, the peer is asked whether it lives. One that is itself
// waiting answers, so the blame goes down the chain to the rank that is really stuck: that one's
// neighbour gets no answer, gives up, and tells everyone.
#pragma once

#include "core/units.h"
#include "transports/endpoint.h"
#include "transports/grpc_wire.h"

namespace collbench {

/// Something that a rank waits for.
class GrpcAwaited {
 public:
  virtual ~GrpcAwaited() = default;
  /// Makes what progress it can; true once complete. Called after every event.
  virtual bool done() = 0;
  struct Lack {
    Rank peer = -1;
    Bytes bytes;
    bool sending = false;  // the peer must take the bytes; otherwise it must send them
    bool streamed = true;  // the end of the peer's stream is the end of what it gives
  };
  virtual Lack lack() const = 0;
};

/// "waits for 4096 bytes from rank 3".
std::string describe(const GrpcAwaited::Lack& lack);

/// Returns once `awaited` is done. Throws TransportError naming the peer if it was lost, has ended,
/// or gave no sign of life for `timeout` and did not answer when asked; or lives but has moved
/// nothing for twice as long.
void wait_on(GrpcWire& wire, GrpcAwaited& awaited, Rank rank, int ranks, Seconds timeout);

}  // namespace collbench
