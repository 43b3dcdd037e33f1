// Where the ranks of one process meet for a call: the last of them to arrive does the work for all.
//
// While the work is done all ranks are here, so that it may use what each has brought. A rank that
// gives up while another is missing closes the meeting first, for all and for ever: a rank that
// comes later is turned away, and never works on buffers that others have taken back. Once all have
// come none leaves before the work is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/schedule.h"
#include "core/units.h"

namespace collbench {

/// Thread safety: meet() is called by one thread for each rank, abort() by any.
class CallMeeting {
 public:
  /// A rank that does not come within `timeout` of another one is lost.
  CallMeeting(int ranks, Seconds timeout);

  int ranks() const { return static_cast<int>(came_.size()); }
  Seconds timeout() const { return timeout_; }

  /// Returns when all ranks have called and `work`, that of the last to arrive, is done; what a
  /// rank wrote before it called can be read there. Throws what the work threw, on all ranks, now
  /// and at every later call; TransportError naming the missing ranks after the timeout, and with
  /// the reason of abort().
  void meet(Rank rank, const std::function<void()>& work);
  /// Ends all waits, now and later, with TransportError(why). Work that has begun is done first,
  /// and the ranks that met for it return.
  void abort(const std::string& why);

 private:
  void conclude(const std::function<void()>& work);
  void wait_for(std::uint64_t round);
  void give_up(std::uint64_t round);
  bool close();
  [[noreturn]] void turn_away();

  Seconds timeout_;
  std::vector<std::atomic<std::uint64_t>> came_;  // by rank: the round it came to, plus one
  std::atomic<int> arrived_{0};                   // at this round; or closed
  std::atomic<std::uint64_t> round_{0};
  std::exception_ptr failure_;  // of the work; read where a round is over or the meeting is closed
  std::mutex mutex_;
  std::optional<std::string> why_;  // it was closed, or will be once the work is done
};

}  // namespace collbench
