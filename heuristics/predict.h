// The analytic cost model: how long an all-reduce takes by a schedule on a machine, in milliseconds
// of computing for 65,536 ranks.
//
// The rounds are taken one after another. A round costs
//
//   the largest latency of its messages
//   + the largest load of a link / its capacity (or message / its cap, if that is longer)
//   + the largest sum of received bytes to reduce / reduction rate,
//
// the collective adds its own cost once. This is the time of engine fluid where all messages of a
// round take equally long and no link is shared by messages that come from different rounds; ranks
// that run ahead of others make it an upper estimate. Alike rounds (algorithms/schedule.h) are
// looked at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "algorithms/schedule.h"
#include "core/data_type.h"
#include "core/units.h"
#include "topologies/machine.h"

namespace collbench {

/// The vector that every rank brings, and how its messages are sent.
struct Workload {
  std::int64_t count = 0;  // elements
  DataType type = DataType::f32;
  std::string protocol;       // of the machine's ladder; empty: none
  bool equal_chunks = false;  // sizes are real numbers: every chunk is 1/chunks of the vector
};

/// A time and the terms it is the sum of.
struct Prediction {
  Seconds latency{0};
  Seconds bandwidth{0};
  Seconds reduction{0};
  Seconds overhead{0};          // of the collective
  LinkId bottleneck = -1;       // bounds more of the bandwidth term than others; -1: none does
  Seconds at_bottleneck{0};     // that much of it
  std::int64_t messages = 0;    // of all ranks
  bool chunks_equated = false;  // chunks differ, but were taken as equal to save time
  Seconds time() const { return latency + bandwidth + reduction + overhead; }
};

/// placement[r] is the host of rank r. Chunks of different sizes make all rounds differ; they are
/// taken as equal if that would mean looking at more than 4 million turns.
/// Throws InvalidArgument if the placement or the protocol does not fit the schedule or machine.
Prediction predict(const Schedule& schedule, const Machine& machine,
                   std::span<const Host> placement, const Workload& workload);

/// By switches that add: latency + bytes / rate. Throws InvalidArgument if the machine has none or
/// their domain is smaller than `ranks`.
Prediction predict_in_network(const Machine& machine, int ranks, Bytes size);

}  // namespace collbench
