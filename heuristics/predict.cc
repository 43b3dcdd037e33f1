#include "heuristics/predict.h"

#include <algorithm>
#include <array>
#include <functional>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

constexpr std::int64_t most_turns_apart = 4'000'000;
constexpr std::int64_t turns_worth_a_thread = 20'000;

// The terms of a time.
struct Terms {
  double latency = 0;
  double bandwidth = 0;
  double reduction = 0;

  double sum() const { return latency + bandwidth + reduction; }
  Terms operator+(const Terms& other) const {
    return {latency + other.latency, bandwidth + other.bandwidth, reduction + other.reduction};
  }
  Terms operator*(double factor) const {
    return {latency * factor, bandwidth * factor, reduction * factor};
  }
};

// A message between positions (ranks of a stream), and what its receiver does then: the earliest
// time from its sender's round to the receiver's next.
struct Edge {
  int from;
  int to;
  Terms cost;
};

// What one round costs.
struct RoundCost {
  std::vector<Edge> edges;  // at most one per pair of ranks that follow each other in the list
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

  int positions() const { return schedule.ranks() * static_cast<int>(streams.size()); }

  // How many rounds rounds[i] stands for.
  int times(std::size_t i) const {
    return (i + 1 < rounds.size() ? rounds[i + 1] : schedule.rounds()) - rounds[i];
  }

  const Schedule& schedule;
  std::span<const Schedule> streams;
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
      streams(schedule_of.streams().empty() ? std::span(&schedule_of, 1) : schedule_of.streams()),
      machine(machine_of),
      placement(hosts),
      protocol(find_protocol(machine_of, workload.protocol)),
      rounds(schedule_of.runs()) {
  require(static_cast<int>(hosts.size()) == schedule.ranks(),
          fmt::format("{} has {} ranks, but {} are placed", schedule.name(), schedule.ranks(),
                      hosts.size()));
  for (const Host host : hosts) {
    if (host >= 0 && host < machine.topology.hosts()) continue;
    throw InvalidArgument(fmt::format("host {} does not exist; {} has hosts 0 to {}", host,
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
      : setting_(setting),
        load_(setting.machine.topology.links().size(), 0),
        busy_(load_.size(), 0),
        reduction_(static_cast<std::size_t>(setting.positions()), 0) {}

  // Replaces `cost` by what round `t` costs, which stands for `times` rounds. Streams do not keep
  // step, so that each of them has its links for itself; what they lack together, busy() says.
  void measure(int t, int times, RoundCost& cost) {
    cost.edges.clear();
    cost.messages = 0;
    const int ranks = setting_.schedule.ranks();
    for (int begin = 0; begin < setting_.positions(); begin += ranks) {
      measure_stream(begin, t, times, cost);
    }
  }

  const std::vector<double>& busy() const { return busy_; }

 private:
  void measure_stream(int stream_begin, int t, int times, RoundCost& cost) {
    std::vector<Edge>& edges = cost.edges;
    routes_.clear();
    hops_.clear();
    const std::size_t first = edges.size();
    const int end_of_stream = stream_begin + setting_.schedule.ranks();
    for (int p = stream_begin; p < end_of_stream; ++p) visit(p, t, edges);
    cost.messages += static_cast<std::int64_t>(edges.size() - first);
    take_loads(times);
    const LinkId* hop = routes_.data();
    std::size_t kept = first;
    for (std::size_t i = first; i < edges.size(); ++i) {
      Edge edge = edges[i];
      for (const LinkId* end = hop + hops_[i - first]; hop < end; ++hop) {
        edge.cost.bandwidth = std::max(edge.cost.bandwidth, load_[*hop]);
      }
      edge.cost.reduction = reduction_[edge.to];
      const bool again =
          kept > first && edges[kept - 1].from == edge.from && edges[kept - 1].to == edge.to;
      if (!again) {
        edges[kept++] = edge;
      } else if (edge.cost.sum() > edges[kept - 1].cost.sum()) {
        edges[kept - 1] = edge;
      }
    }
    edges.resize(kept);
    for (const LinkId link : routes_) load_[link] = 0;
  }

  void visit(int position, int t, std::vector<Edge>& edges) {
    reduction_[position] = 0;
    const Rank r = position % setting_.schedule.ranks();
    const int stream_begin = position - r;
    const Schedule& stream = setting_.streams[position / setting_.schedule.ranks()];
    if (t >= stream.rounds()) return;
    stream.round(r, t, round_);
    const double rate = setting_.machine.costs.reduction_rate.bytes_per_second;
    double reduced = 0;
    for (const Op& op : round_.ops()) {
      if (op.peer == r) continue;  // the mark of the own term in a fold
      const double bytes = setting_.bytes(op.chunks);
      if (op.kind == OpKind::recv_reduce) reduced += bytes;
      if (op.kind == OpKind::send && bytes > 0) send(r, op.peer, stream_begin, bytes, edges);
    }
    // The streams of a rank share its rate.
    const auto streams = static_cast<double>(setting_.streams.size());
    reduction_[position] = rate > 0 ? reduced * streams / rate : 0;
  }

  void send(Rank from, Rank to, int stream_begin, double bytes, std::vector<Edge>& edges) {
    const Topology& topology = setting_.machine.topology;
    topology.route(setting_.placement[from], setting_.placement[to], route_);
    const RouteSummary summary = summarize(topology, route_);
    if (bytes != last_bytes_ || summary.level != last_level_) {
      last_bytes_ = bytes;
      last_level_ = summary.level;
      cost_ = message_cost(setting_.machine.costs, setting_.protocol, bytes, summary.level);
    }
    const double wire = bytes * cost_.wire_factor;
    for (const LinkId link : route_) load_[link] += wire;
    routes_.insert(routes_.end(), route_.begin(), route_.end());
    hops_.push_back(static_cast<std::uint32_t>(route_.size()));
    const double at_cap = cost_.cap > 0 ? wire / cost_.cap : 0;
    edges.push_back({stream_begin + from,
                     stream_begin + to,
                     {(summary.latency + cost_.latency).count(), at_cap, 0}});
  }

  // Turns bytes of links into seconds.
  void take_loads(int times) {
    for (std::size_t l = 0; l < load_.size(); ++l) {
      if (load_[l] == 0) continue;
      load_[l] /= setting_.machine.topology.capacity(static_cast<LinkId>(l));
      busy_[l] += times * load_[l];
    }
  }

  const Setting& setting_;
  std::vector<double> load_;         // by link: bytes, then seconds
  std::vector<double> busy_;         // by link: seconds of all rounds so far
  std::vector<double> reduction_;    // by position, seconds
  std::vector<LinkId> routes_;       // of all messages of a round
  std::vector<std::uint32_t> hops_;  // of each of them
  Round round_;
  std::vector<LinkId> route_;
  double last_bytes_ = -1;
  int last_level_ = -1;
  MessageCost cost_;
};

// When every position enters the round at hand.
class Clocks {
 public:
  explicit Clocks(int positions) : now_(static_cast<std::size_t>(positions)), sent_(now_.size()) {}

  // `times` rounds that all cost the same.
  void pass(const RoundCost& cost, int times) {
    // Rounds in a row settle whom a rank waits for; the rest has a shorter way.
    const bool one_each = receives_one_each(cost.edges);
    const auto edges = static_cast<std::int64_t>(cost.edges.size()) + 1;
    const std::int64_t affordable = most_edges / edges + 16;
    const int single =
        one_each ? std::min(times, 4) : static_cast<int>(std::min<std::int64_t>(times, affordable));
    const int half = single / 2;
    for (int i = 0; i < half; ++i) step(cost.edges);
    const Terms middle = latest();
    for (int i = half; i < single; ++i) step(cost.edges);
    if (one_each) {
      leap(cost.edges, times - single);
    } else if (times > single) {
      const Terms end = latest();
      const Terms rate = (end + middle * -1) * (1.0 / (single - half));
      for (Terms& now : now_) now = now + rate * (times - single);
      for (auto& last : sent_) {
        for (Sent& sent : last) sent.arrival = sent.arrival + rate * (times - single);
      }
    }
  }

  Terms latest() const {
    return *std::max_element(now_.begin(), now_.end(),
                             [](const Terms& a, const Terms& b) { return a.sum() < b.sum(); });
  }

 private:
  static constexpr std::int64_t most_edges = 4'000'000;

  bool receives_one_each(const std::vector<Edge>& edges) {
    std::vector<bool> receives(now_.size(), false);
    for (const Edge& edge : edges) {
      if (receives[edge.to]) return false;
      receives[edge.to] = true;
    }
    return true;
  }

  void step(const std::vector<Edge>& edges) {
    next_ = now_;
    for (const Edge& edge : edges) {
      Sent& sent = sent_[edge.from][static_cast<std::size_t>(edge.to) % 4];
      Terms begin = now_[edge.from] + Terms{edge.cost.latency, 0, 0};
      if (sent.to == edge.to && sent.arrival.sum() > begin.sum()) begin = sent.arrival;
      sent = {edge.to, begin + Terms{0, edge.cost.bandwidth, 0}};
      const Terms arrival = sent.arrival + Terms{0, 0, edge.cost.reduction};
      if (arrival.sum() > next_[edge.to].sum()) next_[edge.to] = arrival;
    }
    now_.swap(next_);
  }

  // Where everybody waits for one sender at most, ranks send on what they got, so that messages
  // rarely catch up with those before them; and many rounds are a path of senders, whose cost
  // doubling adds up.
  void leap(const std::vector<Edge>& edges, int times) {
    if (times == 0) return;
    struct Jump {
      Rank from;
      Terms cost;
    };
    std::vector<Jump> jumps(now_.size());
    for (std::size_t r = 0; r < jumps.size(); ++r) jumps[r] = {static_cast<Rank>(r), {}};
    for (const Edge& edge : edges) jumps[edge.to] = {edge.from, edge.cost};
    std::vector<Jump> twice(jumps.size());
    for (;; times /= 2) {
      if (times % 2 == 1) {
        next_ = now_;
        for (std::size_t r = 0; r < jumps.size(); ++r) {
          const Terms arrival = now_[jumps[r].from] + jumps[r].cost;
          if (arrival.sum() > next_[r].sum()) next_[r] = arrival;
        }
        now_.swap(next_);
      }
      if (times == 1) return;
      for (std::size_t r = 0; r < jumps.size(); ++r) {
        const Jump& first = jumps[jumps[r].from];
        twice[r] = {first.from, first.cost + jumps[r].cost};
      }
      jumps.swap(twice);
    }
  }

  // The last message to another position; the last to four of them are known.
  struct Sent {
    int to = -1;
    Terms arrival;
  };

  std::vector<Terms> now_;
  std::vector<Terms> next_;
  std::vector<std::array<Sent, 4>> sent_;
};

// Computes the costs of setting.rounds on as many threads as are worth it, and takes them in order.
class Rounds {
 public:
  explicit Rounds(const Setting& setting) : setting_(setting) {
    const std::int64_t turns =
        static_cast<std::int64_t>(setting.rounds.size()) * setting.positions();
    const std::int64_t threads =
        std::min({turns / turns_worth_a_thread, static_cast<std::int64_t>(setting.rounds.size()),
                  std::int64_t{std::thread::hardware_concurrency()}});
    for (std::int64_t i = 0; i < std::max<std::int64_t>(threads, 1); ++i)
      team_.emplace_back(setting);
  }

  void for_each(const std::function<void(std::size_t index, const RoundCost&)>& take) {
    std::vector<RoundCost> costs(team_.size());
    for (std::size_t first = 0; first < setting_.rounds.size(); first += team_.size()) {
      const std::size_t count = std::min(team_.size(), setting_.rounds.size() - first);
      compute(first, count, costs);
      for (std::size_t i = 0; i < count; ++i) take(first + i, costs[i]);
    }
  }

  // The link that is busy longest, and for how long; after for_each().
  std::pair<LinkId, double> busiest() const {
    std::pair<LinkId, double> most{-1, 0};
    for (std::size_t l = 0; l < team_[0].busy().size(); ++l) {
      double busy = 0;
      for (const Loads& loads : team_) busy += loads.busy()[l];
      if (busy > most.second) most = {static_cast<LinkId>(l), busy};
    }
    return most;
  }

 private:
  // The first by this thread, the others by one each.
  void compute(std::size_t first, std::size_t count, std::vector<RoundCost>& costs) {
    const auto measure = [this, first, &costs](std::size_t i) {
      team_[i].measure(setting_.rounds[first + i], setting_.times(first + i), costs[i]);
    };
    std::vector<std::future<void>> others;
    for (std::size_t i = 1; i < count; ++i) {
      others.push_back(std::async(std::launch::async, measure, i));
    }
    measure(0);
    for (std::future<void>& other : others) other.get();
  }

  const Setting& setting_;
  std::vector<Loads> team_;
};

}  // namespace

Prediction predict(const Schedule& schedule, const Machine& machine,
                   std::span<const Host> placement, const Workload& workload) {
  const Setting setting(schedule, machine, placement, workload);
  Clocks clocks(setting.positions());
  Prediction sum;
  Rounds rounds(setting);
  rounds.for_each([&](std::size_t i, const RoundCost& cost) {
    clocks.pass(cost, setting.times(i));
    sum.messages += setting.times(i) * cost.messages;
  });
  const Terms last = clocks.latest();
  const auto [link, busy] = rounds.busiest();
  sum.bottleneck = link;
  sum.at_bottleneck = Seconds{busy};
  sum.latency = Seconds{last.latency};
  const bool streams = setting.streams.size() > 1;
  const double spare = streams ? last.bandwidth : last.sum();
  sum.bandwidth = Seconds{last.bandwidth + std::max(0.0, busy - spare)};
  sum.reduction = Seconds{last.reduction};
  sum.overhead = machine.costs.per_collective;
  sum.chunks_equated = setting.chunks_equated;
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
