#include "topologies/machine.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/random.h"

namespace collbench {
namespace {

template <typename T>
T at_level(const std::vector<T>& values, int level, T none) {
  if (values.empty()) return none;
  return values[std::min(static_cast<std::size_t>(level), values.size() - 1)];
}

}  // namespace

MessageCost message_cost(const Costs& costs, const Protocol* protocol, double bytes, int level) {
  MessageCost cost{.wire_factor = costs.wire_factor, .cap = costs.message_cap.bytes_per_second};
  for (const LatencyStep& step : costs.message_latency) {
    if (bytes >= static_cast<double>(step.from_bytes.count)) cost.latency = step.latency;
  }
  if (protocol != nullptr) {
    cost.latency += at_level(protocol->message_latency, level, Seconds{0});
    cost.wire_factor *= protocol->wire_factor;
    const double cap = at_level(protocol->message_cap, level, Bandwidth{0}).bytes_per_second;
    if (cap > 0 && (cost.cap == 0 || cap < cost.cap)) cost.cap = cap;
  }
  return cost;
}

Bandwidth InNetwork::rate_of(int ranks) const {
  if (max_ranks < 2 || ranks < 2) return rate;
  const auto others_share = [](double n) { return (n - 1) / n; };
  return {rate.bytes_per_second * others_share(max_ranks) / others_share(ranks)};
}

bool InNetwork::adds(TypedOp what) const {
  if (what.op == ReduceOp::avg) what.op = ReduceOp::sum;
  return name == "nvls" ? nvls_adds(what) : name != "sharp" || sharp_adds(what);
}

bool InNetwork::is_inside_node() const { return name == "nvls"; }

// Source: NVIDIA NCCL 2.28.9, src/include/device.h:544, ncclNvlsSupported().
bool nvls_adds(TypedOp what) {
  if (what.type == DataType::u8) return false;
  const bool is_wide_float = what.type == DataType::f32 || what.type == DataType::f64;
  const bool is_extreme = what.op == ReduceOp::min || what.op == ReduceOp::max;
  return what.op == ReduceOp::sum || (is_extreme && !is_wide_float);
}

// Source: Mellanox/nccl-rdma-sharp-plugins 2f5ac02, src/sharp_plugin.c, opConvert(); NVIDIA NCCL
// 2.28.9, src/enqueue.cc:1757, asks for a sum where it averages.
bool sharp_adds(TypedOp what) { return what.op != ReduceOp::prod; }

bool has_message_gaps(const Costs& costs, const Protocol* protocol) {
  return !costs.message_gap.empty() || (protocol != nullptr && !protocol->message_gap.empty());
}

Seconds MessageGaps::beyond_one(const Costs& costs, const Protocol* protocol) const {
  Seconds sum{0};
  Seconds largest{0};
  for (std::size_t level = 0; level < levels; ++level) {
    if (messages_[level] == 0) continue;
    Seconds gap = at_level(costs.message_gap, static_cast<int>(level), Seconds{0});
    if (protocol != nullptr) {
      gap += at_level(protocol->message_gap, static_cast<int>(level), Seconds{0});
    }
    sum += messages_[level] * gap;
    largest = std::max(largest, gap);
  }
  return sum - largest;
}

std::vector<std::string> names_of_costs(const Costs& costs) {
  std::vector<std::string> names;
  if (!costs.message_latency.empty()) names.emplace_back("message_latency");
  for (const CostKey& key : cost_keys) {
    const auto is_given = [&](auto member) { return costs.*member != Costs{}.*member; };
    if (std::visit(is_given, key.member)) names.emplace_back(key.name);
  }
  if (!costs.message_gap.empty()) names.emplace_back("message_gap");
  for (const Protocol& protocol : costs.protocols) names.push_back("protocol " + protocol.name);
  if (costs.gpus) names.emplace_back("gpus");
  if (costs.in_network) names.push_back("in_network " + costs.in_network->name);
  return names;
}

std::vector<Seconds> start_times(const Disturbance& disturbance, int ranks) {
  require(disturbance.jitter.count() >= 0 && std::isfinite(disturbance.jitter.count()),
          fmt::format("the jitter of starts must be at least 0 s, not {} s",
                      disturbance.jitter.count()));
  std::vector<Seconds> starts(static_cast<std::size_t>(ranks), Seconds{0});
  if (disturbance.jitter.count() > 0) {
    RandomEngine random = random_engine(disturbance.seed, "start times");
    for (Seconds& start : starts) {
      // 53 random bits as a number in [0, 1), alike on every machine.
      const double uniform = static_cast<double>(random() >> 11) * 0x1p-53;
      start = -std::log1p(-uniform) * disturbance.jitter;
    }
  }
  for (const auto& [rank, delay] : disturbance.stragglers) {
    require(rank >= 0 && rank < ranks,
            fmt::format("straggler {} does not exist; ranks are 0 to {}", rank, ranks - 1));
    require(delay.count() >= 0 && std::isfinite(delay.count()),
            fmt::format("straggler {}: the delay must not be negative, nor infinite", rank));
    starts[static_cast<std::size_t>(rank)] += delay;
  }
  return starts;
}

}  // namespace collbench
