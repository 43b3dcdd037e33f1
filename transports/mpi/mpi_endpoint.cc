#include "transports/mpi/mpi_endpoint.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>

#include "core/error.h"
#include "transports/kernels/kernels.h"
#include "transports/mpi/mpi_pieces.h"
#include "transports/mpi/mpi_session.h"

namespace collbench {
namespace {

using Arrival = MessageArrival<MPI_Request>;
using Departure = MessageDeparture<MPI_Request>;

constexpr int only_tag = 0;
// Sums of so much, and more, arrive where they will be if they can, which spares the cache.
constexpr std::int64_t long_bytes = std::int64_t{64} << 10;
// Of long sums that cannot, so many have staging memory at a time. That of all seven of a ring of 8
// ranks was one more vector a rank, and took the ring of 16 MiB 1.3 times as long (2 cores).
constexpr int long_sums_staged = 2;
// A test that finds nothing gives the processor away. What it was for may have come meanwhile:
// before one of what comes behind gives it away in vain, look again.
constexpr int tests_of_a_try = 4;
constexpr int tests_before_yields = 100;
constexpr int tests_between_looks = 64;

class MpiEndpoint final : public Endpoint {
 public:
  explicit MpiEndpoint(Seconds timeout) : timeout_(timeout) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    unposted_.resize(static_cast<std::size_t>(ranks_));
    unsent_.resize(static_cast<std::size_t>(ranks_));
    underway_.resize(static_cast<std::size_t>(ranks_));
  }
  MpiEndpoint(const MpiEndpoint&) = delete;
  MpiEndpoint& operator=(const MpiEndpoint&) = delete;

  // Something is open only after a failure. MPI must not write into memory that is then gone.
  ~MpiEndpoint() override {
    for (Arrival& arrival : arrivals_) {
      for (std::int64_t piece = 0; piece < arrival.posted; ++piece) {
        MPI_Request& request = arrival.request(piece);
        if (request == MPI_REQUEST_NULL) continue;
        MPI_Cancel(&request);
        MPI_Request_free(&request);
      }
    }
  }

  Rank rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  Seconds now() const override { return Seconds{MPI_Wtime()}; }
  void reserve(const Traffic&) override {}
  Ticket send(Rank to, Region from) override {
    MessageTransfer& transfer = begin({}, from, {}, departures_.size());
    transfer.is_send = true;
    Departure& departure = departures_.next();
    departure.start(to, from);
    std::vector<std::size_t>& waiting = unsent_[static_cast<std::size_t>(to)];
    if (waiting.empty()) {
      if (post(departure)) return transfers_.size() - 1;
      sending_to_.push_back(to);
    }
    waiting.push_back(transfer.first);
    return transfers_.size() - 1;
  }

  Ticket recv(Rank from, Region into) override {
    begin({}, {}, into, arrivals_.size()).count = 1;
    expect(from, into);
    return transfers_.size() - 1;
  }

  Ticket recv_reduce(std::span<const Rank> sources, Region own, Region into,
                     Reduction reduction) override {
    const bool is_direct = sources.size() == 1 && own.data != into.data &&
                           into.size().count >= long_bytes && is_free(into);
    MessageTransfer& transfer = begin(sources, own, into, arrivals_.size());
    transfer.reduction = reduction;
    for (const Rank source : sources) {
      if (source != rank_) expect(source, {is_direct ? into.data : nullptr, into.count, into.type});
    }
    transfer.count = arrivals_.size() - transfer.first;
    return transfers_.size() - 1;
  }

  void wait(Ticket ticket) override {
    advance(ticket, true);
    end(ticket);
  }
  bool try_wait(Ticket ticket) override {
    if (!advance(ticket, false)) return false;
    end(ticket);
    return true;
  }

  std::string give_up(const std::string& reason) override {
    const std::string earlier = hears() ? heard_mpi_failure() : "";
    if (!earlier.empty()) return earlier;
    fail_mpi_session(reason);
    return reason;
  }

 private:
  bool hears() const { return !std::isinf(timeout_.count()); }

  void check(int code, const char* call) const {
    if (code == MPI_SUCCESS) return;
    fail_mpi_session(fmt::format("{} failed at rank {}", call, rank_));
    check_mpi(code, call, rank_);
  }
  [[noreturn]] void fail(const std::string& what) { throw TransportError(give_up("MPI: " + what)); }

  MessageTransfer& begin(std::span<const Rank> sources, Region own, Region into,
                         std::size_t first) {
    ++open_;
    MessageTransfer& transfer = transfers_.next();
    transfer.start(sources, own, into, first);
    return transfer;
  }

  void end(Ticket ticket) {
    transfers_[ticket].own = transfers_[ticket].into = {};  // free for what arrives
    if (--open_ > 0) return;
    transfers_.clear();
    departures_.clear();
    arrivals_.clear();
  }

  bool is_free(Region region) const {
    return std::ranges::none_of(transfers_, [&](const MessageTransfer& each) {
      return overlap(each.own, region) || overlap(each.into, region);
    });
  }

  // Into a region or, if that has no place, into staging memory.
  void expect(Rank from, Region into) {
    Arrival& arrival = arrivals_.next();
    arrival.start(from, into, transfers_.size() - 1);
    std::vector<std::size_t>& waiting = unposted_[static_cast<std::size_t>(from)];
    if (!waiting.empty() || !post(arrival)) waiting.push_back(arrivals_.size() - 1);
  }

  void post_from(Rank source) {
    std::vector<std::size_t>& waiting = unposted_[static_cast<std::size_t>(source)];
    while (!waiting.empty() && post(arrivals_[waiting.front()])) waiting.erase(waiting.begin());
  }

  // Staging memory for all that one sum waits for, unless enough others have theirs. What is waited
  // for itself must have it.
  bool grant(Arrival& arrival, bool must) {
    MessageTransfer& transfer = transfers_[arrival.transfer];
    if (!transfer.is_granted) {
      const bool is_long = arrival.bytes > long_bytes;
      if (is_long && !must && long_sums_ >= long_sums_staged) {
        starved_.push_back(arrival.from);
        return false;
      }
      transfer.is_granted = true;
      if (is_long) ++long_sums_;
    }
    for (std::int64_t i = 0; i < std::min(pieces_of(arrival.bytes), pieces_ahead); ++i) {
      std::byte*& stage = arrival.stages[static_cast<std::size_t>(i)];
      if (stage == nullptr) stage = stages_.take(arrival.bytes);
    }
    return true;
  }

  // Others may have what a sum that is complete had.
  void note_summed(MessageTransfer& transfer) {
    if (!transfer.is_granted || transfer.into.size().count <= long_bytes) return;
    transfer.is_granted = false;
    --long_sums_;
    for (const Rank source : std::exchange(starved_, {})) post_from(source);
  }

  // As many of its pieces as there is memory for; whether that is all of them.
  bool post(Arrival& arrival, bool must = false) {
    if (arrival.is_staged && !grant(arrival, must)) return false;
    for (; !arrival.is_posted(); ++arrival.posted) {
      const std::int64_t number = arrival.posted;
      if (arrival.is_staged && number == arrival.released + pieces_ahead) return false;
      check(MPI_Irecv(arrival.place(number), MessagePiece(arrival.bytes, number).count, MPI_BYTE,
                      arrival.from, only_tag, MPI_COMM_WORLD, &arrival.request(number)),
            "MPI_Irecv");
    }
    return true;
  }

  // Goes on with a transfer, to its end if it may block. Whether it is complete.
  bool advance(Ticket ticket, bool may_block) {
    MessageTransfer& transfer = transfers_[ticket];
    if (transfer.is_send) return finish(departures_[transfer.first], may_block);
    if (transfer.sources.empty()) return arrive(transfer.first, transfer.last_piece(), may_block);
    for (const std::int64_t last = transfer.last_piece(); transfer.done <= last; ++transfer.done) {
      for (std::size_t i = 0; i < transfer.count; ++i) {
        if (!arrive(transfer.first + i, transfer.done, may_block)) return false;
      }
      reduce_piece(transfer);
      for (std::size_t i = 0; i < transfer.count; ++i) release(arrivals_[transfer.first + i]);
    }
    note_summed(transfer);
    return true;
  }

  void send_to(Rank to) {
    std::vector<std::size_t>& waiting = unsent_[static_cast<std::size_t>(to)];
    while (!waiting.empty() && post(departures_[waiting.front()])) waiting.erase(waiting.begin());
  }

  // As many of its pieces as may be underway; whether that is all of them.
  bool post(Departure& departure) {
    const Rank to = departure.to;
    for (; !departure.is_posted(); ++departure.posted, ++underway(to)) {
      if (underway(to) == pieces_underway && !make_room(to)) return false;
      const MessagePiece piece(departure.bytes, departure.posted);
      check(MPI_Isend(departure.from + piece.first, piece.count, MPI_BYTE, to, only_tag,
                      MPI_COMM_WORLD, &departure.request(departure.posted)),
            "MPI_Isend");
    }
    return true;
  }

  std::int64_t& underway(Rank to) { return underway_[static_cast<std::size_t>(to)]; }
  bool make_room(Rank to) {
    for (Departure& departure : departures_) {
      if (departure.to == to) note_taken(departure);
    }
    return underway(to) < pieces_underway;
  }

  void note_taken(Departure& departure) {
    for (; departure.taken < departure.posted; ++departure.taken, --underway(departure.to)) {
      int is_complete = 0;
      check(MPI_Test(&departure.request(departure.taken), &is_complete, MPI_STATUS_IGNORE),
            "MPI_Isend");
      if (is_complete == 0) return;
    }
  }

  // Whatever this rank waits for: what it has begun to send goes on.
  void go_on_sending() {
    for (const Rank to : sending_to_) send_to(to);
    std::erase_if(sending_to_,
                  [&](Rank rank) { return unsent_[static_cast<std::size_t>(rank)].empty(); });
  }

  bool finish(Departure& departure, bool may_block) {
    const std::int64_t pieces = pieces_of(departure.bytes);
    const auto late = [&] {
      return fmt::format("rank {} did not take a message from rank {} within {}", departure.to,
                         rank_, to_string(timeout_));
    };
    if (leaves_waiting_to_mpi(may_block)) {
      for (; departure.taken < pieces; ++departure.taken, --underway(departure.to)) {
        check(MPI_Wait(&departure.request(departure.taken), MPI_STATUS_IGNORE), "MPI_Isend");
      }
      return true;
    }
    // Each piece has the whole timeout: a message is not late as long as it moves.
    while (departure.taken < pieces) {
      const auto has_moved = [&, before = departure.taken] {
        if (!departure.is_posted()) go_on_sending();
        note_taken(departure);
        return departure.taken > before;
      };
      if (!wait_until(has_moved, may_block, late)) return false;
    }
    return true;
  }

  // The pieces of an arrival up to one of them.
  bool arrive(std::size_t index, std::int64_t last, bool may_block) {
    Arrival& arrival = arrivals_[index];
    for (; arrival.arrived <= last; ++arrival.arrived) {
      while (arrival.arrived >= arrival.posted) {
        Arrival& ahead = arrivals_[unposted_[static_cast<std::size_t>(arrival.from)].front()];
        if (ahead.posted == 0) {
          post(ahead, true);
          const MessageTransfer& first = transfers_[ahead.transfer];
          for (std::size_t i = 0; i < first.count; ++i) post_from(arrivals_[first.first + i].from);
        } else {
          assert(&ahead != &arrival);
          if (!advance(ahead.transfer, may_block)) return false;
        }
      }
      MPI_Status status;
      const auto late = [&] {
        return fmt::format("rank {} sent nothing to rank {} within {}", arrival.from, rank_,
                           to_string(timeout_));
      };
      MPI_Request& request = arrival.request(arrival.arrived);
      const auto is_there = [&] {
        int flag = 0;
        check(MPI_Test(&request, &flag, &status), "MPI_Irecv");
        return flag != 0;
      };
      if (leaves_waiting_to_mpi(may_block)) {
        check(MPI_Wait(&request, &status), "MPI_Irecv");
      } else if (!wait_until(is_there, may_block, late)) {
        return false;
      }
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      if (count != MessagePiece(arrival.bytes, arrival.arrived).count) {
        fail(fmt::format("rank {} sent rank {} another number of bytes than the {} it expects",
                         arrival.from, rank_, arrival.bytes));
      }
    }
    return true;
  }

  // MPI does not send for us what is not posted.
  bool leaves_waiting_to_mpi(bool may_block) const {
    return may_block && !hears() && sending_to_.empty();
  }

  // Ranks that share a core must give it away, which not every MPI does.
  template <typename Done, typename Late>
  bool wait_until(Done done, bool may_block, Late late) {
    Seconds begin{0};  // of looking, so that a short wait reads no clock
    for (std::int64_t tests = 1; !done(); ++tests) {
      if (!may_block && tests == tests_of_a_try) return false;
      if (!sending_to_.empty()) go_on_sending();
      if (hears() && tests % tests_between_looks == 0) {
        if (const std::string why = heard_mpi_failure(); !why.empty()) throw TransportError(why);
        if (begin == Seconds{0}) begin = now();
        if (now() - begin > timeout_) fail(late());
      }
      if (tests > tests_before_yields) sched_yield();
    }
    return true;
  }

  void reduce_piece(const MessageTransfer& transfer) {
    const MessagePiece piece(transfer.into.size().count, transfer.done);
    const bool marked = std::find(transfer.sources.begin(), transfer.sources.end(), rank_) !=
                        transfer.sources.end();
    terms_.clear();
    if (!marked) terms_.push_back(transfer.own.data + piece.first);
    const Arrival* arrival = &arrivals_[transfer.first];
    for (const Rank source : transfer.sources) {
      terms_.push_back(source == rank_ ? transfer.own.data + piece.first
                                       : (arrival++)->place(transfer.done));
    }
    std::byte* const into = transfer.into.data + piece.first;
    collbench::reduce(transfer.into.type, transfer.reduction, terms_, {&into, 1},
                      piece.count / size_of(transfer.into.type));
  }

  // The memory of a reduced piece serves the next one, or another message.
  void release(Arrival& arrival) {
    ++arrival.released;
    if (arrival.released == pieces_of(arrival.bytes)) {
      for (std::byte*& stage : arrival.stages) {
        if (stage != nullptr) stages_.give_back(std::exchange(stage, nullptr), arrival.bytes);
      }
    } else if (!arrival.is_posted()) {
      post_from(arrival.from);
    }
  }

  Seconds timeout_;
  Rank rank_ = 0;
  int ranks_ = 1;
  std::size_t open_ = 0;  // transfers that have not been waited for
  Slots<MessageTransfer> transfers_;
  Slots<Departure> departures_;
  std::vector<std::vector<std::size_t>> unsent_;  // departures by receiver, the earliest first
  std::vector<std::int64_t> underway_;            // pieces by receiver
  std::vector<Rank> sending_to_;                  // with such
  Slots<Arrival> arrivals_;
  std::vector<std::vector<std::size_t>> unposted_;  // arrivals by source, the earliest first
  PieceMemory stages_;
  int long_sums_ = 0;                    // that have staging memory
  std::vector<Rank> starved_;            // sources of those that wait for some
  std::vector<const std::byte*> terms_;  // of one reduction
};

}  // namespace

std::unique_ptr<Endpoint> make_mpi_endpoint(Seconds timeout) {
  start_mpi_session();
  if (!std::isinf(timeout.count())) hear_mpi_failures();
  return std::make_unique<MpiEndpoint>(timeout);
}

}  // namespace collbench
