#include "transports/play/plan.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/resolve.h"
#include "algorithms/schedule.h"
#include "core/error.h"

namespace collbench {
namespace {

using Counts = std::vector<int>;

// The counts of all ranks' chunks, and the round's messages on their way.
struct Player {
  std::vector<Counts> held;                                       // per rank, per chunk
  std::map<std::pair<Rank, Rank>, std::deque<Counts>> in_flight;  // (from, to), first in first out

  void send(Rank r, const Op& op) {
    const auto begin = held[static_cast<std::size_t>(r)].begin() + op.chunks.first;
    in_flight[{r, op.peer}].emplace_back(begin, begin + op.chunks.count);
  }

  // The counts that the chunks of a receipt then hold.
  std::span<const int> receive(Rank r, const ResolvedRound& round, const Receipt& receipt) {
    const auto begin = held[static_cast<std::size_t>(r)].begin() + receipt.chunks.first;
    if (!receipt.folds) std::fill_n(begin, receipt.chunks.count, 0);
    for (const Rank source : round.sources(receipt)) {
      if (source == r) continue;  // the own term, counted already
      auto& queue = in_flight[{source, r}];
      assert(!queue.empty());
      std::transform(queue.front().begin(), queue.front().end(), begin, begin, std::plus<>());
      queue.pop_front();
    }
    return {begin, static_cast<std::size_t>(receipt.chunks.count)};
  }
};

// When folds become complete: how many contributions each chunk of each rank holds, round by round.

/// Which of one rank's reductions finish the sum of all ranks.
struct Completion {
  /// rounds x chunks entries, row-major: the rank reduced this chunk in this round, and it then
  /// held all contributions.
  std::vector<bool> completes;
  int chunks = 0;
  /// Every operation that reduces, on every rank, completes all of its chunks or none of them.
  bool whole_operations = true;

  bool at(int round, int chunk) const {
    return completes[static_cast<std::size_t>(round) * static_cast<std::size_t>(chunks) +
                     static_cast<std::size_t>(chunk)];
  }
};

/// Plays the schedule on contribution counts. Requires a verified schedule. O(all operations).
Completion find_completion(const Schedule& schedule, Rank rank) {
  const auto n = static_cast<std::size_t>(schedule.ranks());
  const auto chunks = static_cast<std::size_t>(schedule.chunks());
  Player player{std::vector<Counts>(n, Counts(chunks, 1)), {}};
  Completion found;
  found.chunks = schedule.chunks();
  found.completes.resize(static_cast<std::size_t>(schedule.rounds()) * chunks, false);
  std::vector<ResolvedRound> rounds(n);
  for (int t = 0; t < schedule.rounds(); ++t) {
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      ResolvedRound& round = rounds[static_cast<std::size_t>(r)];
      resolve(schedule, r, t, round);
      for (const Op& op : round.sends()) player.send(r, op);
    }
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      const ResolvedRound& round = rounds[static_cast<std::size_t>(r)];
      for (const Receipt& receipt : round.receipts()) {
        const std::span<const int> counts = player.receive(r, round, receipt);
        if (!receipt.folds) continue;
        const auto done = std::count(counts.begin(), counts.end(), schedule.ranks());
        if (done != 0 && done != receipt.chunks.count) found.whole_operations = false;
        if (r != rank) continue;
        const auto row = found.completes.begin() +
                         static_cast<std::ptrdiff_t>(static_cast<std::size_t>(t) * chunks) +
                         receipt.chunks.first;
        std::transform(counts.begin(), counts.end(), row,
                       [&](int count) { return count == schedule.ranks(); });
      }
    }
  }
  return found;
}

struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool overlaps(const Range& other) const { return first < other.last && other.first < last; }
  bool operator==(const Range&) const = default;
};

}  // namespace

// Builds the steps of a plan, round by round.
class PlanBuilder {
 public:
  PlanBuilder(const Schedule& schedule, const Collective& collective, Plan& plan)
      : schedule_(schedule),
        plan_(plan),
        after_(held_after(collective, plan.rank_, plan.ranks_, schedule.chunks())),
        places_(static_cast<std::size_t>(schedule.chunks()), Place::output) {
    const Chunks before = held_before(collective, plan.rank_, plan.ranks_, schedule.chunks());
    if (plan.in_place_) {
      after_ = {0, schedule.chunks()};
      plan.input_ = plan.output_ = {0, plan.count_};
    } else {
      std::fill_n(places_.begin() + before.first, before.count, Place::input);
      plan.input_ = elements(range(before));
      plan.output_ = elements(range(after_));
    }
    divided_ = elements(range(held_after(collective, plan.rank_, plan.ranks_, schedule.chunks())));
    if (plan.op_ == ReduceOp::avg && plan.ranks_ > 1) {
      completion_ = find_completion(schedule, plan.rank_);
    }
  }

  void build() {
    for (int t = 0; t < schedule_.rounds(); ++t) {
      resolve(schedule_, plan_.rank_, t, round_);
      bring_together();
      post_sends();
      wait_for_overwritten_sends();
      post_receives(t);
      wait_for_receives();
    }
    bring(after_, Place::output);
    for (const Sent& sent : in_flight_) wait(sent.ticket);
    const bool at_end = completion_ && !completion_->whole_operations;
    if (at_end && divided_.count > 0) {
      plan_.steps_.push_back(
          {.kind = Step::Kind::divide, .first = divided_.first, .count = divided_.count});
    }
  }

 private:
  struct Sent {
    std::int32_t ticket;
    Place place;
    Range range;
  };

  Range range(Chunks chunks) const {
    const int bytes = size_of(plan_.type_);
    return {schedule_.partition()(chunks.first, plan_.count_, bytes),
            schedule_.partition()(chunks.first + chunks.count, plan_.count_, bytes)};
  }

  static Elements elements(Range range) { return {range.first, range.last - range.first}; }

  // Where the values of `chunks` belong: in the output, if all of it is to hold them.
  Place home(Chunks chunks) {
    const bool kept =
        after_.first <= chunks.first && chunks.first + chunks.count <= after_.first + after_.count;
    if (!kept) plan_.needs_work_ = true;
    return kept ? Place::output : Place::work;
  }

  void wait(std::int32_t ticket) {
    plan_.steps_.push_back({.kind = Step::Kind::wait, .ticket = ticket});
  }

  // Waits for earlier sends from `place` that carry any of `range`.
  void wait_for_sends(Place place, Range range) {
    const auto clash = [&](const Sent& sent) {
      if (sent.place != place || !sent.range.overlaps(range)) return false;
      wait(sent.ticket);
      return true;
    };
    in_flight_.erase(std::remove_if(in_flight_.begin(), in_flight_.end(), clash), in_flight_.end());
  }

  // After this round's sends are on their way: peers need not wait for what this rank waits for.
  void wait_for_overwritten_sends() {
    for (const Receipt& receipt : round_.receipts()) {
      wait_for_sends(destination(receipt), range(receipt.chunks));
    }
  }

  // Where what is received goes. A sum does not replace what this round sends: it goes beside it,
  // and the next one comes back.
  Place destination(const Receipt& receipt) {
    const Place place = home(receipt.chunks);
    const Range r = range(receipt.chunks);
    const bool is_sent = std::any_of(sent_now_.begin(), sent_now_.end(), [&](const Sent& sent) {
      return sent.place == place && sent.range.overlaps(r);
    });
    if (!is_sent) return place;
    plan_.needs_scratch_ = true;
    return Place::scratch;
  }

  void copy(Place from, Place to, Range r) {
    if (r.first == r.last) return;
    if (!plan_.steps_.empty()) {
      Step& last = plan_.steps_.back();
      if (last.kind == Step::Kind::copy && last.from == from && last.to == to &&
          last.first + last.count == r.first) {
        last.count += r.last - r.first;
        return;
      }
    }
    plan_.steps_.push_back({.kind = Step::Kind::copy,
                            .from = from,
                            .to = to,
                            .first = r.first,
                            .count = r.last - r.first});
  }

  // Copies the current values of `chunks` to one place, as far as they are not there yet.
  void bring(Chunks chunks, Place to) {
    for (int c = chunks.first; c < chunks.first + chunks.count; ++c) {
      Place& place = places_[static_cast<std::size_t>(c)];
      if (place == to) continue;
      wait_for_sends(to, range({c, 1}));
      copy(place, to, range({c, 1}));
      place = to;
    }
  }

  // Where the current value of `chunks` lies; brings it together if it is scattered.
  Place current_place(Chunks chunks) {
    const auto begin = places_.begin() + chunks.first;
    const auto is_first = [&](Place place) { return place == *begin; };
    if (!std::all_of(begin, begin + chunks.count, is_first)) bring(chunks, home(chunks));
    return *begin;
  }

  // The chunks of an operation lie in one place each, before anything of the round is posted. What
  // one brings home another may have had elsewhere: that comes home in the next pass.
  void bring_together() {
    const auto count_away = [&] {
      return std::count(places_.begin(), places_.end(), Place::scratch) +
             std::count(places_.begin(), places_.end(), Place::input);
    };
    for (auto away = count_away() + 1; count_away() < away;) {
      away = count_away();
      for (const Op& op : round_.sends()) current_place(op.chunks);
      for (const Receipt& receipt : round_.receipts()) {
        if (receipt.folds) current_place(receipt.chunks);
      }
    }
  }

  void post_sends() {
    sent_now_.clear();
    std::map<Rank, int> messages;
    for (const Op& op : round_.sends()) {
      const Range r = range(op.chunks);
      if (r.first == r.last) continue;
      const Place place = current_place(op.chunks);
      const std::int32_t ticket = plan_.tickets_++;
      plan_.steps_.push_back({.kind = Step::Kind::send,
                              .from = place,
                              .peer = op.peer,
                              .ticket = ticket,
                              .first = r.first,
                              .count = r.last - r.first});
      in_flight_.push_back({ticket, place, r});
      sent_now_.push_back(in_flight_.back());
      int& most = plan_.traffic_.messages_per_peer_and_round;
      most = std::max(most, ++messages[op.peer]);
    }
  }

  void post_receives(int t) {
    for (const Receipt& receipt : round_.receipts()) {
      const Range r = range(receipt.chunks);
      if (r.first == r.last) continue;
      std::span<const Rank> sources = round_.sources(receipt);
      Step step{.kind = Step::Kind::recv,
                .peer = sources.front(),
                .ticket = plan_.tickets_++,
                .first = r.first,
                .count = r.last - r.first};
      step.to = destination(receipt);
      if (receipt.folds) {
        if (sources.front() == plan_.rank_) sources = sources.subspan(1);  // leads unmarked
        step.kind = Step::Kind::recv_reduce;
        step.peer = -1;
        step.from = current_place(receipt.chunks);
        step.first_source = static_cast<std::int32_t>(plan_.sources_.size());
        step.source_count = static_cast<std::int32_t>(sources.size());
        step.completes = completion_ && completion_->whole_operations &&
                         completion_->at(t, receipt.chunks.first);
        plan_.sources_.insert(plan_.sources_.end(), sources.begin(), sources.end());
      }
      std::fill_n(places_.begin() + receipt.chunks.first, receipt.chunks.count, step.to);
      receiving_.push_back(step.ticket);
      plan_.steps_.push_back(step);
    }
  }

  void wait_for_receives() {
    for (const std::int32_t ticket : receiving_) wait(ticket);
    receiving_.clear();
  }

  const Schedule& schedule_;
  Plan& plan_;
  ResolvedRound round_;
  Chunks after_;               // what the output is to hold
  Elements divided_;           // what the collective leaves here
  std::vector<Place> places_;  // of each chunk's current value
  std::vector<Sent> in_flight_;
  std::vector<std::int32_t> receiving_;
  std::vector<Sent> sent_now_;  // this round
  std::optional<Completion> completion_;
};

Plan::Plan(const Schedule& schedule, Rank rank, std::int64_t count, DataType type, ReduceOp op,
           bool in_place, const Collective& collective)
    : rank_(rank),
      ranks_(schedule.ranks()),
      count_(count),
      type_(type),
      op_(adds(collective.kind) ? op : ReduceOp::sum),
      in_place_(in_place) {
  require(rank >= 0 && rank < ranks_, "plan: rank " + std::to_string(rank) + " is not below " +
                                          std::to_string(ranks_) + ", the ranks of " +
                                          schedule.name());
  require(count >= 0, "plan: the element count must not be negative");
  PlanBuilder(schedule, collective, *this).build();
  fusion_ = fuse(schedule, count, size_of(type), collective, in_place);
}

}  // namespace collbench
