// The communicator that plays schedules: any algorithm of ours on any endpoint.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "algorithms/schedule.h"
#include "core/units.h"
#include "transports/communicator.h"
#include "transports/endpoint.h"

namespace collbench {

/// The schedule to play for a vector of this size. Must give every rank the same answer.
using ScheduleChoice = std::function<Schedule(Bytes bytes, DataType type)>;

/// Plays `choice` on `endpoint`. Plans are kept per (count, type, operator, in place), so repeated
/// calls allocate nothing. Buffers that the endpoint does not reach (private memory of processes)
/// are staged through its scratch memory, segment by segment.
std::unique_ptr<Communicator> make_schedule_communicator(ScheduleChoice choice,
                                                         std::unique_ptr<Endpoint> endpoint,
                                                         std::string description);
/// The same with one schedule for every size.
std::unique_ptr<Communicator> make_schedule_communicator(const Schedule& schedule,
                                                         std::unique_ptr<Endpoint> endpoint,
                                                         std::string description);

}  // namespace collbench
