// The two meetings of a fused pass: all ranks arrive with their buffers, and all work is done.
//
// Between them the ranks divide the work by claims, which order nothing: the arrivals publish the
// inputs, and what a rank adds to the work done releases everything that it stored before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "transports/shm/layout.h"

namespace collbench {

/// Thread safety: belongs to the thread of its endpoint, and must stay where it is.
class ShmMeeting {
 public:
  /// Continues the count of an earlier object of this rank.
  ShmMeeting(const ShmView& view, Rank rank);
  ShmMeeting(const ShmMeeting&) = delete;
  ShmMeeting& operator=(const ShmMeeting&) = delete;

  ShmWaiter& waiter() { return waiter_; }
  /// Operations begun.
  std::uint64_t operation() const { return operation_; }

  /// Begins the next operation. Peers find the buffers at these positions or, if they are private,
  /// addresses.
  void arrive(std::uint64_t in, std::uint64_t out);
  /// Throws TransportError naming the missing ranks, as await_done() does.
  void await_arrivals();

  /// The next piece of work that nobody has claimed, counted from 0.
  std::int64_t claim_next();
  /// Whether the caller is the first to claim piece `bit`, below 64. Not beside claim_next().
  bool claim(int bit);
  /// Adds to the work done.
  void finish(std::int64_t pieces);
  /// Returns once `all` pieces are done.
  void await_done(std::int64_t all);

 private:
  std::string missing(std::string_view what, bool finished) const;

  ShmLines lines_;
  ShmWaiter waiter_;
  Rank rank_;
  std::uint64_t operation_;
};

}  // namespace collbench
