#include "heuristics/nccl/library_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

namespace collbench {
namespace {

/// Sizes must fill whole loops of a kernel's chunks.
struct PairsKernel {
  std::int64_t most;  // bytes
  std::int64_t loop;  // elements
  NcclProtocol protocol;
  int channels;
};
/// Source: ROCm/rccl 0cbce2a7, tools/msccl-algorithms/allreduce-allpairs-8n-*-op.xml
/// (nchunksperloop 256 and 512, minBytes, maxBytes) and src/misc/msccl/msccl_lifecycle.cc:305-333.
constexpr PairsKernel pairs_kernels[] = {{65536, 256, NcclProtocol::ll, 4},
                                         {524287, 512, NcclProtocol::ll, 8},
                                         {16777216, 512, NcclProtocol::simple, 8}};

std::optional<SettledPlay> between_all_pairs(const NcclInputs& inputs, std::int64_t bytes,
                                             TypedOp what) {
  constexpr int ranks = 8;
  if (inputs.nodes != 1 || inputs.ranks != ranks || what.op == ReduceOp::avg) return {};
  for (const PairsKernel& kernel : pairs_kernels) {
    if (bytes > kernel.most) continue;
    if (bytes == 0 || bytes % (kernel.loop * size_of(what.type)) != 0) return {};
    return SettledPlay{NcclAlgorithm::all_pairs, kernel.protocol, kernel.channels};
  }
  return {};
}

struct Corner {
  double ranks;
  double bytes;
};
/// Taken up to a size that depends on the ranks, straight between corners in both logarithms; not
/// below the ranks of the first one, nor beyond those of the last unless that stays.
struct ChoiceRegion {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  std::vector<Corner> limit;
  bool stays = false;
};

/// Bytes; negative where the region has no such ranks.
double limit_of(const ChoiceRegion& region, double ranks) {
  const std::vector<Corner>& corners = region.limit;
  if (ranks < corners.front().ranks) return -1;
  if (ranks >= corners.back().ranks) {
    return ranks == corners.back().ranks || region.stays ? corners.back().bytes : -1;
  }
  const auto above = std::find_if(corners.begin(), corners.end(),
                                  [&](const Corner& corner) { return corner.ranks > ranks; });
  const Corner& low = *std::prev(above);
  const double share = std::log(ranks / low.ranks) / std::log(above->ranks / low.ranks);
  return low.bytes * std::pow(above->bytes / low.bytes, share);
}

constexpr double largest = 100.0 * (1 << 30);  // bytes that the regions reach

/// In the order of sizes. Islands beyond 128 ranks and gaps between regions are left out.
/// Source: aws/aws-ofi-nccl 2daf7d30, src/tuner/nccl_ofi_regions.cpp, all-reduce of 8 ranks a node.
std::span<const ChoiceRegion> regions_of_p5() {
  using enum NcclAlgorithm;
  using enum NcclProtocol;
  static const std::vector<ChoiceRegion> regions{
      {tree,
       ll128,
       {{16, 31457280},
        {32, 37748736},
        {64, 117440512},
        {128, 301989888},
        {256, 301989888},
        {512, 335544320},
        {1024, 536870912},
        {2048, 402653184}},
       true},
      {ring, ll128, {{17, 1073741824}, {64, 2147483648}, {128, 2147483648}, {160, 1342177280}}},
      {nvls_tree, simple, {{16, largest}}},
      {nvls_tree, simple, {{128, 6442450944}, {160, 8053063680}, {192, 9663676416}}, true},
      {ring, simple, {{17, largest}}, true}};
  return regions;
}
std::span<const ChoiceRegion> regions_of_p5en() {
  using enum NcclAlgorithm;
  using enum NcclProtocol;
  static const std::vector<ChoiceRegion> regions{
      {tree, ll, {{16, 196608}}, true},
      {tree, ll128, {{16, 13107200}, {127, 129499136}, {1024, 218103808}}, true},
      {ring, ll128, {{16, 29884416}, {32, 293601280}, {64, 589299712}, {128, 549453824}}},
      {nvls_tree,
       simple,
       {{16, largest}, {32, 509607936}, {256, 7516192768}, {448, 17179869184}},
       true},
      {ring, simple, {{16, largest}}, true}};
  return regions;
}
std::span<const ChoiceRegion> regions_of_p6() {
  using enum NcclAlgorithm;
  using enum NcclProtocol;
  static const std::vector<ChoiceRegion> regions{
      {tree, ll, {{16, 393216}}, true},
      {tree,
       ll128,
       {{16, 4718592},
        {32, 18350080},
        {64, 40370176},
        {128, 57147392},
        {256, 72876032},
        {1024, 96993280},
        {2048, 106430464}},
       true},
      {ring, ll128, {{32, 133693440}, {64, 120061952}, {128, 90701824}}},
      {nvls_tree,
       simple,
       {{16, largest}, {32, 435159040}, {64, 1072693248}, {512, 10737418240}, {1500, 34359738368}},
       true},
      {ring, simple, {{16, largest}}, true}};
  return regions;
}

std::optional<SettledPlay> in_region(std::span<const ChoiceRegion> regions, double ranks,
                                     double bytes) {
  for (const ChoiceRegion& region : regions) {
    if (bytes <= limit_of(region, ranks)) return SettledPlay{region.algorithm, region.protocol};
  }
  return {};
}

struct RuleRow {
  std::string_view generation;
  std::string_view network;
  std::span<const ChoiceRegion> (*regions)();
};
constexpr RuleRow rules[] = {{"hopper", "efa-v2", regions_of_p5},
                             {"hopper", "efa-v3", regions_of_p5en},
                             {"blackwell", "efa-v4", regions_of_p6}};

}  // namespace

bool is_rccl(const NcclInputs& inputs) { return inputs.hardware.gpu.name == "mi300x"; }

std::optional<SettledPlay> settled_play(const NcclInputs& inputs, Bytes bytes, TypedOp what) {
  if (is_rccl(inputs)) return between_all_pairs(inputs, bytes.count, what);
  const NcclHardware& has = inputs.hardware;
  if (inputs.nodes == 1 || inputs.ranks != 8 * inputs.nodes) return {};
  for (const RuleRow& rule : rules) {
    if (rule.generation != has.gpu.name || rule.network != has.network.name) continue;
    return in_region(rule.regions(), inputs.ranks, static_cast<double>(bytes.count));
  }
  return {};
}

}  // namespace collbench
