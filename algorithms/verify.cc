#include "algorithms/verify.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "algorithms/resolve.h"
#include "algorithms/schedule.h"
#include "core/error.h"

namespace collbench {
namespace {

// Sums as expressions: which terms were added, and in which order.
//
// Expressions are hash-consed: equal ids mean the same additions in the same order, up to swapping
// the two terms of one addition, which IEEE addition does bit by bit.

using Expression = std::uint32_t;

/// All expressions over the terms of `ranks` ranks; ids 0 .. ranks-1 are the terms themselves.
class Expressions {
 public:
  explicit Expressions(int ranks)
      : ranks_(ranks), words_((static_cast<std::size_t>(ranks) + 63) / 64) {
    for (Rank r = 0; r < ranks; ++r) {
      sets_.resize(sets_.size() + words_, 0);
      std::uint64_t* own = sets_.data() + sets_.size() - words_;
      own[r / 64] = std::uint64_t{1} << (r % 64);
    }
  }

  /// a + b. A `partial` sum, inside a recv_reduce group, is not rounded to the element type yet and
  /// so differs from a rounded one.
  Expression add(Expression a, Expression b, bool partial) {
    const auto [low, high] = std::minmax(a, b);
    assert(high < (Expression{1} << 31));
    const std::uint64_t key = (std::uint64_t{low} << 32) | (std::uint64_t{high} << 1) | partial;
    const auto next = static_cast<Expression>(sets_.size() / words_);
    const auto [entry, is_new] = ids_.emplace(key, next);
    if (is_new) {
      sets_.resize(sets_.size() + words_);
      std::uint64_t* sum = sets_.data() + sets_.size() - words_;
      for (std::size_t i = 0; i < words_; ++i) sum[i] = set(a)[i] | set(b)[i];
    }
    return entry->second;
  }

  /// The lowest rank whose term is in both, or -1.
  Rank common_term(Expression a, Expression b) const {
    for (std::size_t i = 0; i < words_; ++i) {
      const std::uint64_t both = set(a)[i] & set(b)[i];
      if (both != 0) return static_cast<Rank>(i * 64) + std::countr_zero(both);
    }
    return -1;
  }

  /// The lowest rank whose term is not in `a`, or -1.
  Rank missing_term(Expression a) const {
    for (std::size_t i = 0; i < words_; ++i) {
      const Rank rank = static_cast<Rank>(i * 64) + std::countr_one(set(a)[i]);
      const Rank end = std::min(ranks_, static_cast<Rank>(i * 64) + 64);
      if (rank < end) return rank;
    }
    return -1;
  }

 private:
  const std::uint64_t* set(Expression e) const { return sets_.data() + e * words_; }

  int ranks_;
  std::size_t words_;                // 64-bit words per set of ranks
  std::vector<std::uint64_t> sets_;  // the terms of each expression
  std::unordered_map<std::uint64_t, Expression> ids_;
};

constexpr std::size_t most_violations = 20;

struct ProofMessage {
  Rank to;
  Rank from;
  Chunks chunks;
  std::size_t place;  // of a send: where its values begin; of a receive: which of the rank's terms
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
        terms_(rounds_.size()),
        sent_(static_cast<std::size_t>(chunks_), 0) {
    for (Rank r = 0; r < ranks_; ++r) {
      values_.insert(values_.end(), static_cast<std::size_t>(chunks_), static_cast<Expression>(r));
    }
  }

  Verification run() {
    for (int t = 0; t < schedule_.rounds() && !full(); ++t) {
      round_ = t;
      if (!resolve_all()) break;  // what has no one meaning cannot be played
      match();
      for (Rank r = 0; r < ranks_ && !full(); ++r) {
        check_stores(r);
        receive(r);
      }
    }
    if (result_.ok()) check_results();
    return result_;
  }

 private:
  static constexpr std::size_t unmatched = ~std::size_t{0};

  bool full() const { return result_.violations.size() >= most_violations; }

  void report(const std::string& what) {
    if (!full()) result_.violations.push_back({what});
  }
  void report(Rank rank, const std::string& what) {
    report("round " + std::to_string(round_) + ": rank " + std::to_string(rank) + " " + what);
  }

  Expression& value(Rank rank, int chunk) {
    return values_[static_cast<std::size_t>(rank) * static_cast<std::size_t>(chunks_) +
                   static_cast<std::size_t>(chunk)];
  }

  bool resolve_all() {
    const std::size_t before = result_.violations.size();
    for (Rank r = 0; r < ranks_; ++r) {
      try {
        resolve(schedule_, r, round_, rounds_[r]);
      } catch (const InvalidArgument& refused) {
        report(refused.what());
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
      for (const Op& op : rounds_[r].sends()) {
        sends_.push_back({op.peer, r, op.chunks, payload_.size()});
        const Expression* first = &value(r, op.chunks.first);
        payload_.insert(payload_.end(), first, first + op.chunks.count);
      }
      terms_[r].clear();
      for (const Receipt& receipt : rounds_[r].receipts()) {
        for (const Rank source : rounds_[r].sources(receipt)) {
          if (source != r) receives_.push_back({r, source, receipt.chunks, terms_[r].size()});
          terms_[r].push_back(unmatched);
        }
      }
    }
    const auto by_pair = [](const ProofMessage& a, const ProofMessage& b) {
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

  void report_unmatched(const ProofMessage& message, bool is_send) {
    report(is_send ? message.from : message.to,
           (is_send ? "sends " : "receives ") + to_string(message.chunks) +
               (is_send ? " to rank " + std::to_string(message.to) + ", which does not receive"
                        : " from rank " + std::to_string(message.from) + ", which does not send"));
  }

  void pair(const ProofMessage& send, const ProofMessage& receive) {
    if (send.chunks == receive.chunks) {
      terms_[receive.to][receive.place] = send.place;
    } else {
      report(send.to, "receives " + to_string(receive.chunks) + " from rank " +
                          std::to_string(send.from) + ", which sends " + to_string(send.chunks));
    }
  }

  // A plain receive lands in place, so its chunks may not be sent in the round.
  void check_stores(Rank r) {
    ++stamp_;
    for (const Op& op : rounds_[r].sends()) {
      std::fill_n(sent_.begin() + op.chunks.first, op.chunks.count, stamp_);
    }
    for (const Receipt& receipt : rounds_[r].receipts()) {
      const auto first = sent_.begin() + receipt.chunks.first;
      const auto last = first + receipt.chunks.count;
      if (receipt.folds || std::find(first, last, stamp_) == last) continue;
      report(r, "receives " + to_string(receipt.chunks) + ", which it also sends in this round");
    }
  }

  void receive(Rank r) {
    const std::size_t* terms = terms_[r].data();
    for (const Receipt& receipt : rounds_[r].receipts()) {
      if (receipt.folds) {
        fold(r, receipt, terms);
      } else if (*terms != unmatched) {
        std::copy_n(payload_.begin() + static_cast<std::ptrdiff_t>(*terms), receipt.chunks.count,
                    &value(r, receipt.chunks.first));
      }
      terms += receipt.source_count;
    }
  }

  // One left fold of what `terms` says of its sources.
  void fold(Rank r, const Receipt& receipt, const std::size_t* terms) {
    const std::span<const Rank> sources = rounds_[r].sources(receipt);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (sources[i] != r && terms[i] == unmatched) return;
    }
    for (int c = 0; c < receipt.chunks.count && !full(); ++c) {
      Expression& own = value(r, receipt.chunks.first + c);
      const auto term = [&](std::size_t i) {
        return sources[i] == r ? own : payload_[terms[i] + static_cast<std::size_t>(c)];
      };
      Expression sum = term(0);
      for (std::size_t i = 1; i < sources.size(); ++i) {
        const Rank twice = expressions_.common_term(sum, term(i));
        if (twice >= 0) {
          report(r, "adds the contribution of rank " + std::to_string(twice) + " to " +
                        to_string(Chunks{receipt.chunks.first + c}) + " twice");
        }
        sum = expressions_.add(sum, term(i), i + 1 < sources.size());
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
                 std::to_string(missing) + " in " + to_string(Chunks{c}));
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
  std::vector<ResolvedRound> rounds_;            // of each rank, this round
  std::vector<std::vector<std::size_t>> terms_;  // payload of each source of each rank's receipts
  std::vector<ProofMessage> sends_;
  std::vector<ProofMessage> receives_;
  std::vector<std::uint64_t> sent_;  // stamps of one rank's chunks
  Verification result_;
};

}  // namespace

Verification verify_allreduce(const Schedule& schedule) { return Verifier(schedule).run(); }

ScheduleCost count_cost(const Schedule& schedule) {
  ScheduleCost cost;
  cost.rounds = schedule.rounds();
  ResolvedRound round;
  for (Rank r = 0; r < schedule.ranks(); ++r) {
    std::int64_t sent = 0;
    std::int64_t received = 0;
    std::int64_t reduced = 0;
    std::int64_t messages = 0;
    for (int t = 0; t < schedule.rounds(); ++t) {
      resolve(schedule, r, t, round);
      for (const Op& op : round.sends()) sent += op.chunks.count;
      messages += static_cast<std::int64_t>(round.sends().size());
      for (const Receipt& receipt : round.receipts()) {
        received += std::int64_t{receipt.chunks.count} * receipt.messages();
        reduced += std::int64_t{receipt.chunks.count} * receipt.additions();
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
