// Faults to inject into a run: which fault, into which messages, of which ranks.
//
// Written like algorithms, NAME[:KEY=VALUE].., several separated by commas:
//
//   corrupt:rank=2:message=5             the sixth message from rank 2 to each other rank
//   delay:rank=1:every=1:time=10ms       a slow rank: each of its messages, 10 ms later
//   drop:chance=0.1%:seed=7              any message of any rank, once in a thousand
//   late:rank=2:every=1:time=5ms         rank 2 comes 5 ms late to every all-reduce
//   kill:rank=1:to=2:message=8           rank 1 dies while its message 8 to rank 2 is in flight
//
// Messages are counted from 0 for each ordered pair of ranks, from the time their communicator was
// made: in `run`, once for each size over shared memory, once for each algorithm over gRPC. Under
// a checked endpoint only data counts, not frames. Random draws depend on seed and rank only.
#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "algorithms/schedule.h"
#include "core/units.h"

namespace collbench {

struct InjectedFault {
  /// The effect on a message: it is dropped; delayed, with all behind it; sent twice; cut to its
  /// first half; swapped with the next one to the same rank; changed in one bit. Or the sender gets
  /// SIGKILL or SIGSTOP while the message is in flight.
  /// Or, of no message, a rank arrives late at the all-reduce, which counts as its message.
  enum class Kind : std::uint8_t {
    drop,
    delay,
    duplicate,
    truncate,
    reorder,
    corrupt,
    kill,
    stop,
    late
  };
  Kind kind = Kind::drop;
  Rank rank = -1;            // sender; -1: any
  Rank to = -1;              // receiver; -1: any
  std::int64_t message = 0;  // the first
  std::int64_t every = 0;    // and every so many after it; 0: no other
  double chance = 1;         // of each of them; if below 1, every is 1 where it is 0
  Seconds time{0};           // of a delay or a late rank
  bool early = false;        // kill and stop: before the message is sent
  std::uint64_t seed = 1;
  int place = 0;  // in its list

  /// Whether it applies to the message; draws once from `engine` for each message that it may apply
  /// to. Never for a late rank.
  bool applies_to(Rank from, Rank receiver, std::int64_t number, std::mt19937_64& engine) const;
  /// Whether it makes the rank late for its all-reduce of that number; draws likewise.
  bool delays_arrival(Rank late_rank, std::int64_t number, std::mt19937_64& engine) const;
  /// Notes that it has struck (faults_struck()): what strikes() does but for a reordered message,
  /// which has yet to meet another one.
  void note_struck() const;

 private:
  bool strikes(std::int64_t number, std::mt19937_64& engine) const;
};

/// Throws InvalidArgument for other syntax, with a suggestion for unknown names.
std::vector<InjectedFault> parse_injected_faults(std::string_view text);

/// Bit i: a fault that stands in place i of its list has struck in this process. From place 63 on
/// they share a bit.
std::int64_t faults_struck();

}  // namespace collbench
