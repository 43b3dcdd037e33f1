#include "simulator/rank_program.h"

#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include "algorithms/resolve.h"
#include "core/error.h"
#include "simulator/engines.h"
#include "simulator/pair_table.h"

namespace collbench {
namespace {

// A number that sends add and receives subtract; pseudo-random, so that only partners cancel.
std::uint64_t message_code(Rank from, Rank to, int round, Chunks chunks) {
  const auto word = [](int high, int low) {
    return std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | static_cast<std::uint32_t>(low);
  };
  std::uint64_t x = word(from, to) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 29) ^ word(round, chunks.first)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 32) ^ static_cast<std::uint32_t>(chunks.count)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class PlainRanks final : public RankProgram {
 public:
  explicit PlainRanks(const Scenario& scenario)
      : RankProgram(scenario.schedule.ranks()),
        scenario_(scenario),
        positions_(ranks() * std::max(1, static_cast<int>(scenario.schedule.tracks().size()))),
        known_(static_cast<std::size_t>(positions_)) {
    check(scenario);
    const Schedule& schedule = scenario.schedule;
    const Machine& machine = scenario.machine;
    for (const Protocol& protocol : machine.costs.protocols) {
      if (protocol.name == scenario.protocol) protocol_ = &protocol;
    }
    has_gaps_ = has_message_gaps(machine.costs, protocol_);
    one_cost_ = protocol_ == nullptr && machine.costs.message_latency.empty();
    const double rate = machine.costs.reduction_rate.bytes_per_second;
    reduction_seconds_ = rate > 0 ? tracks() / rate : 0;
    for (std::size_t l = 0; l < machine.topology.links().size(); ++l) {
      capacities_.push_back(machine.topology.capacity(static_cast<LinkId>(l)));
    }
    starts_ = start_times(scenario.disturbance, schedule.ranks());
    const int element = size_of(scenario.type);
    chunk_bytes_ = static_cast<double>(scenario.count) * element / schedule.chunks();
    if (scenario.equal_chunks) return;
    for (int chunk = 0; chunk <= schedule.chunks(); ++chunk) {
      offsets_.push_back(schedule.partition()(chunk, scenario.count, element) * element);
    }
    for (std::size_t chunk = 1; chunk < offsets_.size(); ++chunk) {
      one_size_ = one_size_ && offsets_[chunk] - offsets_[chunk - 1] == offsets_[1];
    }
  }

  int positions() const override { return positions_; }
  int rounds() const override { return scenario_.schedule.rounds(); }
  const std::vector<double>& capacities() const override { return capacities_; }
  const std::vector<LinkPath>& paths() const override { return paths_; }
  void turn(int position, int round, Turn& out) override {
    out.clear();
    const Rank rank = position % ranks();
    const int track_begin = position - rank;
    const Schedule& schedule = track_of(scenario_.schedule, position / ranks());
    if (round >= schedule.rounds()) return;
    resolve(schedule, rank, round, round_);
    for (const Op& op : round_.sends()) {
      const double bytes = size(op.chunks);
      if (bytes == 0) continue;
      const int peer = track_begin + op.peer;
      const std::int32_t route = path(position, peer);
      const LinkPath& on = paths_[static_cast<std::size_t>(route)];
      const MessageCost& message = cost(bytes, on.level);
      out.sends.push_back({peer, route, bytes * message.wire_factor, on.latency + message.latency,
                           message.cap, bytes});
      open_ += message_code(position, peer, round, op.chunks);
    }
    double reduced = 0;
    MessageGaps received;
    for (const Receipt& receipt : round_.receipts()) {
      const double bytes = size(receipt.chunks);
      if (bytes == 0) continue;
      for (const Rank source : round_.sources(receipt)) {
        if (source == rank) continue;  // the own term
        ++out.arrivals;
        if (has_gaps_) received.add(level(track_begin + source, position));
        if (receipt.folds) reduced += bytes;
        open_ -= message_code(track_begin + source, position, round, receipt.chunks);
      }
    }
    out.reduction = Seconds{reduced * reduction_seconds_};
    if (has_gaps_) add_gaps(position, received, out);
  }

  Seconds start(int position) const override {
    return starts_[static_cast<std::size_t>(position % ranks())];
  }
  std::int64_t pattern(int round) const override {
    return one_size_ ? scenario_.schedule.pattern(round) : round;
  }
  bool matched() const override { return open_ == 0; }

 private:
  struct Known {  // a path to a position
    int peer = -1;
    std::int32_t path = 0;
  };
  double size(Chunks chunks) const {
    if (offsets_.empty()) return chunk_bytes_ * chunks.count;
    const auto first = static_cast<std::size_t>(chunks.first);
    return static_cast<double>(offsets_[first + static_cast<std::size_t>(chunks.count)] -
                               offsets_[first]);
  }
  const MessageCost& cost(double bytes, int level) {
    const bool known =
        cost_level_ >= 0 && (one_cost_ || (bytes == cost_bytes_ && level == cost_level_));
    if (!known) {
      cost_ = message_cost(scenario_.machine.costs, protocol_, bytes, level);
      cost_bytes_ = bytes;
      cost_level_ = level;
    }
    return cost_;
  }

  int level(int from, int to) { return paths_[static_cast<std::size_t>(path(from, to))].level; }

  void add_gaps(int position, const MessageGaps& received, Turn& out) {
    MessageGaps sent;
    for (const Flow& flow : out.sends) sent.add(level(position, flow.to));
    const Costs& costs = scenario_.machine.costs;
    const Seconds busy = sent.beyond_one(costs, protocol_);
    for (Flow& flow : out.sends) flow.latency += busy;
    out.reduction += std::max(Seconds{0}, received.beyond_one(costs, protocol_) - busy);
  }

  std::int32_t path(int from, int to) {
    Known& known = known_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to) % 4];
    if (known.peer != to) {
      const std::int32_t* old = path_of_.find(from, to);
      known = {to, old != nullptr ? *old : new_path(from, to)};
    }
    return known.path;
  }

  std::int32_t new_path(int from, int to) {
    const auto host = [this](int position) {
      return scenario_.placement[static_cast<std::size_t>(position % ranks())];
    };
    const Topology& topology = scenario_.machine.topology;
    topology.route(host(from), host(to), route_);
    const std::vector<Way>* ways = topology.ways(host(from), host(to));
    if (paths_.size() == paths_.capacity()) {
      const std::size_t most = std::max<std::size_t>(1024, 2 * paths_.size());
      require_memory(most * (sizeof(LinkPath) + (route_.size() + 4) * sizeof(LinkPath::Use)),
                     fmt::format("{} routes of {}", most, scenario_.schedule.name()));
      paths_.reserve(most);
    }
    const RouteSummary summary =
        ways == nullptr ? summarize(topology, route_) : summarize(topology, *ways);
    LinkPath path{.links = {}, .latency = summary.latency, .level = summary.level};
    path.links.reserve(route_.size());
    if (ways == nullptr) {
      for (const LinkId link : route_) path.links.push_back({link, 1});
    } else {
      for (const auto& [link, share] : link_shares(*ways)) path.links.push_back({link, share});
    }
    const auto index = static_cast<std::int32_t>(paths_.size());
    paths_.push_back(std::move(path));
    path_of_(from, to) = index;
    return index;
  }

  const Scenario& scenario_;
  int positions_;
  const Protocol* protocol_ = nullptr;
  std::vector<double> capacities_;
  std::vector<Seconds> starts_;
  std::vector<std::int64_t> offsets_;  // of chunks, in bytes; empty if all are equal
  double chunk_bytes_ = 0;
  double reduction_seconds_ = 0;  // per byte
  std::vector<LinkPath> paths_;
  std::vector<std::array<Known, 4>> known_;  // by position, those it talked to last
  PairTable<std::int32_t> path_of_;
  MessageCost cost_;  // of messages like the last one
  double cost_bytes_ = -1;
  int cost_level_ = -1;
  bool one_cost_ = false;  // all messages cost the same
  bool has_gaps_ = false;  // one message keeps a rank from the next
  bool one_size_ = true;   // chunks are equal, so that alike rounds have equal turns
  std::uint64_t open_ = 0;
  ResolvedRound round_;
  std::vector<LinkId> route_;
};

struct Half {  // a send or a receive, as its partner knows it
  Rank from;
  Rank to;
  Chunks chunks;
  auto key() const { return std::tuple(from, to, chunks.first, chunks.count); }
  bool operator<(const Half& other) const { return key() < other.key(); }
};

std::string describe(const Half& half, int round, bool sent) {
  return fmt::format("in round {} rank {} {} chunks {} to {} {} rank {}, which does not {} them",
                     round, sent ? half.from : half.to, sent ? "sends" : "expects",
                     half.chunks.first, half.chunks.first + half.chunks.count - 1,
                     sent ? "to" : "from", sent ? half.to : half.from, sent ? "expect" : "send");
}

}  // namespace

Seconds RankProgram::end_of(int rank, const std::vector<Seconds>& position_end) const {
  Seconds last{0};
  for (int p = rank; p < positions(); p += ranks_) {
    last = std::max(last, position_end[static_cast<std::size_t>(p)]);
  }
  return last;
}

void set_times(const RankProgram& program, const std::vector<Seconds>& position_end,
               const Scenario& scenario, Outcome& outcome) {
  std::vector<Seconds> ends;
  Seconds first = program.start(0);
  Seconds last{0};
  for (int r = 0; r < program.ranks(); ++r) {
    ends.push_back(program.end_of(r, position_end) + scenario.machine.costs.per_collective);
    first = std::min(first, program.start(r));
    last = std::max(last, ends.back());
  }
  for (Transfer& transfer : outcome.transfers) {
    transfer.from %= program.ranks();
    transfer.to %= program.ranks();
  }
  outcome.rank_end = std::move(ends);
  outcome.time = last - first;
}

const Schedule& track_of(const Schedule& schedule, int track) {
  if (schedule.tracks().empty()) return schedule;
  return schedule.tracks()[static_cast<std::size_t>(track)];
}

std::unique_ptr<RankProgram> rank_program(const Scenario& scenario) {
  return std::make_unique<PlainRanks>(scenario);
}

std::string first_mismatch(const Schedule& schedule) {
  std::vector<Half> sends;
  std::vector<Half> receives;
  ResolvedRound round;
  for (int t = 0; t < schedule.rounds(); ++t) {
    sends.clear();
    receives.clear();
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      resolve(schedule, r, t, round);
      for (const Op& op : round.sends()) sends.push_back({r, op.peer, op.chunks});
      for (const Receipt& receipt : round.receipts()) {
        for (const Rank source : round.sources(receipt)) {
          if (source != r) receives.push_back({source, r, receipt.chunks});
        }
      }
    }
    std::sort(sends.begin(), sends.end());
    std::sort(receives.begin(), receives.end());
    const std::size_t both = std::min(sends.size(), receives.size());
    for (std::size_t i = 0; i < both; ++i) {
      if (sends[i] < receives[i]) return describe(sends[i], t, true);
      if (receives[i] < sends[i]) return describe(receives[i], t, false);
    }
    if (sends.size() > both) return describe(sends[both], t, true);
    if (receives.size() > both) return describe(receives[both], t, false);
  }
  return {};
}

void require_matched(const RankProgram& program, const Schedule& schedule) {
  if (program.matched()) return;
  throw InvalidArgument(
      fmt::format("{} cannot be played: {}", schedule.name(), first_mismatch(schedule)));
}

}  // namespace collbench
