// Waiting on a wire: spin briefly, then yield, then sleep, and give up on a silent peer by name.
//
// How long each lasts depends on how many ranks share a core. Measured with gRPC 1.51 on 2 cores of
// a virtual Xeon, `collbench -B grpc -A auto`, spin/yield in microseconds interleaved over 3 to 5
// runs, medians of their medians in microseconds:
//
//   ranks  bytes   0/0  10/100  20/100  50/1000   20/1000, above 2 ranks 2/1000
//     2    1 MiB   433       -     306      302    313
//     4    1 KiB    84      49      59        -     57
//     4    1 MiB  1194    1256    1597     1597   1279
//     8    1 KiB   162     245     149        -    200
//     8    1 MiB  3725    4306    4389     4522   4150
//
// So a rank with a core to itself waits long before it sleeps; with up to three ranks on a core it
// waits briefly, because its peer needs the core, too; with more it sleeps at once. For 2 ranks and
// up to 16 KiB all variants lie within 6 %: spinning alone has no effect, yielding helps long
// messages.
//
// When nothing has arrived for one heartbeat interval, the peer is asked whether it is alive, and
// again after every further interval. A rebooted machine answers by resetting the connection. A
// peer that is itself waiting answers, so that the rank that gives up is the neighbour of the one
// that is stuck: it gets no answer for the timeout and names it to all others. A peer that is
// computing does not answer, because only waiting ranks poll their streams; it has the whole
// timeout, like one that is stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/units.h"
#include "transports/endpoint.h"
#include "transports/grpc/wire.h"

namespace collbench {

/// Something that a rank waits for.
struct GrpcAwaited {
  struct Lack {
    Rank peer = -1;
    Bytes bytes;
    bool sending = false;     // the peer must take the bytes; otherwise it must send them
    bool ended = false;       // the peer has given all that it ever will
    std::int64_t handed = 0;  // a count that grows while what is sent moves
  };

  /// Makes what progress is possible; true once complete. Called after every event.
  std::function<bool()> done;
  std::function<Lack()> lack;
};

/// "waits for 4096 bytes from rank 3".
std::string describe(const GrpcAwaited::Lack& lack);

struct GrpcTimeouts {
  Seconds timeout;
  Seconds heartbeat;  // a quarter of the timeout if that is shorter
};

/// Handles what has come, waiting for it at most so long; false if there was nothing. Polls the
/// wire as well, at least after every such wait.
using GrpcPoll = std::function<bool(Seconds longest)>;

/// Returns once `awaited` is done. Throws TransportError naming the peer if it was lost or has
/// ended, if it answered no heartbeat for the timeout (up to a second more if it never answered
/// one, for it may still be joining), or if it answers but has transferred nothing for twice the
/// timeout.
void wait_on(GrpcWire& wire, const GrpcPoll& poll, const GrpcAwaited& awaited, Rank rank,
             const GrpcTimeouts& limits);

}  // namespace collbench
