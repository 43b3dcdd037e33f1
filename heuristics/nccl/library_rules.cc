#include "heuristics/nccl/library_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
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
/// Source: ROCm/rccl 0cbce2a7, tools/msccl-algorithms/allreduce-allpairs-8n-*.xml
/// (nchunksperloop 256 and 512, minBytes, maxBytes) and src/misc/msccl/msccl_lifecycle.cc:305-333.
constexpr PairsKernel pairs_kernels[] = {{65536, 256, NcclProtocol::ll, 4},
                                         {524287, 512, NcclProtocol::ll, 8},
                                         {16777216, 512, NcclProtocol::simple, 8}};
/// Bytes in place for which there is no file, *-simple.xml and *-simple_2.xml.
constexpr std::int64_t last_before_gap = 11534336;
constexpr std::int64_t last_of_gap = 14680064;

std::optional<SettledPlay> between_all_pairs(const NcclInputs& inputs, std::int64_t bytes,
                                             TypedOp what, bool in_place) {
  constexpr int ranks = 8;
  if (in_place && bytes > last_before_gap && bytes <= last_of_gap) return {};
  if (inputs.nodes != 1 || inputs.ranks != ranks || what.op == ReduceOp::avg) return {};
  for (const PairsKernel& kernel : pairs_kernels) {
    if (bytes > kernel.most) continue;
    if (bytes == 0 || bytes % (kernel.loop * size_of(what.type)) != 0) return {};
    return SettledPlay{NcclAlgorithm::all_pairs, kernel.protocol, kernel.channels};
  }
  return {};
}

struct Corner {
  double bytes;
  double ranks;
};
/// Those of a polygon of sizes and ranks, both as logarithms; what is on its edge is in it.
using Corners = std::vector<Corner>;
struct ChoiceRegion {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  Corners corners;
};

constexpr double most_bytes = 100.0 * (1 << 30);  // that regions reach
constexpr double most_ranks = 1 << 20;

/// Where the line from a through b leaves what regions reach.
Corner far_end(Corner a, Corner b) {
  const double slope = std::log(b.ranks / a.ranks) / std::log(b.bytes / a.bytes);
  const double ranks = b.ranks * std::pow(most_bytes / b.bytes, slope);
  if (ranks < most_ranks) return {most_bytes, ranks};
  return {b.bytes * std::pow(most_ranks / b.ranks, 1 / slope), most_ranks};
}

/// Those of three nodes on; of two with a common edge the first has it.
/// Source: aws/aws-ofi-nccl 2daf7d30, src/tuner/nccl_ofi_regions.cpp, all-reduce of 8 ranks a node.
std::span<const ChoiceRegion> regions_of_p5() {
  using enum NcclAlgorithm;
  using enum NcclProtocol;
  static const Corner nvls_end = far_end({8053063680, 160}, {9663676416, 192});
  static const Corners in_tree_ll128 = {
      {1, 16},           {31457280, 16},          {37748736, 32},   {117440512, 64},
      {301989888, 128},  {301989888, 256},        {335544320, 512}, {536870912, 1024},
      {402653184, 2048}, {402653184, most_ranks}, {1, most_ranks}};
  static const Corners in_ring_ll128 = {{31457280, 17},    {1073741824, 17},  {2147483648, 64},
                                        {2147483648, 128}, {1342177280, 160}, {2147483648, 256},
                                        {1074790400, 256}, {444596224, 160},  {301989888, 128},
                                        {117440512, 64},   {37748736, 32}};
  static const Corners in_nvls_tree = {
      {2147483648, 128}, {6442450944, 128},       {8053063680, 160}, {9663676416, 192},
      nvls_end,          {402653184, most_ranks}, {402653184, 2048}, {536870912, 1024},
      {335544320, 512},  {301989888, 256},        {310378496, 160},  {444596224, 160},
      {1074790400, 256}, {2684354560, 256},       {2147483648, 224}, {1342177280, 160}};
  static const Corners in_ring_simple = {{1073741824, 17},  {nvls_end.bytes, 17}, nvls_end,
                                         {9663676416, 192}, {8053063680, 160},    {2684354560, 64},
                                         {1610612736, 32}};
  static const std::vector<ChoiceRegion> regions = {{tree, ll128, in_tree_ll128},
                                                    {ring, ll128, in_ring_ll128},
                                                    {nvls_tree, simple, in_nvls_tree},
                                                    {ring, simple, in_ring_simple}};
  return regions;
}
std::span<const ChoiceRegion> regions_of_p5en() {
  using enum NcclAlgorithm;
  using enum NcclProtocol;
  static const Corner tree_end = far_end({129499136, 127}, {218103808, 1024});
  static const Corner nvls_end = far_end({7516192768, 256}, {17179869184, 448});
  static const Corners in_tree_ll = {{1, 16}, {196608, 16}, {196608, most_ranks}, {1, most_ranks}};
  static const Corners in_tree_ll128 = {{196608, most_ranks}, {196608, 16},      {13107200, 16},
                                        {129499136, 127},     {218103808, 1024}, tree_end};
  static const Corners in_ring_ll128 = {{129499136, 127}, {13107200, 16},  {29884416, 16},
                                        {293601280, 32},  {589299712, 64}, {549453824, 128}};
  static const Corners in_nvls_tree = {tree_end,          {218103808, 1024},  {129499136, 127},
                                       {549453824, 128},  {589299712, 64},    {293601280, 32},
                                       {29884416, 16},    {most_bytes, 16},   {509607936, 32},
                                       {7516192768, 256}, {17179869184, 448}, nvls_end};
  static const Corners in_ring_simple = {
      nvls_end, {17179869184, 448}, {7516192768, 256}, {509607936, 32}, {most_bytes, 16}};
  static const std::vector<ChoiceRegion> regions = {{tree, ll, in_tree_ll},
                                                    {tree, ll128, in_tree_ll128},
                                                    {ring, ll128, in_ring_ll128},
                                                    {nvls_tree, simple, in_nvls_tree},
                                                    {ring, simple, in_ring_simple}};
  return regions;
}
std::span<const ChoiceRegion> regions_of_p6() {
  using enum NcclAlgorithm;
  using enum NcclProtocol;
  static const Corner tree_end = far_end({96993280, 1024}, {106430464, 2048});
  static const Corner nvls_end = far_end({10737418240, 512}, {34359738368, 1500});
  static const Corners in_tree_ll = {{1, 16}, {393216, 16}, {393216, most_ranks}, {1, most_ranks}};
  static const Corners in_tree_ll128 = {
      {393216, most_ranks}, {393216, 16},    {4718592, 16},    {18350080, 32},    {40370176, 64},
      {57147392, 128},      {72876032, 256}, {96993280, 1024}, {106430464, 2048}, tree_end};
  static const Corners in_ring_ll128 = {
      {90701824, 128}, {50855936, 64}, {18350080, 32}, {133693440, 32}, {120061952, 64}};
  static const Corners in_nvls_tree = {
      tree_end,         {106430464, 2048},  {96993280, 1024},    {72876032, 256},  {57147392, 128},
      {40370176, 64},   {18350080, 32},     {50855936, 64},      {90701824, 128},  {120061952, 64},
      {133693440, 32},  {18350080, 32},     {4718592, 16},       {most_bytes, 16}, {435159040, 32},
      {1072693248, 64}, {10737418240, 512}, {34359738368, 1500}, nvls_end};
  static const Corners in_ring_simple = {
      nvls_end, {10737418240, 512}, {1072693248, 64}, {435159040, 32}, {most_bytes, 16}};
  static const std::vector<ChoiceRegion> regions = {{tree, ll, in_tree_ll},
                                                    {tree, ll128, in_tree_ll128},
                                                    {ring, ll128, in_ring_ll128},
                                                    {nvls_tree, simple, in_nvls_tree},
                                                    {ring, simple, in_ring_simple}};
  return regions;
}

/// By how many edges are at larger sizes: an odd number. Edges have their lower end, not their
/// upper one.
bool is_inside(const ChoiceRegion& region, Corner at) {
  constexpr double same = 1e-10;  // logarithms
  const double height = std::log(at.ranks);
  bool inside = false;
  Corner from = region.corners.back();
  for (const Corner& to : region.corners) {
    const auto [low, high] = std::minmax({std::log(from.ranks), std::log(to.ranks)});
    const auto [left, right] = std::minmax(from.bytes, to.bytes);
    const bool flat = high - low < same;
    const bool level = height >= low - same && height <= high + same;
    if (flat && level && at.bytes >= left && at.bytes <= right) return true;
    if (!flat && level) {
      const double share = (height - std::log(from.ranks)) / std::log(to.ranks / from.ranks);
      const double ahead =
          std::log(from.bytes / at.bytes) + share * std::log(to.bytes / from.bytes);
      if (std::abs(ahead) < same) return true;
      if (ahead > 0 && height >= low && height < high) inside = !inside;
    }
    from = to;
  }
  return inside;
}

std::optional<SettledPlay> in_region(std::span<const ChoiceRegion> regions, Corner at) {
  const auto found = std::ranges::find_if(
      regions, [&](const ChoiceRegion& region) { return is_inside(region, at); });
  if (found == regions.end()) return {};
  return SettledPlay{found->algorithm, found->protocol};
}

struct RuleRow {
  std::string_view generation;
  std::string_view network;
  std::span<const ChoiceRegion> (*regions)();
};
constexpr RuleRow rules[] = {{"hopper", "efa-v2", regions_of_p5},
                             {"hopper", "efa-v3", regions_of_p5en},
                             {"blackwell", "efa-v4", regions_of_p6}};

struct StatedLatency {
  std::string_view network;
  double us;
};
/// Source: aws/aws-ofi-nccl 2daf7d30, src/platform-aws.cpp, platform_data_map, the same since 1.7.
constexpr StatedLatency stated_latencies[] = {
    {"efa-v1", 75}, {"efa-v2", 75}, {"efa-v3", 35}, {"efa-v4", 35}};

}  // namespace

double stated_latency_us(const NcclInputs& inputs) {
  // p3dn's plugin states 150 us; NCCL 2.4, of which its times are, does not ask.
  if (inputs.hardware.gpu.name == "volta") return 0;
  for (const StatedLatency& row : stated_latencies) {
    if (row.network == inputs.hardware.network.name) return row.us;
  }
  return 0;
}

bool is_rccl(const NcclInputs& inputs) { return inputs.hardware.gpu.name == "mi300x"; }

std::optional<SettledPlay> settled_play(const NcclInputs& inputs, Bytes bytes, TypedOp what,
                                        bool in_place) {
  if (is_rccl(inputs)) return between_all_pairs(inputs, bytes.count, what, in_place);
  const NcclHardware& has = inputs.hardware;
  if (inputs.nodes <= 2 || inputs.ranks != 8 * inputs.nodes) return {};
  for (const RuleRow& rule : rules) {
    if (rule.generation != has.gpu.name || rule.network != has.network.name) continue;
    return in_region(rule.regions(), {std::max(1.0, static_cast<double>(bytes.count)),
                                      static_cast<double>(inputs.ranks)});
  }
  return {};
}

}  // namespace collbench
