// The analytic cost model: how long an all-reduce takes by a schedule on a machine, in milliseconds
// of computing for 65,536 ranks.
//
// A message takes its latency, then its bytes flow at the rate of the link on its way that is
// loaded most at its stage (or at its cap, if that is less), after those of its sender's earlier
// messages to the same receiver; then its receiver reduces. Senders never wait: this is
// Posting::eager of the engines. With rendezvous, a message also waits for its receiver, which
// takes as long where all ranks enter their rounds together and no link is contended, and longer
// where some lag behind. A rank enters a round of a track when the last message of the round before
// has arrived, so ranks and tracks drift apart; but no link can be busy for longer than the whole
// takes after its first latency. The terms are those of the path of messages that ends last.
//
// The stage of a message is one after the stages of what its sender has received, or has sent to
// the same receiver: dependencies, not rounds, say which messages of a track flow at once. A rank
// that receives nothing in a round sends in the next one at once, as the root of a broadcast does.
// Tracks whose messages all cost the same stay in step, in each other's way; of what other tracks
// send at the same stage otherwise, half is taken to be in the way.
//
// Exact if no link carries messages of two stages or tracks at once; of those that meet, only their
// total load is seen. Alike rounds (algorithms/schedule.h) are looked at once: where ranks receive
// from one other rank each they are added up by doubling, elsewhere the first 4 million messages
// are followed and the rest extrapolated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algorithms/schedule.h"
#include "core/data_type.h"
#include "core/units.h"
#include "topologies/machine.h"

namespace collbench {

struct RoundSpace;  // heuristics/round_costs.h

/// The vector of every rank, and how its messages are sent.
struct VectorSpec {
  std::int64_t count = 0;  // elements
  DataType type = DataType::f32;
  std::string protocol{};     // of the machine's ladder; empty: none
  bool equal_chunks = false;  // sizes are real numbers: every chunk is 1/chunks of the vector
};

/// A time and the terms that it is the sum of.
struct Prediction {
  Seconds latency{0};
  Seconds bandwidth{0};
  Seconds reduction{0};       // with gaps of messages where a rank receives more than it sends
  Seconds overhead{0};        // of the collective
  LinkId bottleneck = -1;     // bounds more of the bandwidth term than others; -1: none does
  Seconds at_bottleneck{0};   // that much of it
  std::int64_t messages = 0;  // of all ranks
  Seconds time() const { return latency + bandwidth + reduction + overhead; }
};

/// Throws InvalidArgument unless as many ranks are placed as the schedule has, on hosts of the
/// topology, and `count` is at least 0.
void check_placement(const Schedule& schedule, const Topology& topology,
                     std::span<const Host> placement, std::int64_t count);

/// placement[r] is the host of rank r. Chunks of different sizes make all rounds differ; they are
/// taken as equal if that would mean looking at more than 4 million turns and none has twice its
/// equal share.
/// Throws InvalidArgument if the placement or the protocol does not fit the schedule or machine.
Prediction predict(const Schedule& schedule, const Machine& machine,
                   std::span<const Host> placement, const VectorSpec& workload);

/// The same with every protocol of the machine's ladder in its order, or once without any if it has
/// none; workload.protocol does not count. What links carry is looked at once for all. With
/// `space`, which is of this placement and serves several schedules, all is done by this thread.
std::vector<Prediction> predict_ladder(const Schedule& schedule, const Machine& machine,
                                       std::span<const Host> placement, const VectorSpec& workload,
                                       RoundSpace* space = nullptr);

/// The number of the one that takes least, the first of equal ones. Requires one.
std::size_t fastest_rung(std::span<const Prediction> ladder);

/// By switches that add: latency + bytes / rate. Throws InvalidArgument if the machine has none,
/// their domain is smaller than `ranks`, or they cannot do that to such elements.
Prediction predict_in_network(const Machine& machine, int ranks, Bytes size, TypedOp what = {});

}  // namespace collbench
