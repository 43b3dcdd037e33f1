#include "heuristics/round_costs.h"

#include <algorithm>
#include <array>
#include <deque>
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
  Loads(const CostSetting& setting, RoundSpace& space)
      : setting_(setting),
        space_(space),
        load_(setting.machine.topology.links().size(), 0),
        busy_(load_.size(), 0),
        reduction_(static_cast<std::size_t>(setting.positions()), 0) {}

  // What round `t` sends, which stands for `times` rounds. Tracks do not keep step, so that each of
  // them has its links for itself; what they lack together, busy() says.
  const RoundTraffic& measure(int t, int times) {
    space_.traffic.clear();
    const int ranks = setting_.schedule.ranks();
    for (int begin = 0; begin < setting_.positions(); begin += ranks) {
      measure_stream(begin, t, times, space_.traffic);
    }
    return space_.traffic;
  }

  const std::vector<double>& busy() const { return busy_; }

 private:
  void measure_stream(int track_begin, int t, int times, RoundTraffic& traffic) {
    space_.table.forget();
    space_.routes.clear();
    const std::size_t first = traffic.size();
    const int end_of_stream = track_begin + setting_.schedule.ranks();
    for (int p = track_begin; p < end_of_stream; ++p) visit(p, t, traffic);
    take_loads(times);
    for (std::size_t i = first; i < traffic.size(); ++i) {
      CostMessage& message = traffic[i];
      for (const LinkId link : space_.table.links(space_.routes[i - first])) {
        message.busy = std::max(message.busy, load_[link]);
      }
      message.reduction = reduction_[message.to];
    }
    for (const LinkId link : loaded_) load_[link] = 0;
    loaded_.clear();
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
    const RouteTable::Route& route = space_.table.find(from, to);
    for (const LinkId link : space_.table.links(route)) {
      if (load_[link] == 0) loaded_.push_back(link);
      load_[link] += bytes;
    }
    space_.routes.push_back(route);
    // Member by member: copies of a temporary wait for its parts to be written.
    CostMessage& message = traffic.emplace_back();
    message.from = track_begin + from;
    message.to = track_begin + to;
    message.level = route.level;
    message.bytes = bytes;
    message.latency = route.latency;
  }

  // Turns bytes of links into seconds.
  void take_loads(int times) {
    for (const LinkId link : loaded_) {
      load_[link] /= setting_.machine.topology.capacity(link);
      busy_[link] += times * load_[link];
    }
  }

  const CostSetting& setting_;
  RoundSpace& space_;
  std::vector<double> load_;       // by link: bytes, then seconds
  std::vector<LinkId> loaded_;     // in this round of this track
  std::vector<double> busy_;       // by link: seconds of all rounds so far
  std::vector<double> reduction_;  // by position, seconds
  ResolvedRound round_;
};

// Computes the traffic of setting.rounds on as many threads as are worth it, or on this one in
// `space`, and takes them in order.
class Rounds {
 public:
  Rounds(const CostSetting& setting, RoundSpace* space) : setting_(setting) {
    if (space != nullptr) {
      team_.emplace_back(setting, *space);
      return;
    }
    const std::int64_t turns =
        static_cast<std::int64_t>(setting.rounds.size()) * setting.positions();
    const std::int64_t threads =
        std::min({turns / turns_worth_a_thread, static_cast<std::int64_t>(setting.rounds.size()),
                  std::int64_t{std::thread::hardware_concurrency()}});
    for (std::int64_t i = 0; i < std::max<std::int64_t>(threads, 1); ++i) {
      RoundSpace& own = spaces_.emplace_back(setting.machine.topology, setting.placement, false);
      team_.emplace_back(setting, own);
    }
  }

  void for_each(const std::function<void(std::size_t index, const RoundTraffic&)>& take) {
    for (std::size_t first = 0; first < setting_.rounds.size(); first += team_.size()) {
      const std::size_t count = std::min(team_.size(), setting_.rounds.size() - first);
      const auto measure = [this, first](std::size_t i) -> const RoundTraffic& {
        return team_[i].measure(setting_.rounds[first + i], setting_.times(first + i));
      };
      // The first by this thread, the others by one each.
      std::vector<std::future<const RoundTraffic&>> others;
      for (std::size_t i = 1; i < count; ++i) {
        others.push_back(std::async(std::launch::async, measure, i));
      }
      take(first, measure(0));
      for (std::size_t i = 1; i < count; ++i) take(first + i, others[i - 1].get());
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
  const CostSetting& setting_;
  std::deque<RoundSpace> spaces_;
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

// What messages cost with one protocol. Messages of a round have few sizes, and those of a rank go
// over links of several levels in turn.
class PricedMessages {
 public:
  struct Price {
    double bytes = -1;
    int level = -1;
    double latency = 0;
    double wire_factor = 1;
    double at_cap = 0;  // seconds
  };

  PricedMessages(const Costs& costs, const Protocol* protocol)
      : costs_(costs), protocol_(protocol) {}

  const Price& of(const CostMessage& message) {
    Price& price = last_[static_cast<std::size_t>(message.level) % last_.size()];
    if (message.bytes != price.bytes || message.level != price.level) {
      const MessageCost cost = message_cost(costs_, protocol_, message.bytes, message.level);
      price = {message.bytes, message.level, cost.latency.count(), cost.wire_factor,
               cost.cap > 0 ? message.bytes / cost.cap : 0};
    }
    return price;
  }

 private:
  const Costs& costs_;
  const Protocol* protocol_;
  std::array<Price, 4> last_;
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
    const CostSetting& setting, RoundSpace* space,
    const std::function<void(std::size_t index, const RoundTraffic& traffic)>& take) {
  Rounds rounds(setting, space);
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
  PricedMessages priced(costs, protocol);
  for (const CostMessage& message : traffic) {
    const PricedMessages::Price& cost = priced.of(message);
    CostTerms terms = {message.latency + cost.latency,
                       cost.wire_factor * std::max(message.busy, cost.at_cap), message.reduction};
    gaps.add_to(message, terms);
    const bool again =
        !edges.empty() && edges.back().from == message.from && edges.back().to == message.to;
    if (again && terms.sum() <= edges.back().cost.sum()) continue;
    CostEdge& edge = again ? edges.back() : edges.emplace_back();
    edge.from = message.from;
    edge.to = message.to;
    edge.cost.latency = terms.latency;
    edge.cost.bandwidth = terms.bandwidth;
    edge.cost.reduction = terms.reduction;
  }
}

}  // namespace collbench
