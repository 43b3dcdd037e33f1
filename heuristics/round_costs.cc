#include "heuristics/round_costs.h"

#include <algorithm>
#include <future>
#include <thread>

#include <fmt/format.h>

#include "algorithms/resolve.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr std::int64_t most_turns_apart = 4'000'000;
constexpr std::int64_t turns_worth_a_thread = 20'000;

// Adds up the loads of links, round by round. One thread's own.
class Loads {
 public:
  explicit Loads(const CostSetting& setting)
      : setting_(setting),
        load_(setting.machine.topology.links().size(), 0),
        busy_(load_.size(), 0),
        reduction_(static_cast<std::size_t>(setting.positions()), 0) {}

  // Replaces `traffic` by what round `t` sends, which stands for `times` rounds. Tracks do not
  // keep step, so that each of them has its links for itself; what they lack together, busy() says.
  void measure(int t, int times, RoundTraffic& traffic) {
    traffic.clear();
    const int ranks = setting_.schedule.ranks();
    for (int begin = 0; begin < setting_.positions(); begin += ranks) {
      measure_stream(begin, t, times, traffic);
    }
  }

  const std::vector<double>& busy() const { return busy_; }

 private:
  void measure_stream(int track_begin, int t, int times, RoundTraffic& traffic) {
    routes_.clear();
    hops_.clear();
    const std::size_t first = traffic.size();
    const int end_of_stream = track_begin + setting_.schedule.ranks();
    for (int p = track_begin; p < end_of_stream; ++p) visit(p, t, traffic);
    take_loads(times);
    const LinkId* hop = routes_.data();
    for (std::size_t i = first; i < traffic.size(); ++i) {
      CostMessage& message = traffic[i];
      for (const LinkId* end = hop + hops_[i - first]; hop < end; ++hop) {
        message.busy = std::max(message.busy, load_[*hop]);
      }
      message.reduction = reduction_[message.to];
    }
    for (const LinkId link : routes_) load_[link] = 0;
  }

  void visit(int position, int t, RoundTraffic& traffic) {
    reduction_[position] = 0;
    const Rank r = position % setting_.schedule.ranks();
    const int track_begin = position - r;
    const Schedule& track = setting_.tracks[position / setting_.schedule.ranks()];
    if (t >= track.rounds()) return;
    resolve(track, r, t, round_);
    for (const Op& op : round_.sends()) {
      const double bytes = setting_.bytes(op.chunks);
      if (bytes > 0) send(r, op.peer, track_begin, bytes, traffic);
    }
    double reduced = 0;
    for (const Receipt& receipt : round_.receipts()) {
      const double bytes = setting_.bytes(receipt.chunks);
      for (int i = 0; i < receipt.additions(); ++i) reduced += bytes;
    }
    // The tracks of a rank share its rate.
    const auto tracks = static_cast<double>(setting_.tracks.size());
    const double rate = setting_.machine.costs.reduction_rate.bytes_per_second;
    reduction_[position] = rate > 0 ? reduced * tracks / rate : 0;
  }

  void send(Rank from, Rank to, int track_begin, double bytes, RoundTraffic& traffic) {
    const Topology& topology = setting_.machine.topology;
    topology.route(setting_.placement[from], setting_.placement[to], route_);
    const RouteSummary summary = summarize(topology, route_);
    for (const LinkId link : route_) load_[link] += bytes;
    routes_.insert(routes_.end(), route_.begin(), route_.end());
    hops_.push_back(static_cast<std::uint32_t>(route_.size()));
    traffic.push_back({.from = track_begin + from,
                       .to = track_begin + to,
                       .level = summary.level,
                       .bytes = bytes,
                       .latency = summary.latency.count(),
                       .busy = 0,
                       .reduction = 0});
  }

  // Turns bytes of links into seconds.
  void take_loads(int times) {
    for (std::size_t l = 0; l < load_.size(); ++l) {
      if (load_[l] == 0) continue;
      load_[l] /= setting_.machine.topology.capacity(static_cast<LinkId>(l));
      busy_[l] += times * load_[l];
    }
  }

  const CostSetting& setting_;
  std::vector<double> load_;         // by link: bytes, then seconds
  std::vector<double> busy_;         // by link: seconds of all rounds so far
  std::vector<double> reduction_;    // by position, seconds
  std::vector<LinkId> routes_;       // of all messages of a round
  std::vector<std::uint32_t> hops_;  // of each of them
  ResolvedRound round_;
  std::vector<LinkId> route_;
};

// Computes the traffic of setting.rounds on as many threads as are worth it, and takes them in
// order.
class Rounds {
 public:
  explicit Rounds(const CostSetting& setting) : setting_(setting) {
    const std::int64_t turns =
        static_cast<std::int64_t>(setting.rounds.size()) * setting.positions();
    const std::int64_t threads =
        std::min({turns / turns_worth_a_thread, static_cast<std::int64_t>(setting.rounds.size()),
                  std::int64_t{std::thread::hardware_concurrency()}});
    for (std::int64_t i = 0; i < std::max<std::int64_t>(threads, 1); ++i)
      team_.emplace_back(setting);
  }

  void for_each(const std::function<void(std::size_t index, const RoundTraffic&)>& take) {
    std::vector<RoundTraffic> traffic(team_.size());
    for (std::size_t first = 0; first < setting_.rounds.size(); first += team_.size()) {
      const std::size_t count = std::min(team_.size(), setting_.rounds.size() - first);
      compute(first, count, traffic);
      for (std::size_t i = 0; i < count; ++i) take(first + i, traffic[i]);
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
  void compute(std::size_t first, std::size_t count, std::vector<RoundTraffic>& traffic) {
    const auto measure = [this, first, &traffic](std::size_t i) {
      team_[i].measure(setting_.rounds[first + i], setting_.times(first + i), traffic[i]);
    };
    std::vector<std::future<void>> others;
    for (std::size_t i = 1; i < count; ++i) {
      others.push_back(std::async(std::launch::async, measure, i));
    }
    measure(0);
    for (std::future<void>& other : others) other.get();
  }

  const CostSetting& setting_;
  std::vector<Loads> team_;
};

// How long positions are busy with messages beyond one each; empty if none is.
class RoundGaps {
 public:
  RoundGaps(const RoundMessages& counted, const Costs& costs, const Protocol* protocol) {
    if (!has_message_gaps(costs, protocol)) return;
    double most = 0;
    for (std::size_t p = 0; p < counted.sent.size(); ++p) {
      const double sending = counted.sent[p].seconds_beyond_one(costs, protocol);
      const double receiving = counted.received[p].seconds_beyond_one(costs, protocol);
      busy_.push_back({sending, std::max(0.0, receiving - sending)});
      most = std::max({most, sending, receiving});
    }
    if (most == 0) busy_.clear();
  }

  void add_to(const CostMessage& message, CostTerms& terms) const {
    if (busy_.empty()) return;
    terms.latency += busy_[static_cast<std::size_t>(message.from)].sending;
    terms.reduction += busy_[static_cast<std::size_t>(message.to)].more_to_receive;
  }

 private:
  struct Busy {
    double sending;
    double more_to_receive;
  };
  std::vector<Busy> busy_;
};

}  // namespace

CostSetting::CostSetting(const Schedule& schedule_of, const Machine& machine_of,
                         std::span<const Host> hosts, const VectorSpec& workload)
    : schedule(schedule_of),
      tracks(schedule_of.tracks().empty() ? std::span(&schedule_of, 1) : schedule_of.tracks()),
      machine(machine_of),
      placement(hosts),
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
  std::int64_t largest = 0;
  for (int c = 0; c <= schedule.chunks(); ++c) {
    offsets.push_back(schedule.partition()(c, workload.count, element) * element);
    differ = differ || (c > 0 && offsets[c] - offsets[c - 1] != offsets[1]);
    if (c > 0) largest = std::max(largest, offsets[c] - offsets[c - 1]);
  }
  const std::int64_t turns = std::int64_t{schedule.ranks()} * schedule.rounds();
  // Chunks that differ by rounding are alike; the time of a ring is that of its largest share.
  const bool alike = static_cast<double>(largest) < 2 * chunk_bytes + 128;
  if (!differ || (alike && turns > most_turns_apart)) {
    offsets.clear();
    return;
  }
  rounds.resize(static_cast<std::size_t>(schedule.rounds()));
  for (int t = 0; t < schedule.rounds(); ++t) rounds[t] = t;
}

std::pair<LinkId, double> for_each_round(
    const CostSetting& setting,
    const std::function<void(std::size_t index, const RoundTraffic& traffic)>& take) {
  Rounds rounds(setting);
  rounds.for_each(take);
  return rounds.busiest();
}

RoundMessages count_messages(const RoundTraffic& traffic, int positions) {
  RoundMessages counted;
  counted.sent.resize(static_cast<std::size_t>(positions));
  counted.received.resize(static_cast<std::size_t>(positions));
  for (const CostMessage& message : traffic) {
    counted.sent[static_cast<std::size_t>(message.from)].add(message.level);
    counted.received[static_cast<std::size_t>(message.to)].add(message.level);
  }
  return counted;
}

void price(const RoundTraffic& traffic, const RoundMessages& counted, const Costs& costs,
           const Protocol* protocol, std::vector<CostEdge>& edges) {
  edges.clear();
  const RoundGaps gaps(counted, costs, protocol);
  MessageCost cost;
  double priced_bytes = -1;
  int priced_level = -1;
  for (const CostMessage& message : traffic) {
    if (message.bytes != priced_bytes || message.level != priced_level) {
      priced_bytes = message.bytes;
      priced_level = message.level;
      cost = message_cost(costs, protocol, message.bytes, message.level);
    }
    const double at_cap = cost.cap > 0 ? message.bytes / cost.cap : 0;
    CostTerms terms = {message.latency + cost.latency.count(),
                       cost.wire_factor * std::max(message.busy, at_cap), message.reduction};
    gaps.add_to(message, terms);
    const bool again =
        !edges.empty() && edges.back().from == message.from && edges.back().to == message.to;
    if (!again) {
      edges.push_back({message.from, message.to, terms});
    } else if (terms.sum() > edges.back().cost.sum()) {
      edges.back().cost = terms;
    }
  }
}

}  // namespace collbench
