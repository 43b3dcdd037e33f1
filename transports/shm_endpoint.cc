// The shared-memory endpoint: a send announces where the data lies, and the receiver reads it
// there.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <vector>

#include "core/error.h"
#include "transports/fusion.h"
#include "transports/kernels.h"
#include "transports/shm_layout.h"
#include "transports/shm_world.h"

namespace collbench {

namespace {

// A ticket is a send (peer and message number) or the place of a pending receive.
constexpr std::uint64_t send_mark = std::uint64_t{1} << 63;
constexpr std::uint64_t inline_ticket = send_mark;  // message 0 of rank 0: complete at once
constexpr int peer_shift = 48;

class ShmEndpoint final : public Endpoint {
 public:
  ShmEndpoint(const ShmView& view, Rank rank)
      : view_(view),
        lines_(view.world),
        waiter_(view.world),
        rank_(rank),
        ranks_(lines_.header().ranks),
        sent_(static_cast<std::size_t>(ranks_), 0),
        received_(static_cast<std::size_t>(ranks_), 0) {
    require(rank >= 0 && rank < ranks_, "shared memory: rank " + std::to_string(rank) +
                                            " is not below " + std::to_string(ranks_));
    pending_.reserve(256);
    message_.reserve(256);
    sources_.reserve(static_cast<std::size_t>(ranks_) + 1);
    destinations_.reserve(static_cast<std::size_t>(ranks_));
    resume();
  }

  Rank rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  Seconds now() const override;
  void reserve(const Traffic& traffic) override;
  bool reaches(Region region) const override;
  std::byte* scratch(ScratchUse use, Bytes size) override;
  Ticket send(Rank to, Region from) override;
  Ticket recv(Rank from, Region into) override;
  Ticket recv_reduce(std::span<const Rank> sources, Region own, Region into,
                     Reduction reduction) override;
  void wait(Ticket ticket) override;
  bool play(const Fusion& fusion, Region in, Region out, Reduction reduction) override;

 private:
  // A receive that has been posted and not yet waited for.
  struct Pending {
    std::span<const Rank> sources;  // empty for a plain receive from `from`
    Rank from = -1;
    std::uint64_t first_message = 0;  // message number of the first message of each source
    Region own;
    Region into;
    Reduction reduction;
  };

  // Integers, since the shared memory of threads begins at address 0.
  std::uint64_t position(const std::byte* data) const {
    return reinterpret_cast<std::uintptr_t>(data) -
           reinterpret_cast<std::uintptr_t>(view_.shared_begin);
  }
  std::byte* at(std::uint64_t position) const {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(view_.shared_begin) +
                                        position);
  }

  void resume();
  const std::byte* arrived(Rank from, std::uint64_t message);
  void take(Rank from, std::uint64_t message);
  void receive(const Pending& pending);
  void reduce_sources(const Pending& pending);

  void play_inline(const Fusion& fusion, Region in, Region out, Reduction reduction);
  void arrive(Region in, Region out);
  void await_arrivals();
  void fold(const Fusion::Piece& piece, const Fusion& fusion, std::int64_t first,
            std::int64_t count, const Region& like, Reduction reduction, Stores stores);
  std::int64_t fold_claimed(const Fusion& fusion, const Region& in, Reduction reduction,
                            Stores stores, std::int64_t unit);
  std::string missing_arrival(std::string_view what, bool finished) const;

  ShmView view_;
  ShmLines lines_;
  ShmWaiter waiter_;
  Rank rank_;
  int ranks_;
  std::vector<std::uint64_t> sent_;      // messages sent to each rank
  std::vector<std::uint64_t> received_;  // receives posted from each rank
  std::vector<Pending> pending_;
  std::size_t open_receives_ = 0;
  std::vector<std::uint64_t> message_;  // scratch of receive(): message number per source
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> destinations_;
  std::uint64_t fused_ = 0;    // fused operations begun
  std::uint64_t inlined_ = 0;  // in-line operations begun
};

// Takes up every count where an earlier endpoint of this rank left it.
void ShmEndpoint::resume() {
  for (Rank r = 0; r < ranks_; ++r) {
    std::uint64_t& sent = sent_[static_cast<std::size_t>(r)];
    for (std::uint64_t k = 0; k < shm_slots; ++k) {
      sent = std::max(sent, lines_.slot(rank_, r, k).sequence.load());
    }
    received_[static_cast<std::size_t>(r)] = lines_.taken(r, rank_).value.load();
  }
  fused_ = lines_.arrival(rank_).sequence.load();
  for (const std::uint64_t parity : {0U, 1U}) {
    inlined_ = std::max(inlined_, lines_.inline_line(rank_, parity).sequence.load());
  }
}

Seconds ShmEndpoint::now() const { return std::chrono::steady_clock::now().time_since_epoch(); }

void ShmEndpoint::reserve(const Traffic& traffic) {
  require(traffic.messages_per_peer_and_round <= shm_slots,
          "shared memory holds " + std::to_string(shm_slots) +
              " messages per pair of ranks, and this schedule sends " +
              std::to_string(traffic.messages_per_peer_and_round) +
              " in one round; use fewer segments");
}

bool ShmEndpoint::reaches(Region region) const {
  if (view_.shared_bytes == 0) return true;
  return region.data >= view_.shared_begin &&
         region.data + region.size().count <= view_.shared_begin + view_.shared_bytes;
}

// The heap of a process in an arena is cut in two, a half for each use.
std::byte* ShmEndpoint::scratch(ScratchUse use, Bytes size) {
  if (view_.shared_bytes == 0) return Endpoint::scratch(use, size);
  const std::size_t half = view_.heap_bytes / 128 * 64;
  require(size.count <= static_cast<std::int64_t>(half),
          "shared memory: " + to_string(size) + " of scratch wanted, the arena has " +
              to_string(Bytes{static_cast<std::int64_t>(half)}));
  return view_.heap + (use == ScratchUse::plan ? 0 : half);
}

Endpoint::Ticket ShmEndpoint::send(Rank to, Region from) {
  const std::uint64_t k = sent_[static_cast<std::size_t>(to)]++;
  ShmCounter& taken = lines_.taken(rank_, to);
  if (k >= shm_slots) {  // The slot must have been read. Earlier rounds' messages always will be.
    waiter_.wait_until([&] { return taken.value.load(std::memory_order_acquire) + shm_slots > k; },
                       [&] {
                         return missing_arrival(
                                    "took no message from rank " + std::to_string(rank_), false) +
                                " (rank " + std::to_string(to) + ")";
                       });
  }
  ShmSlot& slot = lines_.slot(rank_, to, k);
  const std::int64_t bytes = from.size().count;
  const bool tiny = bytes <= shm_inline_bytes;
  if (tiny) {
    std::memcpy(slot.payload, from.data, static_cast<std::size_t>(bytes));
    slot.position = 0;
  } else {
    require(reaches(from), "shared memory: rank " + std::to_string(rank_) +
                               " sends from memory that its peers cannot read");
    slot.position = position(from.data);
  }
  slot.sequence.store(k + 1);
  waiter_.notify();
  if (tiny) return inline_ticket;
  return send_mark | (static_cast<std::uint64_t>(to) << peer_shift) | (k + 1);
}

Endpoint::Ticket ShmEndpoint::recv(Rank from, Region into) {
  Pending pending;
  pending.from = from;
  pending.first_message = received_[static_cast<std::size_t>(from)]++;
  pending.into = into;
  pending_.push_back(pending);
  ++open_receives_;
  return pending_.size() - 1;
}

Endpoint::Ticket ShmEndpoint::recv_reduce(std::span<const Rank> sources, Region own, Region into,
                                          Reduction reduction) {
  Pending pending;
  pending.sources = sources;
  pending.first_message = message_.size();
  pending.own = own;
  pending.into = into;
  pending.reduction = reduction;
  for (const Rank r : sources) {
    message_.push_back(r == rank_ ? 0 : received_[static_cast<std::size_t>(r)]++);
  }
  pending_.push_back(pending);
  ++open_receives_;
  return pending_.size() - 1;
}

void ShmEndpoint::wait(Ticket ticket) {
  if (ticket == inline_ticket) return;
  if ((ticket & send_mark) == 0) {
    receive(pending_[ticket]);
    if (--open_receives_ == 0) {
      pending_.clear();
      message_.clear();
    }
    return;
  }
  const auto to = static_cast<Rank>((ticket & ~send_mark) >> peer_shift);
  const std::uint64_t messages = ticket & ((std::uint64_t{1} << peer_shift) - 1);
  ShmCounter& taken = lines_.taken(rank_, to);
  waiter_.wait_until([&] { return taken.value.load(std::memory_order_acquire) >= messages; },
                     [&] {
                       return "rank " + std::to_string(to) + " did not take a message from rank " +
                              std::to_string(rank_) + " within the timeout";
                     });
}

// Waits for a message; where its data lies.
const std::byte* ShmEndpoint::arrived(Rank from, std::uint64_t message) {
  ShmSlot& slot = lines_.slot(from, rank_, message);
  waiter_.wait_until([&] { return slot.sequence.load(std::memory_order_acquire) == message + 1; },
                     [&] {
                       return "rank " + std::to_string(from) + " sent nothing to rank " +
                              std::to_string(rank_) + " within the timeout";
                     });
  return slot.position == 0 ? slot.payload : at(slot.position);
}

void ShmEndpoint::take(Rank from, std::uint64_t message) {
  lines_.taken(from, rank_).value.store(message + 1);
  waiter_.notify();
}

void ShmEndpoint::receive(const Pending& pending) {
  if (!pending.sources.empty()) {
    reduce_sources(pending);
    return;
  }
  const std::byte* data = arrived(pending.from, pending.first_message);
  collbench::copy(pending.into.data, data, pending.into.size().count);
  take(pending.from, pending.first_message);
}

// One pass over the own term and every source, in the order of the schedule.
void ShmEndpoint::reduce_sources(const Pending& pending) {
  const auto message = [&](std::size_t i) {
    return message_[static_cast<std::size_t>(pending.first_message) + i];
  };
  sources_.clear();
  const bool marked =
      std::find(pending.sources.begin(), pending.sources.end(), rank_) != pending.sources.end();
  if (!marked) sources_.push_back(pending.own.data);
  for (std::size_t i = 0; i < pending.sources.size(); ++i) {
    const Rank r = pending.sources[i];
    sources_.push_back(r == rank_ ? pending.own.data : arrived(r, message(i)));
  }
  std::byte* const into = pending.into.data;
  collbench::reduce(pending.into.type, pending.reduction, sources_, {&into, 1}, pending.into.count);
  for (std::size_t i = 0; i < pending.sources.size(); ++i) {
    if (pending.sources[i] != rank_) take(pending.sources[i], message(i));
  }
}

// Names the ranks that have not begun (or not finished) the fused operation.
std::string ShmEndpoint::missing_arrival(std::string_view what, bool finished) const {
  std::string names;
  for (Rank r = 0; r < ranks_; ++r) {
    const ShmArrival& line = lines_.arrival(r);
    const std::uint64_t reached = finished ? line.finished.load() : line.sequence.load();
    if (reached < fused_) names += (names.empty() ? "" : ", ") + std::to_string(r);
  }
  return "rank " + names + " " + std::string(what) + " within the timeout";
}

void ShmEndpoint::arrive(Region in, Region out) {
  ShmArrival& line = lines_.arrival(rank_);
  line.in.store(position(in.data), std::memory_order_relaxed);
  line.out.store(position(out.data), std::memory_order_relaxed);
  line.sequence.store(fused_);
  waiter_.notify();
}

void ShmEndpoint::await_arrivals() {
  for (Rank r = 0; r < ranks_; ++r) {
    ShmArrival& line = lines_.arrival(r);
    waiter_.wait_until([&] { return line.sequence.load(std::memory_order_acquire) >= fused_; },
                       [&] { return missing_arrival("did not arrive", false); });
  }
  // Everybody has left the previous operation, so its counters can serve the next one.
  if (rank_ != 0) return;
  ShmHeader& header = lines_.header();
  header.claimed[(fused_ + 1) % 2].value.store(0, std::memory_order_relaxed);
  header.done[(fused_ + 1) % 2].value.store(0, std::memory_order_relaxed);
}

// Folds elements [first, first + count) of all ranks' inputs into all ranks' outputs.
void ShmEndpoint::fold(const Fusion::Piece& piece, const Fusion& fusion, std::int64_t first,
                       std::int64_t count, const Region& like, Reduction reduction, Stores stores) {
  const auto offset = static_cast<std::uint64_t>(first * size_of(like.type));
  sources_.clear();
  destinations_.clear();
  for (const Rank r : fusion.sources(piece)) {
    const ShmArrival& line = lines_.arrival(r);
    sources_.push_back(at(line.in.load(std::memory_order_relaxed) + offset));
    destinations_.push_back(at(line.out.load(std::memory_order_relaxed) + offset));
  }
  collbench::reduce(like.type, reduction, sources_, destinations_, count, stores);
}

// Folds pieces of `unit` elements until none is left; how many pieces there are in all. Claiming
// them one by one keeps every running rank busy while others are descheduled.
std::int64_t ShmEndpoint::fold_claimed(const Fusion& fusion, const Region& in, Reduction reduction,
                                       Stores stores, std::int64_t unit) {
  ShmHeader& header = lines_.header();
  std::int64_t units = 0;
  for (const Fusion::Piece& piece : fusion.pieces) units += (piece.count + unit - 1) / unit;
  auto& claimed = header.claimed[fused_ % 2].value;
  std::uint64_t folded = 0;
  while (true) {
    auto mine = static_cast<std::int64_t>(claimed.fetch_add(1, std::memory_order_relaxed));
    if (mine >= units) break;
    for (const Fusion::Piece& piece : fusion.pieces) {
      const std::int64_t here = (piece.count + unit - 1) / unit;
      if (mine < here) {
        fold(piece, fusion, piece.first + mine * unit, std::min(unit, piece.count - mine * unit),
             in, reduction, stores);
        break;
      }
      mine -= here;
    }
    ++folded;
  }
  if (folded > 0) header.done[fused_ % 2].value.fetch_add(folded);
  return units;
}

// A few bytes travel in the ranks' lines, and every rank folds them all by itself.
void ShmEndpoint::play_inline(const Fusion& fusion, Region in, Region out, Reduction reduction) {
  const std::uint64_t sequence = ++inlined_;
  ShmInline& mine = lines_.inline_line(rank_, sequence % 2);
  std::memcpy(mine.payload, in.data, static_cast<std::size_t>(in.size().count));
  mine.sequence.store(sequence);
  waiter_.notify();
  for (Rank r = 0; r < ranks_; ++r) {
    ShmInline& line = lines_.inline_line(r, sequence % 2);
    waiter_.wait_until(
        [&] { return line.sequence.load(std::memory_order_acquire) >= sequence; },
        [&] { return "rank " + std::to_string(r) + " did not arrive within the timeout"; });
  }
  for (const Fusion::Piece& piece : fusion.pieces) {
    const std::int64_t offset = piece.first * size_of(in.type);
    sources_.clear();
    for (const Rank r : fusion.sources(piece)) {
      sources_.push_back(lines_.inline_line(r, sequence % 2).payload + offset);
    }
    std::byte* const into = out.data + offset;
    collbench::reduce(in.type, reduction, sources_, {&into, 1}, piece.count);
  }
}

bool ShmEndpoint::play(const Fusion& fusion, Region in, Region out, Reduction reduction) {
  const std::int64_t bytes = in.size().count;
  if (fusion.even && bytes <= shm_line_payload) {
    if (bytes > 0) play_inline(fusion, in, out, reduction);
    return true;
  }
  require(reaches(in) && reaches(out), "shared memory: rank " + std::to_string(rank_) +
                                           " reduces memory that its peers cannot reach");
  ++fused_;
  arrive(in, out);
  await_arrivals();
  const int busy = std::min(ranks_, lines_.header().cores);
  // Out of place the outputs' lines are nobody's: past the second-level cache, store around it.
  constexpr std::int64_t second_level = 1 << 20;
  const bool around = in.data != out.data && bytes >= second_level;
  const Stores stores = around ? Stores::streaming : Stores::cached;
  ShmHeader& header = lines_.header();
  std::int64_t all = ranks_;
  if (fusion.even) {
    const std::int64_t least = ranks_ <= header.cores ? 4096 : 16384;
    const std::int64_t unit_bytes = std::clamp<std::int64_t>(bytes / (2 * busy), least, 262144);
    const std::int64_t unit = (unit_bytes / 64 * 64) / size_of(in.type);
    all = fold_claimed(fusion, in, reduction, stores, unit);
  } else {
    for (const Fusion::Piece& piece : fusion.pieces) {
      if (piece.owner != rank_) continue;
      fold(piece, fusion, piece.first, piece.count, in, reduction, stores);
    }
    header.done[fused_ % 2].value.fetch_add(1);
  }
  lines_.arrival(rank_).finished.store(fused_, std::memory_order_relaxed);
  waiter_.notify();
  auto& done = header.done[fused_ % 2].value;
  waiter_.wait_until(
      [&] { return static_cast<std::int64_t>(done.load(std::memory_order_acquire)) == all; },
      [&] { return missing_arrival("did not finish its part", true); });
  return true;
}

}  // namespace

std::unique_ptr<Endpoint> make_shm_endpoint(const ShmView& view, Rank rank) {
  return std::make_unique<ShmEndpoint>(view, rank);
}

}  // namespace collbench
