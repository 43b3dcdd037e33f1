// The communicator that plays schedules: any algorithm of ours on any endpoint.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "algorithms/schedule.h"
#include "core/units.h"
#include "transports/communicator.h"
#include "transports/endpoint.h"

namespace collbench {

/// The schedule to play for a vector of this size. Must give every rank the same answer.
using ScheduleChoice = std::function<Schedule(Bytes bytes, DataType type)>;
/// The same for another collective than an all-reduce; nothing if it cannot be played.
using CollectiveChoice =
    std::function<std::optional<Schedule>(Bytes bytes, const Collective& collective)>;

/// What a communicator plays.
struct PlayedSchedules {
  ScheduleChoice all_reduces;
  CollectiveChoice others = {};  // a broadcast for which there is none takes a binomial tree
  /// Throws Unavailable, which says that `by` has none, if there is no schedule of that collective,
  /// and InvalidArgument if it is for another number of ranks.
  Schedule of(const Collective& collective, int ranks, Bytes bytes, DataType type,
              const std::string& by) const;
};

/// Plays `choice` on `endpoint`, and `others` where another collective is asked for. Plans are kept
/// per (collective, count, type, operator, in place), so repeated calls allocate nothing. Buffers
/// that the endpoint does not reach (private memory of processes) are staged through its scratch
/// memory: of an all-reduce or a broadcast in place segment by segment, else as a whole.
std::unique_ptr<Communicator> make_schedule_communicator(ScheduleChoice choice,
                                                         std::unique_ptr<Endpoint> endpoint,
                                                         std::string description,
                                                         CollectiveChoice others = {});
/// The same with one schedule for every size.
std::unique_ptr<Communicator> make_schedule_communicator(const Schedule& schedule,
                                                         std::unique_ptr<Endpoint> endpoint,
                                                         std::string description);

}  // namespace collbench
