#include "heuristics/predict.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/plain_text.h"
#include "heuristics/round_costs.h"

namespace collbench {
namespace {

// When every position enters the round at hand.
class Clocks {
 public:
  explicit Clocks(int positions) : now_(static_cast<std::size_t>(positions)), sent_(now_.size()) {}

  // `times` rounds that all cost the same.
  void pass(const std::vector<CostEdge>& edges, int times) {
    // If every rank receives from one other rank, alike rounds are composed by doubling in leap();
    // elsewhere as many as affordable are followed, and the rest is extrapolated.
    const bool one_each = receives_one_each(edges);
    const std::int64_t affordable = most_edges / (static_cast<std::int64_t>(edges.size()) + 1) + 16;
    const int single =
        one_each ? std::min(times, 4) : static_cast<int>(std::min<std::int64_t>(times, affordable));
    const int half = single / 2;
    for (int i = 0; i < half; ++i) step(edges);
    const CostTerms middle = latest();
    for (int i = half; i < single; ++i) step(edges);
    if (one_each) {
      leap(edges, times - single);
    } else if (times > single) {
      const CostTerms end = latest();
      const CostTerms rate = (end + middle * -1) * (1.0 / (single - half));
      for (CostTerms& now : now_) now = now + rate * (times - single);
      for (auto& last : sent_) {
        for (Sent& sent : last) sent.arrival = sent.arrival + rate * (times - single);
      }
    }
  }

  CostTerms latest() const {
    return *std::max_element(now_.begin(), now_.end(), [](const CostTerms& a, const CostTerms& b) {
      return a.sum() < b.sum();
    });
  }

 private:
  static constexpr std::int64_t most_edges = 4'000'000;

  bool receives_one_each(const std::vector<CostEdge>& edges) {
    std::vector<bool> receives(now_.size(), false);
    for (const CostEdge& edge : edges) {
      if (receives[edge.to]) return false;
      receives[edge.to] = true;
    }
    return true;
  }

  void step(const std::vector<CostEdge>& edges) {
    next_ = now_;
    for (const CostEdge& edge : edges) {
      Sent& sent = sent_[edge.from][static_cast<std::size_t>(edge.to) % 4];
      CostTerms begin = now_[edge.from] + CostTerms{edge.cost.latency, 0, 0};
      if (sent.to == edge.to && sent.arrival.sum() > begin.sum()) begin = sent.arrival;
      sent = {edge.to, begin + CostTerms{0, edge.cost.bandwidth, 0}};
      const CostTerms arrival = sent.arrival + CostTerms{0, 0, edge.cost.reduction};
      if (arrival.sum() > next_[edge.to].sum()) next_[edge.to] = arrival;
    }
    now_.swap(next_);
  }

  // Where every rank waits for one sender at most, ranks forward what they received, so that
  // messages rarely catch up with those before them; and many rounds are a path of senders, whose
  // cost doubling adds up.
  void leap(const std::vector<CostEdge>& edges, int times) {
    if (times == 0) return;
    struct Jump {
      Rank from;
      CostTerms cost;
    };
    std::vector<Jump> jumps(now_.size());
    for (std::size_t r = 0; r < jumps.size(); ++r) jumps[r] = {static_cast<Rank>(r), {}};
    for (const CostEdge& edge : edges) jumps[edge.to] = {edge.from, edge.cost};
    std::vector<Jump> twice(jumps.size());
    for (;; times /= 2) {
      if (times % 2 == 1) {
        next_ = now_;
        for (std::size_t r = 0; r < jumps.size(); ++r) {
          const CostTerms arrival = now_[jumps[r].from] + jumps[r].cost;
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
    CostTerms arrival;
  };

  std::vector<CostTerms> now_;
  std::vector<CostTerms> next_;
  std::vector<std::array<Sent, 4>> sent_;
};

using Ladder = std::vector<const Protocol*>;  // null: none

const Protocol* find_protocol(const Machine& machine, const std::string& name) {
  if (name.empty()) return nullptr;
  for (const Protocol& protocol : machine.costs.protocols) {
    if (protocol.name == name) return &protocol;
  }
  throw InvalidArgument(fmt::format("{} has no protocol '{}'", machine.topology.name(), name));
}

std::vector<Prediction> predict_each(const CostSetting& setting, const Ladder& protocols,
                                     RoundSpace* space) {
  std::vector<Clocks> clocks(protocols.size(), Clocks(setting.positions()));
  // What passes at least before any link carries bytes.
  std::vector<double> first_bytes(protocols.size(), std::numeric_limits<double>::infinity());
  std::vector<CostEdge> own_edges;
  std::vector<CostEdge>& edges = space != nullptr ? space->edges : own_edges;
  std::int64_t messages = 0;
  const Costs& costs = setting.machine.costs;
  const bool has_gaps = std::any_of(protocols.begin(), protocols.end(), [&](const Protocol* each) {
    return has_message_gaps(costs, each);
  });
  const auto [link, busy] =
      for_each_round(setting, space, [&](std::size_t i, const RoundTraffic& traffic) {
        const int times = setting.times(i);
        messages += times * static_cast<std::int64_t>(traffic.size());
        const RoundMessages counted =
            has_gaps ? count_messages(traffic, setting.positions()) : RoundMessages{};
        for (std::size_t k = 0; k < protocols.size(); ++k) {
          price(traffic, counted, costs, protocols[k], edges);
          clocks[k].pass(edges, times);
          for (const CostEdge& edge : edges) {
            first_bytes[k] = std::min(first_bytes[k], edge.cost.latency);
          }
        }
      });
  std::vector<Prediction> predictions;
  for (std::size_t k = 0; k < protocols.size(); ++k) {
    const CostTerms last = clocks[k].latest();
    const double on_wire = busy * message_cost(costs, protocols[k], 0, 0).wire_factor;
    const double least = on_wire > 0 ? first_bytes[k] + on_wire : 0;
    Prediction sum;
    sum.latency = Seconds{last.latency};
    sum.bandwidth = Seconds{last.bandwidth + std::max(0.0, least - last.sum())};
    sum.reduction = Seconds{last.reduction};
    sum.overhead = costs.per_collective;
    sum.bottleneck = link;
    sum.at_bottleneck = Seconds{on_wire};
    sum.messages = messages;
    predictions.push_back(sum);
  }
  return predictions;
}

}  // namespace

Prediction predict(const Schedule& schedule, const Machine& machine,
                   std::span<const Host> placement, const VectorSpec& workload) {
  const Protocol* protocol = find_protocol(machine, workload.protocol);
  return predict_each({schedule, machine, placement, workload}, {protocol}, nullptr).front();
}

std::vector<Prediction> predict_ladder(const Schedule& schedule, const Machine& machine,
                                       std::span<const Host> placement, const VectorSpec& workload,
                                       RoundSpace* space) {
  Ladder ladder;
  for (const Protocol& protocol : machine.costs.protocols) ladder.push_back(&protocol);
  if (ladder.empty()) ladder.push_back(nullptr);
  return predict_each({schedule, machine, placement, workload}, ladder, space);
}

std::size_t fastest_rung(std::span<const Prediction> ladder) {
  const auto least = std::ranges::min_element(ladder, {}, &Prediction::time);
  return static_cast<std::size_t>(least - ladder.begin());
}

Prediction predict_in_network(const Machine& machine, int ranks, Bytes size, TypedOp what) {
  const std::string& name = machine.topology.name();
  require(machine.costs.in_network.has_value(), fmt::format("{} has no switches that add", name));
  const InNetwork& adding = *machine.costs.in_network;
  require(adding.max_ranks == 0 || ranks <= adding.max_ranks,
          fmt::format("{} of {} adds for at most {} ranks, not {}", adding.name, name,
                      adding.max_ranks, ranks));
  const int seats = seats_of_node(machine.topology.layout());
  require(!adding.is_inside_node() || seats == 0 || ranks <= seats,
          fmt::format("{} adds inside a node only; one of {} has {}", adding.name, name,
                      counted(seats, "rank")));
  require(adding.adds(what), fmt::format("{} has no {}", adding.name, to_string(what)));
  Prediction sum;
  sum.latency = adding.latency;
  sum.bandwidth = size / adding.rate_of(ranks);
  sum.overhead = machine.costs.per_collective;
  return sum;
}

}  // namespace collbench
