// A graph of one rank's operations as Chakra and GOAL have it, and what is wrong with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/logs/job_log.h"

namespace collbench {

struct GraphNode {
  std::uint64_t id = 0;
  bool has_type = true;  // else whether it computes is not said
  bool has_duration = false;
  bool computes = false;
  bool is_collective = false;
  bool is_call = false;  // of a processor, which launches it on a device
  LoggedKind kind = LoggedKind::other;
  std::int64_t bytes = 0;  // of a collective, or sent
  std::string group{};
  std::vector<std::uint64_t> needs{};  // ids
};

/// Adds the program of `rank` to the job, and a record for each of its collectives: the k-th of a
/// group on one rank meets the k-th on the others. Where devices have collectives, the calls that
/// launch them are none themselves. A file that holds the program of a rank once
/// more counts as left out. Durations of such traces contain waiting and are means at best: records
/// have none.
void add_rank_graph(const std::vector<GraphNode>& nodes, int rank, const std::string& file,
                    JobLog& job);

/// The same of a file that holds one rank, which its name may say. Files of one folder that do not
/// say it are the ranks of one trace.
void add_file_graph(const std::vector<GraphNode>& nodes, const std::string& file, JobLog& job);

/// The collective of Chakra's CollectiveCommType; by the node's name if that is negative, and then
/// an all-reduce, whose number 0 writers may leave out, if the name says nothing.
LoggedKind chakra_collective(std::int64_t comm_type, std::string_view name);

/// Whether no node needs itself. Needs that are no node's id are ignored.
bool is_acyclic(const std::vector<GraphNode>& nodes);

}  // namespace collbench
