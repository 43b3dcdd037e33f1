// The shared-memory endpoint: a send announces where the data lies, and the receiver reads it
// there.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "transports/kernels/kernels.h"
#include "transports/play/step_order.h"
#include "transports/shm/fused.h"
#include "transports/shm/layout.h"
#include "transports/shm/shm_world.h"

namespace collbench {

namespace {

// A ticket is a send (peer and message number) or the place of a pending receive.
constexpr std::uint64_t send_mark = std::uint64_t{1} << 63;
constexpr std::uint64_t inline_ticket = send_mark;  // message 0 of rank 0: complete at once
constexpr int peer_shift = 48;

// The upper 16 bits of a position hold a hash of the message's size: ranks that play different
// schedules are almost always detected before one reads beyond the end of a buffer.
constexpr int size_shift = 48;
constexpr std::uint64_t position_mask = (std::uint64_t{1} << size_shift) - 1;
std::uint64_t size_mark(std::int64_t bytes) {
  return (static_cast<std::uint64_t>(bytes) * 0x9e3779b97f4a7c15U >> size_shift) << size_shift;
}

class ShmEndpoint final : public Endpoint {
 public:
  ShmEndpoint(const ShmView& view, Rank rank)
      : view_(view),
        lines_(view.world),
        waiter_(view, rank),
        rank_(rank),
        ranks_(lines_.header().ranks),
        sent_(static_cast<std::size_t>(ranks_), 0),
        received_(static_cast<std::size_t>(ranks_), 0),
        taken_(static_cast<std::size_t>(ranks_), 0),
        fused_(make_shm_fused(view, rank)) {
    require(rank >= 0 && rank < ranks_, "shared memory: rank " + std::to_string(rank) +
                                            " is not below " + std::to_string(ranks_));
    pending_.reserve(256);
    message_.reserve(256);
    sources_.reserve(static_cast<std::size_t>(ranks_) + 1);
    resume();
  }

  Rank rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  Seconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }

  void reserve(const Traffic& traffic) override { require_shm_slots(traffic); }

  bool reaches(Region region) const override {
    if (view_.shared_bytes == 0) return true;
    return region.data >= view_.shared_begin &&
           region.data + region.size().count <= view_.shared_begin + view_.shared_bytes;
  }

  // The heap of a process in an arena is cut in two, a half for each use.
  std::byte* scratch(ScratchUse use, Bytes size) override {
    if (view_.shared_bytes == 0) return Endpoint::scratch(use, size);
    const std::size_t half = view_half_heap(view_);
    require(size.count <= static_cast<std::int64_t>(half),
            "shared memory: " + to_string(size) + " of scratch wanted, the arena has " +
                to_string(Bytes{static_cast<std::int64_t>(half)}));
    return view_.heap + (use == ScratchUse::plan ? 0 : half);
  }

  Ticket send(Rank to, Region from) override {
    const std::uint64_t k = sent_[static_cast<std::size_t>(to)]++;
    // The receiver must have read the slot's previous message, number k - shm_slots. That cannot
    // deadlock: messages of earlier rounds, and of steps before the one that execute() waits for,
    // are always read, and execute() looks at most step_window steps ahead.
    static_assert(step_window <= shm_slots);
    if (k >= shm_slots) {
      waiter_.wait_until(
          to, [&] { return has_taken(to, k + 1 - shm_slots); }, [&] { return late_receiver(to); });
    }
    ShmSlot& slot = lines_.slot(rank_, to, k);
    const std::int64_t bytes = from.size().count;
    std::uint64_t position = 0;
    const bool tiny = bytes <= shm_inline_bytes;
    if (tiny) {
      std::memcpy(lines_.payload(rank_, to, k).bytes, from.data, static_cast<std::size_t>(bytes));
    } else {
      if (!reaches(from)) {
        throw InvalidArgument("shared memory: rank " + std::to_string(rank_) +
                              " sends from memory that its peers cannot read");
      }
      position = view_position(view_, from.data);
    }
    // The release below publishes position and payload; is_there() acquires them.
    slot.position = position | size_mark(bytes);
    slot.sequence.store(k + 1, std::memory_order_release);
    waiter_.notify();
    if (tiny) return inline_ticket;
    return send_mark | (static_cast<std::uint64_t>(to) << peer_shift) | (k + 1);
  }

  Ticket recv(Rank from, Region into) override {
    Pending pending;
    pending.from = from;
    pending.first_message = received_[static_cast<std::size_t>(from)]++;
    pending.into = into;
    pending_.push_back(pending);
    ++open_receives_;
    return pending_.size() - 1;
  }

  Ticket recv_reduce(std::span<const Rank> sources, Region own, Region into,
                     Reduction reduction) override {
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

  void wait(Ticket ticket) override {
    if (ticket == inline_ticket) return;
    if ((ticket & send_mark) == 0) {
      receive(pending_[ticket]);
      if (--open_receives_ == 0) {
        pending_.clear();
        message_.clear();
      }
      return;
    }
    const Rank to = receiver(ticket);
    waiter_.wait_until(
        to, [&] { return has_taken(to, messages(ticket)); }, [&] { return late_receiver(to); });
  }

  bool try_wait(Ticket ticket) override {
    if (ticket == inline_ticket) return true;
    if ((ticket & send_mark) != 0) return has_taken(receiver(ticket), messages(ticket));
    if (!all_there(pending_[ticket])) return false;
    wait(ticket);
    return true;
  }

  std::string give_up(const std::string& reason) override { return waiter_.end_world(reason); }
  bool play(const Fusion& fusion, Region in, Region out, Reduction reduction) override {
    return fused_->play(fusion, in, out, reduction, reaches(in) && reaches(out));
  }

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

  // Parts of a send's ticket: the receiver, and its count of taken messages that completes the
  // send.
  static Rank receiver(Ticket ticket) {
    return static_cast<Rank>((ticket & ~send_mark) >> peer_shift);
  }
  static std::uint64_t messages(Ticket ticket) {
    return ticket & ((std::uint64_t{1} << peer_shift) - 1);
  }
  // Restores the counters that an earlier endpoint of this rank left in the world.
  void resume() {
    for (Rank r = 0; r < ranks_; ++r) {
      std::uint64_t& sent = sent_[static_cast<std::size_t>(r)];
      for (std::uint64_t k = 0; k < shm_slots; ++k) {
        sent = std::max(sent, lines_.slot(rank_, r, k).sequence.load());
      }
      received_[static_cast<std::size_t>(r)] = lines_.taken(r, rank_).value.load();
    }
  }

  // Reads the receiver's counter only if the last known value does not suffice: the line is in the
  // receiver's cache, and reading it costs a transfer between cores.
  bool has_taken(Rank to, std::uint64_t messages) {
    std::uint64_t& known = taken_[static_cast<std::size_t>(to)];
    if (known >= messages) return true;
    known = lines_.taken(rank_, to).value.load(std::memory_order_acquire);
    return known >= messages;
  }

  std::string late_receiver(Rank to) const {
    return "rank " + std::to_string(to) + " did not take a message from rank " +
           std::to_string(rank_) + " within the timeout";
  }
  bool is_there(Rank from, std::uint64_t message) const {
    return lines_.slot(from, rank_, message).sequence.load(std::memory_order_acquire) ==
           message + 1;
  }
  bool all_there(const Pending& pending) const {
    if (pending.sources.empty()) return is_there(pending.from, pending.first_message);
    const std::uint64_t* message = &message_[pending.first_message];
    return std::all_of(pending.sources.begin(), pending.sources.end(), [&](Rank r) {
      const std::uint64_t number = *message++;
      return r == rank_ || is_there(r, number);
    });
  }

  // Waits for a message and returns the address of its data.
  const std::byte* arrived(Rank from, std::uint64_t message, Bytes expected) {
    const ShmSlot& slot = lines_.slot(from, rank_, message);
    waiter_.wait_until(
        from, [&] { return is_there(from, message); },
        [&] {
          return "rank " + std::to_string(from) + " sent nothing to rank " + std::to_string(rank_) +
                 " within the timeout";
        });
    if ((slot.position & ~position_mask) != size_mark(expected.count)) {
      throw TransportError(give_up("rank " + std::to_string(from) + " sent rank " +
                                   std::to_string(rank_) + " a message of another size than the " +
                                   std::to_string(expected.count) + " bytes it expects"));
    }
    const std::uint64_t position = slot.position & position_mask;
    return position == 0 ? lines_.payload(from, rank_, message).bytes : view_data(view_, position);
  }

  void take(Rank from, std::uint64_t message) {
    lines_.taken(from, rank_).value.store(message + 1, std::memory_order_release);
    waiter_.notify();
  }

  // A payload inside the slot lies in the world itself, so no visit is needed.
  std::optional<ShmVisit> visit_for(const Pending& pending) {
    if (pending.into.size().count <= shm_inline_bytes) return std::nullopt;
    return std::optional<ShmVisit>(std::in_place, waiter_);
  }
  void receive(const Pending& pending) {
    if (!pending.sources.empty()) {
      reduce_sources(pending);
      return;
    }
    const std::byte* data = arrived(pending.from, pending.first_message, pending.into.size());
    {
      const auto visit = visit_for(pending);
      collbench::copy(pending.into.data, data, pending.into.size().count);
    }
    take(pending.from, pending.first_message);
  }

  // One pass over the own term and every source, in the order of the schedule.
  void reduce_sources(const Pending& pending) {
    const auto message = [&](std::size_t i) {
      return message_[static_cast<std::size_t>(pending.first_message) + i];
    };
    sources_.clear();
    const bool marked =
        std::find(pending.sources.begin(), pending.sources.end(), rank_) != pending.sources.end();
    if (!marked) sources_.push_back(pending.own.data);
    for (std::size_t i = 0; i < pending.sources.size(); ++i) {
      const Rank r = pending.sources[i];
      sources_.push_back(r == rank_ ? pending.own.data
                                    : arrived(r, message(i), pending.into.size()));
    }
    std::byte* const into = pending.into.data;
    {
      const auto visit = visit_for(pending);
      collbench::reduce(pending.into.type, pending.reduction, sources_, {&into, 1},
                        pending.into.count);
    }
    for (std::size_t i = 0; i < pending.sources.size(); ++i) {
      if (pending.sources[i] != rank_) take(pending.sources[i], message(i));
    }
  }

  ShmView view_;
  ShmLines lines_;
  ShmWaiter waiter_;
  Rank rank_;
  int ranks_;
  std::vector<std::uint64_t> sent_;      // messages sent to each rank
  std::vector<std::uint64_t> received_;  // receives posted from each rank
  std::vector<std::uint64_t> taken_;     // messages that each rank is known to have taken
  std::vector<Pending> pending_;
  std::size_t open_receives_ = 0;
  std::vector<std::uint64_t> message_;  // scratch of receive(): message number per source
  std::vector<const std::byte*> sources_;
  std::unique_ptr<ShmFused> fused_;
};

}  // namespace

std::unique_ptr<Endpoint> make_shm_endpoint(const ShmView& view, Rank rank) {
  return std::make_unique<ShmEndpoint>(view, rank);
}

}  // namespace collbench
