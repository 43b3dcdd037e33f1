// How workers that know only rank 0's address learn each other's addresses.
//
// Rank 0 listens at the bootstrap's HOST:PORT. The others connect, however early, and say one line:
// rank, number of ranks, version, port. Once all have come, rank 0 hands the table of addresses to
// sixteen of them, each of these to sixteen more, and so on: with N ranks, rank 0 receives N short
// lines and sends N short lines and 16 tables, not N. Until then its connections stay: a rank that
// was started wrongly, twice or not at all is reported on all of them, and a lost rank is noticed.
//
// A rank's host is the one it names, else that from which its connection came. Both sides prove
// that they know the job's token (transports/world/bootstrap_messages.h); a rank that cannot is
// refused, and does not end the bootstrap of the others.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algorithms/schedule.h"
#include "core/units.h"

namespace collbench {

struct Bootstrap {
  std::string address;  // HOST:PORT of rank 0, as the others reach it
  std::string listen;   // HOST at which this rank listens; "": all addresses of the machine
  std::string host;     // at which the others reach this rank; "": as rank 0 sees it
  Rank rank = 0;
  int ranks = 1;
  std::string version;  // of collbench; one word
  std::string token;
  Seconds timeout{60};
  std::function<void(const std::string&)>
      on_waiting;                               // receives the missing ranks every few seconds
  std::function<void()> while_waiting = [] {};  // called several times a second; throws to give up
};

/// HOST:PORT of every rank, this one listening at `port` for whatever comes next. Throws
/// TransportError on every rank that has come if one does not come in time, is lost, is there
/// twice, has another version or expects another number of ranks; on a rank with another token.
std::vector<std::string> meet(const Bootstrap& bootstrap, int port);

/// The ranks to which a rank hands the table.
std::vector<Rank> bootstrap_children(Rank rank, int ranks);

}  // namespace collbench
