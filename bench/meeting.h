// Where workers that know only rank 0's address tell each other where they listen.
//
// Rank 0 listens at the meeting's HOST:PORT. The others connect, however early, and send one line
// with their rank, the number of ranks they expect, their port and a digest of the run's secret;
// once all have come, everyone receives the addresses by rank. A rank's host is the address from
// which its connection came. Nothing else goes over these connections, and they end with the
// meeting.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algorithms/schedule.h"
#include "core/units.h"

namespace collbench {

struct Meeting {
  std::string address;  // HOST:PORT of rank 0's side
  Rank rank = 0;
  int ranks = 1;
  std::string token;  // ranks with another one are refused
  Seconds timeout{60};
  std::function<void(const std::string&)> on_waiting;  // told every few seconds who is missing
};

/// HOST:PORT of every rank, this one listening at `port` for whatever comes next. Throws
/// TransportError on every rank if one does not come in time, is lost, is there twice, expects
/// another number of ranks, or belongs to another run.
std::vector<std::string> meet(const Meeting& meeting, int port);

}  // namespace collbench
