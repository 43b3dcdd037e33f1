// An Endpoint is one rank's view of a machine: it moves and reduces typed regions and reads a
// clock.
//
// The clock is part of it because it is what differs most: threads, gRPC and CUDA read a hardware
// clock, a simulator reads simulated time. Code above this interface is the same on every machine.
//
// Contract of every implementation:
// - The k-th send from a to b meets the k-th receive (plain or reducing) from a at b.
// - A started transfer advances by itself: waiting for one never needs another to be waited for,
//   except that a send may need its receiver to have posted, and be waiting for, the receive.
// - Receives posted into one region take effect in the order posted.
// - A region must stay as it is (send) or untouched (receive) until wait() returns.
// - Empty regions are legal, and move nothing: execute() never posts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algorithms/schedule.h"
#include "core/data_type.h"
#include "core/units.h"

namespace collbench {

/// `count` elements at `data`. `data` may be null: the elements then have a size but no content,
/// and only a simulated endpoint accepts them.
struct Region {
  std::byte* data = nullptr;
  std::int64_t count = 0;
  DataType type = DataType::f32;

  Bytes size() const { return {count * size_of(type)}; }
  Region part(std::int64_t first, std::int64_t n) const {
    return {data == nullptr ? nullptr : data + first * size_of(type), n, type};
  }
};

/// Whether they have a byte in common.
inline bool overlap(Region a, Region b) {
  return a.data < b.data + b.size().count && b.data < a.data + a.size().count;
}

/// An operator and what the finished fold is divided by (1, or the number of ranks for avg).
struct Reduction {
  ReduceOp op = ReduceOp::sum;
  int divisor = 1;
};

/// Traffic an endpoint must be able to hold without waiting, known before a plan first runs.
struct Traffic {
  int messages_per_peer_and_round = 0;
};

/// The two uses of scratch memory: snapshots of a plan, and staging of buffers that peers cannot
/// reach.
enum class ScratchUse : std::uint8_t { plan, staging };

struct Fusion;  // algorithms/fusion.h

/// Thread safety: an endpoint belongs to one thread (or actor); distinct endpoints are independent.
/// Every member that moves data throws TransportError naming the peer if it was lost or late.
class Endpoint {
 public:
  using Ticket = std::uint64_t;
  virtual ~Endpoint() = default;

  virtual Rank rank() const = 0;
  virtual int ranks() const = 0;
  /// The clock of this machine; only differences mean anything.
  virtual Seconds now() const = 0;

  /// Called once before a plan runs. Throws InvalidArgument if the traffic does not fit.
  virtual void reserve(const Traffic& traffic) = 0;
  /// Whether send() and play() can use `region` as it is; otherwise it must be copied to scratch().
  virtual bool reaches(Region /*region*/) const { return true; }
  /// Memory of at least `size` that send() accepts, aligned to 64 bytes, one block per use. It
  /// belongs to the endpoint; a later call for the same use may move it. The default is ordinary
  /// memory.
  virtual std::byte* scratch(ScratchUse use, Bytes size);

  virtual Ticket send(Rank to, Region from) = 0;
  virtual Ticket recv(Rank from, Region into) = 0;
  /// into = fold(own, sources...) over the next message of every source, in the order of `sources`;
  /// a source equal to rank() marks the place of the own term, first if absent. f16 and bf16
  /// accumulate in f32 over the whole group. `own` and `into` are the same region or disjoint;
  /// `sources` must live until wait().
  virtual Ticket recv_reduce(std::span<const Rank> sources, Region own, Region into,
                             Reduction reduction) = 0;
  virtual void wait(Ticket ticket) = 0;
  /// Completes `ticket` if that does not block, otherwise returns false. The default blocks, for
  /// machines on which nothing is gained by doing other work meanwhile.
  virtual bool try_wait(Ticket ticket) {
    wait(ticket);
    return true;
  }

  /// Reports to the other ranks that this one has failed, and why: their waits end with
  /// TransportError(reason). Nothing can be started here afterwards. Returns the reason in effect,
  /// which is an earlier one if the ranks are known to have failed before. Does not throw. The
  /// default is for machines whose ranks are told in other ways.
  virtual std::string give_up(const std::string& reason) { return reason; }

  /// Plays all rounds of a fused plan at once, where peers' memory is addressable; false
  /// elsewhere.
  virtual bool play(const Fusion& /*fusion*/, Region /*in*/, Region /*out*/,
                    Reduction /*reduction*/) {
    return false;
  }

 private:
  std::vector<std::byte> scratch_[2];
};

}  // namespace collbench
