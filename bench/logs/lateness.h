// Which rank the others wait for.
//
// Each operation blames its last rank for the waiting of the others. Lateness is told where the
// waiting is at least a tenth of the transfers and one rank, or a small group, has four fifths of
// the blame in at least three operations, and more than chance would give it (lateness_chance.h).
// Weighing by waiting finds a rank that is late now and then, and passes over operations that
// follow each other without a gap, where each rank begins when the one before ends and none can be
// late. One operation counts for ten usual waits at most; those that wait longer are judged apart
// as well.
//
// Whom a late rank holds up in one communicator comes late to the next: of several that have the
// blame, those are named which hardly wait in any of theirs.
//
// Two ranks are late together if neither waits for the other; a few of many (two of eight) that
// have the blame by turns are named as that. With the ranks that have the blame those are late
// which hardly wait where the others do: all ranks of a host come late together, and the blame of
// one of them may be small.
//
// Ends are common where the network is even. A ring of n ranks with one slow link, whose every step
// takes d, ends between n d and (2n - 2) d: the others seem to wait for half of the transfer in the
// mean, for a rank that is not late. Unless the transfers have the speed that was stated, or all
// others wait alike, only more than that is lateness.
//
// Where ranks share too few processors, one of them comes last whenever it was not given one, and
// for all of a short run it may be the same: where the log says how long each was at its own work,
// that is nobody's lateness.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/logs/network_rate.h"
#include "bench/logs/operations.h"

namespace collbench {

struct Lateness {
  std::vector<int> late;          // ranks of the job that are late; empty: none, or not told
  std::string unknown;            // why it cannot be told; empty: it is told
  std::int64_t operations = 0;    // that were compared
  std::int64_t waited = 0;        // of them, those with noticeable waiting
  std::int64_t blamed = 0;        // of those, the ones in which a rank of `late` came last
  std::int64_t present = 0;       // operations that a rank of `late` has a duration of
  double waiting_share = 0;       // mean waiting of the other ranks over the transfers
  double held_up_share = 0;       // of all waiting, that for ranks which were held up themselves
  bool spread = false;            // there is waiting, but not for a few particular ranks
  bool by_turns = false;          // one of `late` is late at a time
  bool of_means = false;          // a record stands for the mean of many operations
  bool may_be_slow_link = false;  // `unknown` for that reason
  std::string slow_start{};       // the first operation that was not compared, in words
  std::string host{};             // the one that has the ranks of `late`, several, and no others
  /// Late in less than half of the operations in which its log shows it.
  bool sporadic() const { return !late.empty() && 2 * blamed < present; }
};

/// At full speed ranks whose logs are missing cannot have come last; where that speed was stated,
/// no link is slow either.
Lateness lateness_of(const JobLog& log, const std::vector<JobOperation>& operations,
                     const JobRanks& ranks, const NetworkVerdict& network);

}  // namespace collbench
