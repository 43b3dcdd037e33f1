// What a rank has begun over MPI: its messages and transfers, the pieces into which both sides cut
// a message, and staging memory for them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transports/endpoint.h"
#include "transports/memory.h"

namespace collbench {

struct MessagePiece {
  // Whole elements. A piece costs a hand-shake, and a copy through the kernel that stops at its
  // end: with 128 KiB rings of 4 and 16 MiB (2 ranks on 2 cores, Open MPI 4.1) took 1.5 and 1.6
  // times as long as with this, which still fits the caches when it is reduced.
  static constexpr std::int64_t most_bytes = std::int64_t{2} << 20;

  MessagePiece(std::int64_t bytes, std::int64_t number)
      : first(number * most_bytes), count(static_cast<int>(std::min(most_bytes, bytes - first))) {}
  std::int64_t first;
  int count;  // bytes
};

constexpr std::int64_t pieces_of(std::int64_t bytes) {
  return (bytes + MessagePiece::most_bytes - 1) / MessagePiece::most_bytes;
}

/// Pieces of one message for which there is staging memory.
constexpr std::int64_t pieces_ahead = 2;
/// On their way to one rank. More at once, and Open MPI 4.1 queues what it answers them with until
/// the receiver is in MPI again, which it may never be: 256 pieces of 128 KiB stood still for ever.
constexpr std::int64_t pieces_underway = 8;

/// One message on its way to this rank. Those of one source are posted in their order, since MPI
/// matches in that order; so what is not posted yet holds up what comes behind it. `Request` is
/// MPI's.
template <class Request>
struct MessageArrival {
  Rank from = -1;
  bool is_staged = false;    // else each piece goes to its place
  std::size_t transfer = 0;  // that it is for
  std::byte* into = nullptr;
  std::int64_t bytes = 0;
  std::int64_t posted = 0;                        // pieces
  std::int64_t arrived = 0;                       // pieces
  std::int64_t released = 0;                      // pieces whose staging memory may be used again
  std::array<std::byte*, pieces_ahead> stages{};  // once they are granted
  Request first_request{};                        // most messages are one piece
  std::vector<Request> later_requests;

  void start(Rank source, Region place, std::size_t of_transfer) {
    from = source;
    is_staged = place.data == nullptr;
    transfer = of_transfer;
    into = place.data;
    bytes = place.size().count;
    posted = arrived = released = 0;
    const std::int64_t pieces = pieces_of(bytes);
    if (pieces > 1) later_requests.resize(static_cast<std::size_t>(pieces - 1));
  }
  std::byte* place(std::int64_t piece) const {
    return is_staged ? stages[static_cast<std::size_t>(piece % pieces_ahead)]
                     : into + MessagePiece(bytes, piece).first;
  }
  Request& request(std::int64_t piece) {
    return piece == 0 ? first_request : later_requests[static_cast<std::size_t>(piece - 1)];
  }
  bool is_posted() const { return posted == pieces_of(bytes); }
};

/// One message on its way from this rank. As with arrivals, those to one rank leave in their order.
template <class Request>
struct MessageDeparture {
  Rank to = -1;
  std::byte* from = nullptr;
  std::int64_t bytes = 0;
  std::int64_t posted = 0;  // pieces
  std::int64_t taken = 0;   // pieces
  std::array<Request, pieces_underway> requests{};

  void start(Rank receiver, Region region) {
    to = receiver;
    from = region.data;
    bytes = region.size().count;
    posted = taken = 0;
  }
  Request& request(std::int64_t piece) {
    return requests[static_cast<std::size_t>(piece % pieces_underway)];
  }
  bool is_posted() const { return posted == pieces_of(bytes); }
};

/// One transfer of a ticket.
struct MessageTransfer {
  std::span<const Rank> sources = {};  // of what is reduced
  Region own = {};
  Region into = {};
  Reduction reduction = {};
  bool is_send = false;
  std::size_t first = 0;  // its arrivals or its departure
  std::size_t count = 0;
  std::int64_t done = 0;    // pieces
  bool is_granted = false;  // its arrivals may have staging memory

  void start(std::span<const Rank> from, Region own_term, Region place, std::size_t first_of_it) {
    sources = from;
    own = own_term;
    into = place;
    is_send = is_granted = false;
    first = first_of_it;
    done = 0;
  }
  std::int64_t last_piece() const { return pieces_of(into.size().count) - 1; }
};

/// What is begun one after another and is all over at once. A slot is used again as it was left:
/// to clear one of a few words took as long as all else that beginning a short message does.
template <class T>
class Slots {
 public:
  T& next() {
    if (used_ == slots_.size()) slots_.emplace_back();
    return slots_[used_++];
  }
  T& operator[](std::size_t number) { return slots_[number]; }
  std::size_t size() const { return used_; }
  void clear() { used_ = 0; }
  auto begin() const { return slots_.begin(); }
  auto end() const { return slots_.begin() + static_cast<std::ptrdiff_t>(used_); }
  auto begin() { return slots_.begin(); }
  auto end() { return slots_.begin() + static_cast<std::ptrdiff_t>(used_); }

 private:
  std::vector<T> slots_;
  std::size_t used_ = 0;
};

/// Memory for one piece at a time, the last given back first: it is in the cache still. Most
/// messages are short, and a large piece's memory may be one huge page.
class PieceMemory {
 public:
  /// For one piece of a message of so many bytes.
  std::byte* take(std::int64_t of_bytes) {
    Kind& kind = kind_for(of_bytes);
    if (kind.free.empty()) {
      memory_.push_back(allocate_pages({kind.bytes}));
      return memory_.back().get();
    }
    std::byte* const piece = kind.free.back();
    kind.free.pop_back();
    return piece;
  }
  void give_back(std::byte* piece, std::int64_t of_bytes) {
    kind_for(of_bytes).free.push_back(piece);
  }

 private:
  struct Kind {
    std::int64_t bytes;
    std::vector<std::byte*> free = {};
  };
  Kind& kind_for(std::int64_t bytes) { return bytes <= short_.bytes ? short_ : long_; }

  Kind short_{std::int64_t{64} << 10};
  Kind long_{MessagePiece::most_bytes};
  std::vector<std::shared_ptr<std::byte>> memory_;
};

}  // namespace collbench
