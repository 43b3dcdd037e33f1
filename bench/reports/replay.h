// A simulated case replayed for a picture: when each rank sends, and what every link carries.
//
// Simulated cases are the same in every run, so a record is enough to have its details again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/records/record.h"
#include "topologies/topology.h"

namespace collbench {

/// One message. Times are microseconds since the start: ready at the sender, first byte on its way,
/// arrived.
struct ReplayedMessage {
  int from = 0;
  int to = 0;
  int round = 0;
  double bytes = 0;
  double ready_us = 0;
  double start_us = 0;
  double arrival_us = 0;
};

/// A host or switch, and where to draw it; the unit is the distance of two hosts.
struct ReplayedVertex {
  std::string name;
  bool host = false;
  double x = 0;
  double y = 0;
};

/// What a link of one direction carried.
struct ReplayedLink {
  int from = 0;  // of Replay::vertices
  int to = 0;
  std::string link_class;
  double capacity_GBps = 0;
  double bytes = 0;
  double busy_us = 0;
  double utilisation = 0;  // of the whole time, 0 to 1
};

struct Replay {
  std::string name;  // case_name()
  std::string topology;
  std::string engine;
  std::string bottleneck;  // in words
  double time_us = 0;
  int ranks = 0;
  std::int64_t messages_left_out = 0;  // the last to arrive, beyond the limit
  std::vector<ReplayedMessage> messages;
  std::vector<ReplayedVertex> vertices;
  std::vector<ReplayedLink> links;
};

/// The cases worth a picture, at most `limit`: of each topology that has at most 64 ranks, the
/// fastest algorithm at the largest number of ranks and the largest size. Their algorithm is
/// decided; the largest come first.
std::vector<Case> cases_to_replay(const std::vector<Record>& records, std::size_t limit);

/// Plays a case on the fluid engine unless it names simgrid. Throws InvalidArgument if this version
/// does not know its topology, algorithm or settings.
Replay replay(const Case& point);

/// Places the vertices of a replay by its links, so it may come from a file. A grid without
/// switches is a grid, its first two axes across and down. Hosts under switches are a row with gaps
/// between nodes, each switch above the middle of what hangs from it. Other hosts without switches
/// stand in a circle.
void place_vertices(Replay& replay, const Layout& layout);

/// All of cases_to_replay(); those that cannot be played are listed in `notes`.
std::vector<Replay> replays_of(const std::vector<Record>& records, std::size_t limit,
                               std::vector<std::string>& notes);

// Files of `collbench simulate --trace` and `--links`, read for pictures of a case without
// simulating it again.

/// Whether a text begins as such a file does.
bool is_trace(const std::string& text);
bool is_link_table(const std::string& text);

/// The messages of a trace as write_chrome_trace() makes it, at most 4,000: the first to
/// arrive. The network is empty. Throws InvalidArgument saying what is missing.
Replay trace_from_json(const std::string& text, const std::string& name);

/// The network of a table of links; the messages are empty. A vertex is a host if its name says so
/// ("node 1 host 3"); if none does, all are. Throws InvalidArgument naming the line.
Replay links_from_csv(const std::string& text, const std::string& name);

/// Whether two such parts can be one picture: every host of the trace is in the table.
bool belong_together(const Replay& trace, const Replay& links);
/// The trace with the network of the table.
Replay joined(Replay trace, const Replay& links);

}  // namespace collbench
