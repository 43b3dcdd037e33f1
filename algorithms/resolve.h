// What a round means: the one reading of a schedule that proofs, plans, simulators and cost models
// share.
//
// A round of a rank, as written, is a list of operations. Resolved, it is what the rank sends and
// what it then writes: each range of chunks once, either stored from one message or folded from
// several. All recv_reduces of a round into one range are one fold, in the order written, wherever
// they stand; the own term is in its marked place or else leads.
//
// Refused, since two readers could then differ:
// - Ranges that overlap without being equal, and a stored range that is written twice.
// - An own term marked twice in one fold.
// - Folds that take the messages of their senders in crossing orders, one fold first from one
//   sender and the other first from another: messages between two ranks have no tags, so no fold
//   could then be taken first.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "algorithms/schedule.h"

namespace collbench {

/// What a rank writes into one range of chunks: a fold of the terms of sources(), or a message.
struct Receipt {
  Chunks chunks;
  bool folds = false;
  int first_source = 0;  // range of what ResolvedRound::sources() gives
  int source_count = 0;

  /// Terms that are added to another: what a fold costs, in times of its chunks.
  int additions() const { return folds ? source_count - 1 : 0; }
  /// Messages that arrive from other ranks.
  int messages() const { return folds ? source_count - 1 : 1; }
};

/// The operations of one rank in one round, resolved. Reuse one object over a loop: it keeps its
/// memory.
class ResolvedRound {
 public:
  /// In the order written.
  std::span<const Op> sends() const { return sends_; }

  /// Disjoint ranges. Taken in this order, and each one's sources in theirs, the messages of every
  /// sender come in the order written: the k-th meets the k-th that it sends here in this round.
  std::span<const Receipt> receipts() const { return receipts_; }

  /// The terms of a left fold, of which one is the rank itself; or the sender of what is stored.
  std::span<const Rank> sources(const Receipt& receipt) const {
    return std::span<const Rank>(sources_).subspan(static_cast<std::size_t>(receipt.first_source),
                                                   static_cast<std::size_t>(receipt.source_count));
  }

 private:
  friend class RoundReader;
  std::vector<Op> sends_;
  std::vector<Receipt> receipts_;
  std::vector<Rank> sources_;
  Round written_;
  std::vector<int> by_place_;  // receipts in the order of their chunks, where they do not ascend
};

/// Throws InvalidArgument, naming rank, round and chunks, for what is refused above and for peers
/// or chunks outside the schedule's shape. O(operations), with a logarithm where the received
/// ranges do not ascend. Requires 0 <= rank < ranks() and 0 <= round < rounds().
void resolve(const Schedule& schedule, Rank rank, int round, ResolvedRound& out);
ResolvedRound resolve(const Schedule& schedule, Rank rank, int round);

/// "chunk 3" or "chunks 0 to 1".
std::string to_string(Chunks chunks);

/// Sends of all ranks in one round, and how many rounds it stands for.
struct SampledRound {
  double sends = 0;
  int rounds = 0;
};
/// Rounds of a schedule, the first of each run of alike ones, from runs and ranks that are spread
/// over all, at least `least` of either where there are so many.
std::vector<SampledRound> sample_sends(const Schedule& schedule, int least);

}  // namespace collbench
