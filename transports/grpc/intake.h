// Where received bytes become elements: per peer a queue of bytes that have arrived, per posted
// receive how far it has got.
//
// A stream cuts its bytes anywhere, so a front piece may end inside an element; such an element is
// put together from both pieces. A reduction folds a range only once every source has sent it, all
// sources in one pass, so the order of the fold and its single rounding do not depend on timing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "transports/endpoint.h"
#include "transports/ticket_pool.h"

namespace collbench {

constexpr std::int64_t widest_element = 8;  // bytes

/// Bytes of one peer in order, in the pieces in which they came. Pieces are not copied: `keeper`
/// holds their memory until the last of them is consumed.
/// Thread safety: none.
class ByteQueue {
 public:
  void push(std::span<const std::byte> piece, std::shared_ptr<const void> keeper);
  std::int64_t size() const { return size_; }
  /// The contiguous bytes at the front; empty only if the queue is.
  std::span<const std::byte> front() const;
  /// Copies the first bytes without consuming them. Requires size() >= to.size().
  void peek(std::span<std::byte> to) const;
  /// Requires size() >= bytes.
  void consume(std::int64_t bytes);

 private:
  struct Piece {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> keeper;
  };
  std::deque<Piece> pieces_;
  std::int64_t size_ = 0;
};

/// One rank's posted receives, in the order posted. Receives from one peer, and receives that touch
/// the same memory, take effect in that order; others are independent.
/// Thread safety: none.
class Intake {
 public:
  /// Names a receive from post() until release().
  using Slot = std::size_t;

  Intake(Rank rank, int ranks);

  Slot post_copy(Rank from, Region into);
  /// As Endpoint::recv_reduce. Requires a source other than this rank, and none twice.
  Slot post_fold(std::span<const Rank> sources, Region own, Region into, Reduction reduction);

  ByteQueue& queue(Rank from) { return queues_[static_cast<std::size_t>(from)]; }
  /// Applies all bytes that can be applied; true if there were any. Does not allocate.
  bool settle();

  /// Whether a receive from this peer is unfinished.
  bool awaits(Rank from) const { return !lines_[static_cast<std::size_t>(from)].empty(); }
  /// Where the next bytes of a peer may be put at once, without its queue; empty where they must
  /// wait or are to be reduced.
  std::span<std::byte> room(Rank from);
  /// So many bytes have been put into room(from).
  void filled(Rank from, std::int64_t bytes);

  bool finished(Slot slot) const { return !receives_[slot].active; }
  void release(Slot slot) { receives_.give_back(slot); }
  /// The peer whose bytes this unfinished receive lacks, and how many of them.
  struct Lack {
    Rank from = -1;
    Bytes bytes;
  };
  Lack lack(Slot slot) const;

 private:
  struct Receive {
    bool active = false;
    bool fold = false;
    std::uint64_t serial = 0;
    std::int64_t applied = 0;  // elements, or bytes of a copy
    Region own, into;
    Reduction reduction;
    std::vector<Rank> order;  // of the fold; -1 is the own term
    std::vector<const std::byte*> terms;
    struct Earlier {
      Slot slot;
      std::uint64_t serial;
      bool same;  // exactly the same elements: may follow element by element
    };
    std::vector<Earlier> after;
  };

  Slot post(Region own, Region into);
  void order_after_overlaps(Receive& receive);
  bool leads(Slot slot) const;
  std::int64_t limit(const Receive& receive) const;
  bool step(Slot slot);
  bool step_copy(Receive& receive);
  bool step_fold(Receive& receive);
  bool end_if_complete(Receive& receive);
  std::int64_t gather_terms(Receive& receive, std::int64_t most);

  Rank rank_;
  std::vector<ByteQueue> queues_;
  std::vector<std::deque<Slot>> lines_;  // per peer, the receives waiting for its bytes
  TicketPool<Receive> receives_;
  std::vector<Slot> active_;      // in the order posted
  std::vector<std::byte> carry_;  // one element per term, put together from two pieces
  std::uint64_t serial_ = 0;
};

}  // namespace collbench
