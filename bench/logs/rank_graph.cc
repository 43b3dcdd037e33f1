#include "bench/logs/rank_graph.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/logs/log_readers.h"

namespace collbench {
namespace {

/// "ddp" of ".../ddp.0.et" and ".../ddp.0.feeder.json": the trace that ranks belong to.
std::string trace_name(const std::string& file) {
  const std::string name = file.substr(file.find_last_of('/') + 1);
  return file.substr(0, file.find_last_of('/') + 1) + name.substr(0, name.find('.'));
}

}  // namespace

bool is_acyclic(const std::vector<GraphNode>& nodes) {
  std::unordered_map<std::uint64_t, std::size_t> place;
  for (std::size_t i = 0; i < nodes.size(); ++i) place.emplace(nodes[i].id, i);
  std::vector<std::vector<std::size_t>> followers(nodes.size());
  std::vector<std::size_t> open(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::uint64_t need : nodes[i].needs) {
      const auto found = place.find(need);
      if (found == place.end()) continue;
      followers[found->second].push_back(i);
      ++open[i];
    }
  }
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (open[i] == 0) ready.push_back(i);
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    const std::size_t node = ready.back();
    ready.pop_back();
    ++done;
    for (const std::size_t follower : followers[node]) {
      if (--open[follower] == 0) ready.push_back(follower);
    }
  }
  return done == nodes.size();
}

void add_rank_graph(const std::vector<GraphNode>& nodes, int rank, const std::string& file,
                    JobLog& job) {
  const int process = job.process(fmt::format("{}, rank {}", trace_name(file), rank));
  JobProcess& known = job.processes[static_cast<std::size_t>(process)];
  if (known.rank >= 0) {
    ++job.left_out["files with the program of a rank once more"];
    return;
  }
  known.rank = rank;
  LoggedProgram program;
  program.rank = rank;
  program.operations = static_cast<std::int64_t>(nodes.size());
  program.acyclic = is_acyclic(nodes);
  std::map<int, std::int64_t> sequence;
  const bool on_device = std::any_of(nodes.begin(), nodes.end(), [](const GraphNode& node) {
    return node.is_collective && !node.is_call;
  });
  for (const GraphNode& node : nodes) {
    program.compute_nodes += node.computes ? 1 : 0;
    if (node.is_collective && node.is_call && on_device) continue;
    if (!node.is_collective) {
      program.bytes_sent += node.bytes;
      continue;
    }
    program.free_collectives += node.needs.empty() ? 1 : 0;
    LogRecord& record = job.records.emplace_back();
    record.communicator = job.communicator(fmt::format("{} group {}", trace_name(file), node.group),
                                           node.group.empty() ? "all" : "group " + node.group, 0);
    record.rank = rank;
    record.process = process;
    record.kind = node.kind;
    record.bytes = node.bytes;
    record.sequence = sequence[record.communicator]++;
  }
  if (std::any_of(nodes.begin(), nodes.end(),
                  [](const GraphNode& n) { return n.is_collective && n.has_duration; })) {
    job.note_once(
        "the durations of Chakra's nodes are not used: they contain the waiting for others and are "
        "means at best");
  }
  // Without computing, collectives that start at once are what was asked for.
  if (program.compute_nodes == 0) program.free_collectives = 0;
  if (std::none_of(nodes.begin(), nodes.end(), [](const GraphNode& n) { return n.has_type; })) {
    program.compute_nodes = -1;
  }
  job.programs.push_back(program);
}

void add_file_graph(const std::vector<GraphNode>& nodes, const std::string& file, JobLog& job) {
  const bool is_named = rank_in_name(file) >= 0;
  const std::string folder = file.substr(0, file.find_last_of('/') + 1);
  add_rank_graph(nodes, rank_of_file(file, job), is_named ? file : folder, job);
}

}  // namespace collbench
