#include "heuristics/predict.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

constexpr std::int64_t most_turns_apart = 4'000'000;
constexpr std::int64_t turns_worth_a_thread = 20'000;

// What one round costs.
struct RoundCost {
  Seconds latency{0};
  Seconds bandwidth{0};
  Seconds reduction{0};
  LinkId bottleneck = -1;
  std::int64_t messages = 0;
};

// Everything about a workload that rounds have in common.
struct Setting {
  Setting(const Schedule& schedule_of, const Machine& machine_of, std::span<const Host> hosts,
          const Workload& workload);

  double bytes(Chunks chunks) const {
    if (offsets.empty()) return chunk_bytes * chunks.count;
    return static_cast<double>(offsets[chunks.first + chunks.count] - offsets[chunks.first]);
  }

  const Schedule& schedule;
  const Machine& machine;
  std::span<const Host> placement;
  const Protocol* protocol = nullptr;
  double chunk_bytes = 0;
  std::vector<std::int64_t> offsets;  // of chunks, in bytes; empty if all are equal
  std::vector<int> rounds;            // to look at: the first of each run
  bool chunks_equated = false;
};

const Protocol* find_protocol(const Machine& machine, const std::string& name) {
  if (name.empty()) return nullptr;
  for (const Protocol& protocol : machine.costs.protocols) {
    if (protocol.name == name) return &protocol;
  }
  throw InvalidArgument(fmt::format("{} has no protocol '{}'", machine.topology.name(), name));
}

Setting::Setting(const Schedule& schedule_of, const Machine& machine_of,
                 std::span<const Host> hosts, const Workload& workload)
    : schedule(schedule_of),
      machine(machine_of),
      placement(hosts),
      protocol(find_protocol(machine_of, workload.protocol)),
      rounds(schedule_of.runs()) {
  require(static_cast<int>(hosts.size()) == schedule.ranks(),
          fmt::format("{} has {} ranks, but {} are placed", schedule.name(), schedule.ranks(),
                      hosts.size()));
  for (const Host host : hosts) {
    require(host >= 0 && host < machine.topology.hosts(),
            fmt::format("host {} does not exist; {} has hosts 0 to {}", host,
                        machine.topology.name(), machine.topology.hosts() - 1));
  }
  require(workload.count >= 0, fmt::format("a vector cannot have {} elements", workload.count));
  const int element = size_of(workload.type);
  chunk_bytes = static_cast<double>(workload.count) * element / schedule.chunks();
  if (workload.equal_chunks) return;
  bool differ = false;
  for (int c = 0; c <= schedule.chunks(); ++c) {
    offsets.push_back(schedule.partition()(c, workload.count, element) * element);
    differ = differ || (c > 0 && offsets[c] - offsets[c - 1] != offsets[1]);
  }
  const std::int64_t turns = std::int64_t{schedule.ranks()} * schedule.rounds();
  chunks_equated = differ && turns > most_turns_apart;
  if (!differ || chunks_equated) {
    offsets.clear();
    return;
  }
  rounds.resize(static_cast<std::size_t>(schedule.rounds()));
  for (int t = 0; t < schedule.rounds(); ++t) rounds[t] = t;
}

// Adds up the loads of links, round by round. One thread's own.
class Loads {
 public:
  explicit Loads(const Setting& setting)
      : setting_(setting), load_(setting.machine.topology.links().size(), 0) {}

  RoundCost cost(int t) {
    cost_ = {};
    double most_reduced = 0;
    for (Rank r = 0; r < setting_.schedule.ranks(); ++r) {
      setting_.schedule.round(r, t, round_);
      double reduced = 0;
      for (const Op& op : round_.ops()) {
        if (op.peer == r) continue;  // the mark of the own term in a fold
        const double bytes = setting_.bytes(op.chunks);
        if (op.kind == OpKind::recv_reduce) reduced += bytes;
        if (op.kind == OpKind::send && bytes > 0) send(r, op.peer, bytes);
      }
      most_reduced = std::max(most_reduced, reduced);
    }
    const double rate = setting_.machine.costs.reduction_rate.bytes_per_second;
    if (rate > 0) cost_.reduction = Seconds{most_reduced / rate};
    take_loads();
    return cost_;
  }

 private:
  void send(Rank from, Rank to, double bytes) {
    const Topology& topology = setting_.machine.topology;
    topology.route(setting_.placement[from], setting_.placement[to], route_);
    const RouteSummary summary = summarize(topology, route_);
    if (bytes != last_bytes_ || summary.level != last_level_) {
      last_bytes_ = bytes;
      last_level_ = summary.level;
      message_ = message_cost(setting_.machine.costs, setting_.protocol, bytes, summary.level);
    }
    const double wire = bytes * message_.wire_factor;
    cost_.latency = std::max(cost_.latency, summary.latency + message_.latency);
    if (message_.cap > 0) cost_.bandwidth = std::max(cost_.bandwidth, Seconds{wire / message_.cap});
    for (const LinkId link : route_) load_[link] += wire;
    ++cost_.messages;
  }

  void take_loads() {
    for (std::size_t l = 0; l < load_.size(); ++l) {
      if (load_[l] == 0) continue;
      const auto link = static_cast<LinkId>(l);
      const Seconds time{load_[l] / setting_.machine.topology.capacity(link)};
      load_[l] = 0;
      if (time <= cost_.bandwidth) continue;
      cost_.bandwidth = time;
      cost_.bottleneck = link;
    }
  }

  const Setting& setting_;
  std::vector<double> load_;  // bytes by link
  RoundCost cost_;
  Round round_;
  std::vector<LinkId> route_;
  double last_bytes_ = -1;
  int last_level_ = -1;
  MessageCost message_;
};

// The costs of setting.rounds, on as many threads as are worth it.
std::vector<RoundCost> round_costs(const Setting& setting) {
  std::vector<RoundCost> costs(setting.rounds.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    Loads loads(setting);
    for (std::size_t i = next++; i < costs.size(); i = next++) {
      costs[i] = loads.cost(setting.rounds[i]);
    }
  };
  const std::int64_t turns =
      static_cast<std::int64_t>(costs.size()) * std::int64_t{setting.schedule.ranks()};
  const std::int64_t threads =
      std::min({turns / turns_worth_a_thread, static_cast<std::int64_t>(costs.size()),
                static_cast<std::int64_t>(std::thread::hardware_concurrency())});
  if (threads <= 1) {
    work();
    return costs;
  }
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(threads));
  std::vector<std::thread> team;
  for (std::exception_ptr& error : errors) {
    team.emplace_back([&work, &error] {
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
    });
  }
  for (std::thread& thread : team) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return costs;
}

}  // namespace

Prediction predict(const Schedule& schedule, const Machine& machine,
                   std::span<const Host> placement, const Workload& workload) {
  const Setting setting(schedule, machine, placement, workload);
  const std::vector<RoundCost> costs = round_costs(setting);
  Prediction sum;
  sum.overhead = machine.costs.per_collective;
  sum.chunks_equated = setting.chunks_equated;
  std::map<LinkId, Seconds> bounded;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const int end = i + 1 < costs.size() ? setting.rounds[i + 1] : schedule.rounds();
    const int times = end - setting.rounds[i];
    sum.latency += times * costs[i].latency;
    sum.bandwidth += times * costs[i].bandwidth;
    sum.reduction += times * costs[i].reduction;
    sum.messages += times * costs[i].messages;
    if (costs[i].bottleneck >= 0) bounded[costs[i].bottleneck] += times * costs[i].bandwidth;
  }
  for (const auto& [link, time] : bounded) {
    if (time <= sum.at_bottleneck) continue;
    sum.at_bottleneck = time;
    sum.bottleneck = link;
  }
  return sum;
}

Prediction predict_in_network(const Machine& machine, int ranks, Bytes size) {
  const std::string& name = machine.topology.name();
  require(machine.costs.in_network.has_value(), fmt::format("{} has no switches that add", name));
  const InNetwork& adding = *machine.costs.in_network;
  require(adding.max_ranks == 0 || ranks <= adding.max_ranks,
          fmt::format("{} of {} adds for at most {} ranks, not {}", adding.name, name,
                      adding.max_ranks, ranks));
  Prediction sum;
  sum.latency = adding.latency;
  sum.bandwidth = size / adding.rate;
  sum.overhead = machine.costs.per_collective;
  return sum;
}

}  // namespace collbench
