#include "heuristics/round_costs.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

constexpr std::int64_t most_turns_apart = 4'000'000;

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

void check_placement(const Schedule& schedule, const Topology& topology,
                     std::span<const Host> placement, std::int64_t count) {
  require(std::ssize(placement) == schedule.ranks(),
          fmt::format("{} has {} ranks, but {} are placed", schedule.name(), schedule.ranks(),
                      placement.size()));
  for (std::size_t r = 0; r < placement.size(); ++r) {
    if (placement[r] >= 0 && placement[r] < topology.hosts()) continue;
    throw InvalidArgument(fmt::format("rank {} is placed on host {}, but {} has hosts 0 to {}", r,
                                      placement[r], topology.name(), topology.hosts() - 1));
  }
  require(count >= 0, fmt::format("a vector cannot have {} elements", count));
}

CostSetting::CostSetting(const Schedule& schedule_of, const Machine& machine_of,
                         std::span<const Host> hosts, const VectorSpec& workload)
    : schedule(schedule_of),
      tracks(schedule_of.tracks().empty() ? std::span(&schedule_of, 1) : schedule_of.tracks()),
      machine(machine_of),
      placement(hosts),
      rounds(schedule_of.runs()) {
  check_placement(schedule, machine.topology, hosts, workload.count);
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
    CostEdge* known = message.repeats ? &edges.back() : nullptr;
    while (known != nullptr && known->to != message.to) --known;  // its sender's, so not far back
    if (known != nullptr && terms.sum() <= known->cost.sum()) continue;
    CostEdge& edge = known != nullptr ? *known : edges.emplace_back();
    edge.from = message.from;
    edge.to = message.to;
    edge.cost.latency = terms.latency;
    edge.cost.bandwidth = terms.bandwidth;
    edge.cost.reduction = terms.reduction;
  }
}

}  // namespace collbench
