#include "algorithms/verify.h"

#include <algorithm>
#include <cassert>

#include "algorithms/expression.h"

namespace collbench {
namespace {

constexpr std::size_t most_violations = 20;

struct Message {
  Rank to;
  Rank from;
  int op;               // of the sender (for sends) or receiver, in the order written
  std::size_t payload;  // of sends: where the values begin
};

// Plays one schedule on expressions, round by round.
class Verifier {
 public:
  explicit Verifier(const Schedule& schedule)
      : schedule_(schedule),
        ranks_(schedule.ranks()),
        chunks_(schedule.chunks()),
        expressions_(ranks_),
        rounds_(static_cast<std::size_t>(ranks_)),
        sources_(static_cast<std::size_t>(ranks_)),
        sent_(static_cast<std::size_t>(chunks_), 0),
        stored_(sent_),
        reduced_(sent_),
        group_of_chunk_(static_cast<std::size_t>(chunks_)),
        group_of_peer_(static_cast<std::size_t>(ranks_)) {
    for (Rank r = 0; r < ranks_; ++r) {
      values_.insert(values_.end(), static_cast<std::size_t>(chunks_), static_cast<Expression>(r));
    }
  }

  Verification run() {
    for (int t = 0; t < schedule_.rounds() && !full(); ++t) {
      round_ = t;
      for (Rank r = 0; r < ranks_; ++r) schedule_.round(r, t, rounds_[r]);
      if (!well_formed()) break;  // indices outside the shape cannot be played
      match();
      for (Rank r = 0; r < ranks_ && !full(); ++r) {
        check_overlaps(r);
        receive(r);
      }
    }
    if (result_.ok()) check_results();
    return result_;
  }

 private:
  static constexpr std::size_t unmatched = ~std::size_t{0};

  // Where the current rank and round (its stamp) put something, in arrays that are never cleared.
  struct Slot {
    std::uint64_t stamp = 0;
    std::size_t group = 0;
  };

  bool full() const { return result_.violations.size() >= most_violations; }

  void report(const std::string& what) {
    if (!full()) result_.violations.push_back({what});
  }
  void report(Rank rank, const std::string& what) {
    report("round " + std::to_string(round_) + ": rank " + std::to_string(rank) + " " + what);
  }

  static std::string text(Chunks chunks) {
    const std::string first = std::to_string(chunks.first);
    if (chunks.count == 1) return "chunk " + first;
    return "chunks " + first + " to " + std::to_string(chunks.first + chunks.count - 1);
  }

  Expression& value(Rank rank, int chunk) {
    return values_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(chunks_) +
                   static_cast<std::size_t>(chunk)];
  }

  bool well_formed() {
    const std::size_t before = result_.violations.size();
    for (Rank r = 0; r < ranks_; ++r) {
      for (const Op& op : rounds_[r].ops()) {
        if (op.peer < 0 || op.peer >= ranks_) {
          report(r, "names peer " + std::to_string(op.peer) + ", outside 0 to " +
                        std::to_string(ranks_ - 1));
        } else if (op.peer == r && op.kind != OpKind::recv_reduce) {
          report(r, "sends to or receives from itself");
        }
        if (op.chunks.first < 0 || op.chunks.count < 1 ||
            op.chunks.count > chunks_ - op.chunks.first) {
          report(r, "names " + text(op.chunks) + ", outside 0 to " + std::to_string(chunks_ - 1));
        }
      }
    }
    return result_.violations.size() == before;
  }

  // Pairs sends and receives and keeps what is sent, as it is before the round.
  void match() {
    sends_.clear();
    receives_.clear();
    payload_.clear();
    for (Rank r = 0; r < ranks_; ++r) {
      const auto ops = rounds_[r].ops();
      sources_[r].assign(ops.size(), unmatched);
      for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
        if (ops[i].kind == OpKind::send) {
          sends_.push_back({ops[i].peer, r, i, payload_.size()});
          const Expression* first = &value(r, ops[i].chunks.first);
          payload_.insert(payload_.end(), first, first + ops[i].chunks.count);
        } else if (ops[i].peer != r) {
          receives_.push_back({r, ops[i].peer, i, 0});
        }
      }
    }
    const auto by_pair = [](const Message& a, const Message& b) {
      return a.to != b.to ? a.to < b.to : a.from < b.from;
    };
    std::stable_sort(sends_.begin(), sends_.end(), by_pair);
    std::stable_sort(receives_.begin(), receives_.end(), by_pair);
    auto send = sends_.begin();
    auto receive = receives_.begin();
    while (send != sends_.end() || receive != receives_.end()) {
      const bool lonely_send =
          receive == receives_.end() || (send != sends_.end() && by_pair(*send, *receive));
      if (lonely_send || send == sends_.end() || by_pair(*receive, *send)) {
        report_unmatched(lonely_send ? *send++ : *receive++, lonely_send);
      } else {
        pair(*send++, *receive++);
      }
    }
  }

  void report_unmatched(const Message& message, bool is_send) {
    const Rank rank = is_send ? message.from : message.to;
    const Chunks chunks = rounds_[rank].ops()[message.op].chunks;
    report(rank,
           (is_send ? "sends " : "receives ") + text(chunks) +
               (is_send ? " to rank " + std::to_string(message.to) + ", which does not receive"
                        : " from rank " + std::to_string(message.from) + ", which does not send"));
  }

  void pair(const Message& send, const Message& receive) {
    const Chunks sent = rounds_[send.from].ops()[send.op].chunks;
    const Chunks received = rounds_[receive.to].ops()[receive.op].chunks;
    if (sent == received) {
      sources_[receive.to][receive.op] = send.payload;
    } else {
      report(send.to, "receives " + text(received) + " from rank " + std::to_string(send.from) +
                          ", which sends " + text(sent));
    }
  }

  // A plain receive lands in place, so its chunks may be touched by nothing else in the round.
  void check_overlaps(Rank r) {
    ++stamp_;
    const auto ops = rounds_[r].ops();
    for (const Op& op : ops) {
      if (op.kind == OpKind::send) mark(sent_, op.chunks);
      if (op.kind == OpKind::recv_reduce) mark(reduced_, op.chunks);
    }
    for (const Op& op : ops) {
      if (op.kind != OpKind::recv) continue;
      if (marked(sent_, op.chunks)) {
        report(r, "receives " + text(op.chunks) + ", which it also sends in this round");
      }
      if (marked(stored_, op.chunks) || marked(reduced_, op.chunks)) {
        report(r, "receives " + text(op.chunks) + " twice in this round");
      }
      mark(stored_, op.chunks);
    }
  }

  void mark(std::vector<std::uint64_t>& stamps, Chunks chunks) const {
    std::fill_n(stamps.begin() + chunks.first, chunks.count, stamp_);
  }
  bool marked(const std::vector<std::uint64_t>& stamps, Chunks chunks) const {
    const auto first = stamps.begin() + chunks.first;
    return std::find(first, first + chunks.count, stamp_) != first + chunks.count;
  }

  // Applies the receives of one rank: groups in the order of their first operations.
  void receive(Rank r) {
    const auto ops = rounds_[r].ops();
    gather_groups(r);
    for (const std::vector<std::size_t>& group : groups_) {
      const Op& first = ops[group[0]];
      if (first.kind == OpKind::recv) {
        store(r, first.chunks, sources_[r][group[0]]);
      } else {
        fold(r, group);
      }
    }
  }

  // A reduction joins the last group with its chunks, unless a later group already takes a message
  // of its peer: messages of one peer are taken in the order written.
  void gather_groups(Rank r) {
    groups_.clear();
    const auto ops = rounds_[r].ops();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind == OpKind::send) continue;
      Slot& of_chunk = group_of_chunk_[ops[i].chunks.first];
      Slot& of_peer = group_of_peer_[ops[i].peer];
      std::size_t g = groups_.size();
      if (ops[i].kind == OpKind::recv_reduce && of_chunk.stamp == stamp_ &&
          ops[groups_[of_chunk.group][0]].chunks == ops[i].chunks &&
          (of_peer.stamp != stamp_ || of_peer.group <= of_chunk.group)) {
        g = of_chunk.group;
      } else {
        groups_.emplace_back();
      }
      groups_[g].push_back(i);
      of_peer = {stamp_, g};
      if (ops[i].kind == OpKind::recv_reduce) of_chunk = {stamp_, g};
    }
  }

  void store(Rank r, Chunks chunks, std::size_t source) {
    if (source == unmatched) return;
    for (int c = 0; c < chunks.count; ++c) value(r, chunks.first + c) = payload_[source + c];
  }

  // One left fold, the own term at its mark or else first.
  void fold(Rank r, const std::vector<std::size_t>& group) {
    const auto ops = rounds_[r].ops();
    const auto is_mark = [&](std::size_t i) { return ops[i].peer == r; };
    const auto marks = std::count_if(group.begin(), group.end(), is_mark);
    if (marks > 1) report(r, "marks its own term twice in one fold");
    std::vector<std::size_t> terms;  // payload offsets; `unmatched` stands for the own term
    if (marks == 0) terms.push_back(unmatched);
    for (const std::size_t i : group) {
      if (ops[i].peer != r && sources_[r][i] == unmatched) return;
      terms.push_back(sources_[r][i]);
    }
    const Chunks chunks = ops[group[0]].chunks;
    for (int c = 0; c < chunks.count && !full(); ++c) {
      Expression& own = value(r, chunks.first + c);
      const auto term = [&](std::size_t i) {
        return terms[i] == unmatched ? own : payload_[terms[i] + c];
      };
      Expression sum = term(0);
      for (std::size_t i = 1; i < terms.size(); ++i) {
        const Rank twice = expressions_.common_term(sum, term(i));
        if (twice >= 0) {
          report(r, "adds the contribution of rank " + std::to_string(twice) + " to " +
                        text({chunks.first + c}) + " twice");
        }
        sum = expressions_.add(sum, term(i), i + 1 < terms.size());
      }
      own = sum;
    }
  }

  void check_results() {
    result_.replica_consistent = true;
    for (Rank r = 0; r < ranks_ && !full(); ++r) {
      for (int c = 0; c < chunks_ && !full(); ++c) {
        const Rank missing = expressions_.missing_term(value(r, c));
        if (missing >= 0) {
          report("at the end: rank " + std::to_string(r) + " lacks the contribution of rank " +
                 std::to_string(missing) + " in " + text({c}));
        }
        if (value(r, c) != value(0, c)) result_.replica_consistent = false;
      }
    }
  }

  const Schedule& schedule_;
  int ranks_;
  int chunks_;
  int round_ = 0;
  std::uint64_t stamp_ = 0;
  Expressions expressions_;
  std::vector<Expression> values_;  // ranks x chunks, row-major
  std::vector<Expression> payload_;
  std::vector<Round> rounds_;                      // of each rank, this round
  std::vector<std::vector<std::size_t>> sources_;  // payload of each op of each rank
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::vector<std::uint64_t> sent_;  // stamps of one rank's chunks
  std::vector<std::uint64_t> stored_;
  std::vector<std::uint64_t> reduced_;
  std::vector<Slot> group_of_chunk_;
  std::vector<Slot> group_of_peer_;
  std::vector<std::vector<std::size_t>> groups_;  // operations of one rank, this round
  Verification result_;
};

}  // namespace

Verification verify_allreduce(const Schedule& schedule) { return Verifier(schedule).run(); }

ScheduleCost count_cost(const Schedule& schedule) {
  ScheduleCost cost;
  cost.rounds = schedule.rounds();
  Round round;
  for (Rank r = 0; r < schedule.ranks(); ++r) {
    std::int64_t sent = 0;
    std::int64_t received = 0;
    std::int64_t reduced = 0;
    std::int64_t messages = 0;
    for (int t = 0; t < schedule.rounds(); ++t) {
      schedule.round(r, t, round);
      for (const Op& op : round.ops()) {
        if (op.peer == r) continue;
        const bool is_send = op.kind == OpKind::send;
        (is_send ? sent : received) += op.chunks.count;
        if (op.kind == OpKind::recv_reduce) reduced += op.chunks.count;
        messages += is_send;
      }
    }
    cost.max_sent_chunks = std::max(cost.max_sent_chunks, sent);
    cost.max_received_chunks = std::max(cost.max_received_chunks, received);
    cost.max_reduced_chunks = std::max(cost.max_reduced_chunks, reduced);
    cost.max_messages = std::max(cost.max_messages, messages);
    cost.total_messages += messages;
    cost.total_sent_chunks += sent;
  }
  return cost;
}

}  // namespace collbench
