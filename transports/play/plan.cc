#include "transports/play/plan.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "core/error.h"
#include "transports/play/completion.h"

namespace collbench {

namespace {

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
  PlanBuilder(const Schedule& schedule, Plan& plan)
      : schedule_(schedule),
        plan_(plan),
        fresh_(static_cast<std::size_t>(schedule.chunks()), !plan.in_place_) {
    if (plan.op_ == ReduceOp::avg && plan.ranks_ > 1) {
      completion_ = find_completion(schedule, plan.rank_);
    }
  }

  void build() {
    for (int t = 0; t < schedule_.rounds(); ++t) {
      schedule_.round(plan_.rank_, t, round_);
      wait_for_old_snapshots();
      post_sends();
      wait_for_overwritten_sends();
      post_receives(t);
      wait_for_receives();
    }
    for (const Sent& sent : in_flight_) wait(sent.ticket);
    for (int c = 0; c < schedule_.chunks(); ++c) unfreshen({c, 1});
    const bool at_end = completion_ && !completion_->whole_operations;
    if (at_end && plan_.count_ > 0) {
      plan_.steps_.push_back({.kind = Step::Kind::divide, .count = plan_.count_});
    }
  }

 private:
  struct Sent {
    std::int32_t ticket;
    Place place;
    Range range;
  };
  // Reductions of this round into one range, in the order written.
  struct Group {
    Op op;
    Range range;
    std::vector<Rank> sources;
  };

  Range range(Chunks chunks) const {
    const int bytes = size_of(plan_.type_);
    return {schedule_.partition()(chunks.first, plan_.count_, bytes),
            schedule_.partition()(chunks.first + chunks.count, plan_.count_, bytes)};
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

  // This round's snapshots will lie where earlier ones may still be read.
  void wait_for_old_snapshots() {
    for (const Op& op : round_.ops()) {
      const Range r = range(op.chunks);
      if (op.kind == OpKind::send && reduced_this_round(r)) wait_for_sends(Place::scratch, r);
    }
  }

  // After this round's sends are on their way: peers need not wait for what this rank waits for.
  void wait_for_overwritten_sends() {
    for (const Op& op : round_.ops()) {
      if (op.kind != OpKind::send) wait_for_sends(Place::output, range(op.chunks));
    }
  }

  void copy(Place from, Place to, Range r) {
    if (r.first == r.last) return;
    plan_.steps_.push_back({.kind = Step::Kind::copy,
                            .from = from,
                            .to = to,
                            .first = r.first,
                            .count = r.last - r.first});
  }

  // Makes the output hold the current value of `chunks`.
  void unfreshen(Chunks chunks) {
    for (int c = chunks.first; c < chunks.first + chunks.count; ++c) {
      if (!fresh_[static_cast<std::size_t>(c)]) continue;
      copy(Place::input, Place::output, range({c, 1}));
      fresh_[static_cast<std::size_t>(c)] = false;
    }
  }

  // Where the current value of `chunks` lies; brings it together in the output if it is scattered.
  Place current_place(Chunks chunks) {
    const auto begin = fresh_.begin() + chunks.first;
    const auto fresh = std::count(begin, begin + chunks.count, true);
    if (fresh == chunks.count) return Place::input;
    unfreshen(chunks);
    return Place::output;
  }

  bool reduced_this_round(Range r) const {
    return std::any_of(round_.ops().begin(), round_.ops().end(), [&](const Op& op) {
      return op.kind == OpKind::recv_reduce && range(op.chunks).overlaps(r);
    });
  }

  // Copies what has not been copied this round: one snapshot serves every send of a chunk.
  void take_snapshot(Chunks chunks) {
    for (int c = chunks.first; c < chunks.first + chunks.count; ++c) {
      if (std::find(snapshot_.begin(), snapshot_.end(), c) != snapshot_.end()) continue;
      const Range r = range({c, 1});
      const bool extends = !plan_.steps_.empty() && !snapshot_.empty() &&
                           plan_.steps_.back().kind == Step::Kind::copy &&
                           plan_.steps_.back().to == Place::scratch &&
                           plan_.steps_.back().first + plan_.steps_.back().count == r.first;
      if (extends) {
        plan_.steps_.back().count += r.last - r.first;
      } else {
        copy(Place::output, Place::scratch, r);
      }
      snapshot_.push_back(c);
    }
    plan_.needs_scratch_ = true;
  }

  void post_sends() {
    snapshot_.clear();
    std::map<Rank, int> messages;
    for (const Op& op : round_.ops()) {
      const Range r = range(op.chunks);
      if (op.kind != OpKind::send || r.first == r.last) continue;
      Place place = current_place(op.chunks);
      if (place == Place::output && reduced_this_round(r)) {
        take_snapshot(op.chunks);
        place = Place::scratch;
      }
      const std::int32_t ticket = plan_.tickets_++;
      plan_.steps_.push_back({.kind = Step::Kind::send,
                              .from = place,
                              .peer = op.peer,
                              .ticket = ticket,
                              .first = r.first,
                              .count = r.last - r.first});
      in_flight_.push_back({ticket, place, r});
      int& most = plan_.traffic_.messages_per_peer_and_round;
      most = std::max(most, ++messages[op.peer]);
    }
  }

  // The receives of the round as groups. A reduction joins the group of its chunks unless a later
  // group already takes a message of its peer: messages of one peer are taken in the order written.
  std::vector<Group> groups() const {
    std::vector<Group> groups;
    std::map<Rank, std::size_t> last_of_peer;
    for (const Op& op : round_.ops()) {
      const Range r = range(op.chunks);
      if (op.kind == OpKind::send || r.first == r.last) continue;
      std::size_t g = groups.size();
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (groups[i].op.kind == op.kind && op.kind == OpKind::recv_reduce &&
            groups[i].range == r) {
          g = i;
        }
      }
      const auto taken = last_of_peer.find(op.peer);
      if (taken != last_of_peer.end() && taken->second > g) g = groups.size();
      if (g == groups.size()) groups.push_back({op, r, {}});
      groups[g].sources.push_back(op.peer);
      last_of_peer[op.peer] = g;
    }
    return groups;
  }

  void post_receives(int t) {
    std::vector<Range> posted;
    const std::vector<Group> all = groups();
    for (const Group& group : all) {
      const bool last = std::none_of(&group + 1, all.data() + all.size(), [&](const Group& later) {
        return later.range.overlaps(group.range);
      });
      const bool clash = std::any_of(posted.begin(), posted.end(),
                                     [&](const Range& p) { return p.overlaps(group.range); });
      if (clash) wait_for_receives();
      posted.push_back(group.range);
      Step step{.kind = Step::Kind::recv,
                .peer = group.op.peer,
                .ticket = plan_.tickets_++,
                .first = group.range.first,
                .count = group.range.last - group.range.first};
      if (group.op.kind == OpKind::recv_reduce) {
        step.kind = Step::Kind::recv_reduce;
        step.from = current_place(group.op.chunks);
        step.first_source = static_cast<std::int32_t>(plan_.sources_.size());
        step.source_count = static_cast<std::int32_t>(group.sources.size());
        step.completes = last && completion_ && completion_->whole_operations &&
                         completion_->at(t, group.op.chunks.first);
        plan_.sources_.insert(plan_.sources_.end(), group.sources.begin(), group.sources.end());
      }
      mark_written(group.op.chunks);
      receiving_.push_back(step.ticket);
      plan_.steps_.push_back(step);
    }
  }

  void mark_written(Chunks chunks) {
    std::fill_n(fresh_.begin() + chunks.first, chunks.count, false);
  }

  void wait_for_receives() {
    for (const std::int32_t ticket : receiving_) wait(ticket);
    receiving_.clear();
  }

  const Schedule& schedule_;
  Plan& plan_;
  Round round_;
  std::vector<bool> fresh_;  // per chunk: its value is still only in the input
  std::vector<Sent> in_flight_;
  std::vector<std::int32_t> receiving_;
  std::vector<int> snapshot_;  // chunks of this round that scratch memory holds
  std::optional<Completion> completion_;
};

Plan::Plan(const Schedule& schedule, Rank rank, std::int64_t count, DataType type, ReduceOp op,
           bool in_place)
    : rank_(rank),
      ranks_(schedule.ranks()),
      count_(count),
      type_(type),
      op_(op),
      in_place_(in_place) {
  require(rank >= 0 && rank < ranks_, "plan: rank " + std::to_string(rank) + " is not below " +
                                          std::to_string(ranks_) + ", the ranks of " +
                                          schedule.name());
  require(count >= 0, "plan: the element count must not be negative");
  PlanBuilder(schedule, *this).build();
  fusion_ = fuse(schedule, count, size_of(type));
}

}  // namespace collbench
