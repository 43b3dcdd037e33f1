#include "algorithms/verify.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "algorithms/expressions.h"
#include "algorithms/resolve.h"
#include "algorithms/schedule.h"
#include "core/error.h"

namespace collbench {
namespace {

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
  Verifier(const Schedule& schedule, const Collective& collective, const Groups& groups)
      : schedule_(schedule),
        collective_(collective),
        groups_(groups.empty() ? Groups{all_ranks(schedule.ranks())} : groups),
        ranks_(schedule.ranks()),
        chunks_(schedule.chunks()),
        expressions_(ranks_),
        values_(static_cast<std::size_t>(ranks_) * static_cast<std::size_t>(chunks_), nothing),
        rounds_(static_cast<std::size_t>(ranks_)),
        terms_(rounds_.size()),
        sent_(static_cast<std::size_t>(chunks_), 0) {
    require_groups();
  }

  std::vector<AdditionOrder> orders() {
    require(adds(collective_.kind),
            fmt::format("{} adds nothing", collbench::to_string(collective_.kind)));
    const Verification proof = run();
    require(proof.ok(), schedule_.name() + ": " + (proof.ok() ? "" : proof.violations[0].what));
    std::vector<AdditionOrder> orders(static_cast<std::size_t>(chunks_));
    for (Rank r = 0; r < ranks_; ++r) {
      const Chunks held = held_after(collective_, r, ranks_, chunks_);
      for (int c = held.first; c < held.first + held.count; ++c) {
        AdditionOrder& order = orders[static_cast<std::size_t>(c)];
        if (order.steps.empty()) order = expressions_.order(value(r, c));
      }
    }
    return orders;
  }

  Verification run() {
    if (!start()) return result_;
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

  static std::vector<Rank> all_ranks(int ranks) {
    std::vector<Rank> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  void require_groups() const {
    std::vector<bool> seen(static_cast<std::size_t>(ranks_), false);
    for (const std::vector<Rank>& group : groups_) {
      require(collective_.root >= 0 && collective_.root < static_cast<int>(group.size()),
              "the root must be 0 to " + std::to_string(static_cast<int>(group.size()) - 1) +
                  ", not " + std::to_string(collective_.root));
      for (const Rank r : group) {
        require(r >= 0 && r < ranks_ && !seen[r], "rank " + std::to_string(r) +
                                                      " is in two groups, or none of " +
                                                      std::to_string(ranks_) + " ranks");
        seen[r] = true;
      }
    }
  }

  // Gives every rank what it has before; false, with the reason, if there are no equal shares.
  bool start() {
    for (const std::vector<Rank>& group : groups_) {
      const auto size = static_cast<int>(group.size());
      if (has_shares(collective_.kind) && chunks_ % size != 0) {
        report(std::to_string(chunks_) + " chunks do not divide among " + std::to_string(size) +
               " ranks: chunks must be a multiple of ranks");
        return false;
      }
      for (int i = 0; i < size; ++i) {
        const Chunks held = held_before(collective_, i, size, chunks_);
        std::fill_n(&value(group[i], 0) + held.first, held.count,
                    static_cast<Expression>(group[i]));
      }
    }
    return true;
  }

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

  // What is sent, as it is before the round.
  void send(Rank r, const Op& op) {
    sends_.push_back({op.peer, r, op.chunks, payload_.size()});
    const Expression* first = &value(r, op.chunks.first);
    const Expression* last = first + op.chunks.count;
    const Expression* lacking = std::find(first, last, nothing);
    if (lacking != last) {
      report(r, "sends " + to_string(Chunks{static_cast<int>(lacking - &value(r, 0))}) +
                    ", of which it has no value");
    }
    payload_.insert(payload_.end(), first, last);
  }

  // Pairs sends and receives.
  void match() {
    sends_.clear();
    receives_.clear();
    payload_.clear();
    for (Rank r = 0; r < ranks_; ++r) {
      for (const Op& op : rounds_[r].sends()) send(r, op);
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
      if (own == nothing) {
        report(r, "adds to " + to_string(Chunks{receipt.chunks.first + c}) +
                      ", of which it has no value");
        return;
      }
      Expression sum = term(0);
      if (sum == nothing) return;  // reported where it was sent
      for (std::size_t i = 1; i < sources.size(); ++i) {
        if (term(i) == nothing) return;
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
    for (const std::vector<Rank>& group : groups_) {
      const auto size = static_cast<int>(group.size());
      for (int i = 0; i < size && !full(); ++i) {
        const Chunks held = held_after(collective_, i, size, chunks_);
        for (int c = held.first; c < held.first + held.count && !full(); ++c) {
          adds(collective_.kind) ? check_sum(group, group[i], c) : check_copy(group, group[i], c);
        }
      }
    }
  }

  void check_sum(const std::vector<Rank>& group, Rank rank, int chunk) {
    const Expression sum = value(rank, chunk);
    for (const Rank term : group) {
      if (sum != nothing && expressions_.has_term(sum, term)) continue;
      return report("at the end: rank " + std::to_string(rank) +
                    " lacks the contribution of rank " + std::to_string(term) + " in " +
                    to_string(Chunks{chunk}));
    }
    if (expressions_.terms(sum) > static_cast<int>(group.size())) {
      report("at the end: rank " + std::to_string(rank) +
             " has contributions from outside its group in " + to_string(Chunks{chunk}));
    }
    const bool everywhere = collective_.kind == CollectiveKind::all_reduce;
    if (everywhere && sum != value(group[0], chunk)) result_.replica_consistent = false;
  }

  void check_copy(const std::vector<Rank>& group, Rank rank, int chunk) {
    const Rank source =
        group[source_of(collective_, chunk, static_cast<int>(group.size()), chunks_)];
    if (value(rank, chunk) == static_cast<Expression>(source)) return;
    report("at the end: rank " + std::to_string(rank) + " lacks the value of rank " +
           std::to_string(source) + " in " + to_string(Chunks{chunk}));
  }

  const Schedule& schedule_;
  Collective collective_;
  Groups groups_;
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

Verification verify(const Schedule& schedule, const Collective& collective, const Groups& groups) {
  return Verifier(schedule, collective, groups).run();
}

Verification verify_allreduce(const Schedule& schedule) { return verify(schedule, {}); }

std::vector<AdditionOrder> addition_orders(const Schedule& schedule, const Collective& collective) {
  return Verifier(schedule, collective, {}).orders();
}

ScheduleCost count_cost(const Schedule& schedule, std::int64_t count) {
  const auto size = [&](Chunks chunks) -> std::int64_t {
    if (count == 0) return chunks.count;
    const auto start = [&](int chunk) { return schedule.partition()(chunk, count, 1); };
    return start(chunks.first + chunks.count) - start(chunks.first);
  };
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
      for (const Op& op : round.sends()) sent += size(op.chunks);
      messages += static_cast<std::int64_t>(round.sends().size());
      for (const Receipt& receipt : round.receipts()) {
        received += size(receipt.chunks) * receipt.messages();
        reduced += size(receipt.chunks) * receipt.additions();
      }
    }
    cost.max_sent = std::max(cost.max_sent, sent);
    cost.max_received = std::max(cost.max_received, received);
    cost.max_reduced = std::max(cost.max_reduced, reduced);
    cost.max_messages = std::max(cost.max_messages, messages);
    cost.total_messages += messages;
    cost.total_sent += sent;
  }
  return cost;
}

}  // namespace collbench
