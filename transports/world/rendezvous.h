// How the ranks of a benchmark meet beside the all-reduce they measure: a barrier that favours no
// back end, and a gather of a few numbers.
//
// Every rank computes what comes next (go on or stop, how many iterations) from the same gathered
// numbers, so ranks agree without further messages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/schedule.h"

namespace collbench {

/// Thread safety: one rendezvous per rank, used by one thread; every rank makes the same calls.
/// barrier() and gather() throw TransportError, naming the ranks, if some do not come in time.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  virtual Rank rank() const = 0;
  virtual int ranks() const = 0;
  virtual void barrier() = 0;
  /// Every rank's `mine` one after the other, in rank order; all must be of one length.
  virtual std::vector<std::int64_t> gather(std::span<const std::int64_t> mine) = 0;
  /// Says that this rank is alive and at a new place, before and after each all-reduce.
  virtual void note_progress() = 0;
  /// Whether all ranks read one clock, so that their time stamps can be compared.
  virtual bool one_clock() const = 0;
};

}  // namespace collbench
