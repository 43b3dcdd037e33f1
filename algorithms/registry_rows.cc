#include "algorithms/registry_rows.h"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "algorithms/allreduce.h"
#include "algorithms/channels.h"
#include "algorithms/combinators.h"
#include "algorithms/options.h"
#include "algorithms/tree.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr int most_segments = 4096;
constexpr std::array<std::string_view, 2> distance_orders{"near", "far"};
constexpr std::array<std::string_view, 2> share_names{"equal", "balanced"};
constexpr std::array<std::string_view, 5> phase_names{"ring", "bidirectional", "pincer",
                                                      "circulant", "direct"};
constexpr std::array<Phases (*)(int), 5> phase_makers{
    ring_phases, bidirectional_phases, pincer_phases, circulant_phases, direct_phases};

constexpr AlgorithmOption grid_option{
    "dims", "auto",
    "powers of two: axes of a grid, taken in turn, fastest first; auto is one axis"};
constexpr AlgorithmOption streams_option{
    "streams", "1", "on dims, at once, each on its share and starting on another axis"};

bool has_grid(const AlgorithmSpec& spec) {
  const auto dims = spec.options.find("dims");
  if (dims != spec.options.end() && dims->second != "auto") return true;
  const auto streams = spec.options.find("streams");
  require(
      streams == spec.options.end() || streams->second == "1",
      fmt::format("{}: option streams needs dims, the axes that its streams start on", spec.name));
  return false;
}

std::vector<int> grid_of(const AlgorithmSpec& spec, int ranks) {
  require(std::has_single_bit(static_cast<unsigned>(ranks)),
          fmt::format("{}: with option dims the ranks must be a power of two, not {}", spec.name,
                      ranks));
  return dims_option(spec, "dims", ranks);
}

int segments_of(const AlgorithmSpec& spec) {
  return int_option(spec, "segments", 8, 1, most_segments);
}

AlgorithmInfo with_shares(AlgorithmInfo row) {
  row.has_shares = true;
  return row;
}

AlgorithmInfo with_root(AlgorithmInfo row,
                        RootedPhases (*make)(int ranks, const AlgorithmSpec& spec, Rank root)) {
  row.make_rooted = make;
  return row;
}

int tracks_of(const AlgorithmSpec& spec) { return int_option(spec, "streams", 1, 1, 64); }

constexpr AlgorithmOption channels_option{
    "channels", "1", "at once, on shares of the vector, each leaving the nodes by another rank"};
constexpr AlgorithmOption node_option{"node", "1", "ranks of a node, for channels"};

Channels channels_of(const AlgorithmSpec& spec, int ranks) {
  const Channels channels{int_option(spec, "channels", 1, 1, 64),
                          int_option(spec, "node", 1, 1, ranks)};
  require(ranks % channels.node == 0,
          fmt::format("{}: node must be a divisor of the ranks, {}, not {}", spec.name, ranks,
                      channels.node));
  require(channels.count <= channels.node,
          fmt::format("{}: channels must be at most the ranks of a node, node={}, not {}",
                      spec.name, channels.node, channels.count));
  return channels;
}

std::vector<Rank> tree_parents_of(const AlgorithmSpec& spec, int ranks, Rank root) {
  return flag_option(spec, "chain") ? chain_parents(ranks, root) : binary_tree_parents(ranks, root);
}

// Costs are formulas that the tests evaluate: n ranks, L = ceil(log2 n), p = the largest power of
// two that is at most n, S segments, and sums over the dims d. Bytes are multiples of the vector.
std::vector<AlgorithmInfo> simple_rows() {
  return {
      with_shares(
          {"ring",
           "Ring reduce-scatter and all-gather: bandwidth-optimal, latency linear in n",
           "any number of ranks",
           "rounds 2*(n-1); sent 2*(n-1)/n; reduced (n-1)/n",
           "Patarasuk, Yuan 2009; Baidu 2017",
           [](int n, const AlgorithmSpec& spec) {
             const bool both = flag_option(spec, "bidirectional");
             const bool pincer = flag_option(spec, "pincer");
             require(!both || !pincer, "ring: choose one of bidirectional and pincer");
             const RingVariant variant = both     ? RingVariant::bidirectional
                                         : pincer ? RingVariant::pincer
                                                  : RingVariant::one_way;
             const Schedule one =
                 ring(n, variant, int_option(spec, "segments", 1, 1, most_segments));
             const Channels channels = channels_of(spec, n);
             const std::vector<std::vector<Rank>> orders = orders_option(spec, "orders", n);
             require(orders.empty() || channels.count == 1,
                     "ring: choose one of orders and channels");
             if (!orders.empty()) return rings_in_orders(orders, one);
             return channels.count == 1 ? one : ring_channels(channels, one);
           },
           {{"segments", "1", "pieces each chunk is cut into, to overlap transfer and reduction"},
            {"bidirectional", "", "half of the data in each direction"},
            {"pincer", "", "shards gather from both sides: floor(n/2) rounds per phase"},
            channels_option,
            node_option,
            {"orders", "ranks",
             "rings at once on shares of the vector: 0-1-2-3+0-2-1-3, or wires: over the "
             "machine's"}}}),
      with_root({"tree",
                 "Binary tree: reduce to rank 0 and broadcast, in pipelined segments",
                 "any number of ranks",
                 "rounds 2*floor(log2(n))+S-1; sent <= 3; reduced <= 2",
                 "textbook; rank r is the child of (r-1)/2",
                 [](int n, const AlgorithmSpec& spec) {
                   return tree_all_reduce("tree", {tree_parents_of(spec, n, 0)}, segments_of(spec));
                 },
                 {{"segments", "8", "parts of the vector that follow each other through the tree"},
                  {"chain", "", "each rank below the one before it, for long trains"}}},
                [](int n, const AlgorithmSpec& spec, Rank root) {
                  return tree_phases("tree", tree_parents_of(spec, n, root), segments_of(spec));
                }),
      {"double-tree",
       "Two complementary binary trees, each for half of the vector, pipelined",
       "any number of ranks",
       "rounds <= 2*L+S+1; sent <= 2; reduced <= 1",
       "Sanders, Speck, Traeff 2009; the trees of NCCL 2.4",
       [](int n, const AlgorithmSpec& spec) {
         const int segments = segments_of(spec);
         const Channels channels = channels_of(spec, n);
         return channels.node == 1 ? double_tree(n, segments)
                                   : double_tree_channels(channels, n, segments);
       },
       {{"segments", "8", "parts of each half that follow each other through its tree"},
        channels_option,
        {"node", "1", "ranks of a node, below whose first rank the others hang in a chain"}}},
      {"recursive-doubling",
       "Partners exchange and add whole vectors: fewest rounds",
       "any number of ranks; folded unless a power of two",
       "rounds log2(p)+2*(n>p); sent log2(p)+(n>p); reduced log2(p)+(n>p)",
       "Thakur, Rabenseifner, Gropp 2005",
       [](int n, const AlgorithmSpec& spec) {
         if (!has_grid(spec)) return recursive_doubling(n);
         return recursive_doubling(grid_of(spec, n), tracks_of(spec));
       },
       {grid_option, streams_option}}};
}

std::vector<AlgorithmInfo> shard_rows() {
  return {
      with_shares({"halving-doubling",
                   "Recursive halving reduce-scatter, recursive doubling all-gather",
                   "any number of ranks; folded unless a power of two",
                   "rounds 2*log2(p)+2*(n>p); sent 2*(p-1)/p+(n>p); reduced (p-1)/p+(n>p)",
                   "Rabenseifner 2004",
                   [](int n, const AlgorithmSpec& spec) {
                     const DistanceOrder order = choice_option(spec, "order", distance_orders) == 0
                                                     ? DistanceOrder::near
                                                     : DistanceOrder::far;
                     if (!has_grid(spec)) return halving_doubling(n, order);
                     return halving_doubling(grid_of(spec, n), tracks_of(spec), order);
                   },
                   {{"order", "near", "near or far: distance of the first, largest exchange"},
                    grid_option,
                    streams_option}}),
      with_shares({"circulant",
                   "Reduce-scatter and all-gather on a circulant graph: both lower bounds, any n",
                   "any number of ranks", "rounds 2*L; sent 2*(n-1)/n; reduced (n-1)/n",
                   "Traeff 2024 (arXiv:2410.14234)",
                   [](int n, const AlgorithmSpec&) { return circulant(n); }}),
      with_shares(
          {"direct",
           "Two-shot: every rank sums one chunk, then copies it to all; one-shot up to 504 B",
           "any number of ranks", "rounds 2; sent 2*(n-1)/n; reduced (n-1)/n",
           "textbook; \"two-shot\" or \"all-pairs\" of GPU libraries; sums in rank order",
           [](int n, const AlgorithmSpec&) { return direct(n); }}),
      {"one-shot", "Every rank sends its vector to all others and adds in rank order",
       "any number of ranks", "rounds 1; sent n-1; reduced n-1",
       "textbook; \"one-shot\" of GPU libraries",
       [](int n, const AlgorithmSpec&) { return one_shot(n); }},
      with_shares(
          {"hierarchical",
           "Reduce-scatter level by level outwards, all-gather back: BlueConnect",
           "any number of ranks; dims must multiply to it",
           "rounds 2*sum(d-1); sent 2*(n-1)/n; reduced (n-1)/n",
           "Cho et al., BlueConnect, MLSys 2019",
           [](int n, const AlgorithmSpec& spec) {
             return hierarchical(dims_option(spec, "dims", n),
                                 phase_makers[choice_option(spec, "inner", phase_names)],
                                 phase_makers[choice_option(spec, "outer", phase_names)]);
           },
           {{"dims", "auto", "sizes of the levels, innermost first: 8x4; auto is nearly square"},
            {"inner", "ring",
             "phases of the lower levels: ring, bidirectional, pincer, circulant, direct"},
            {"outer", "ring", "phases of the top level, as for inner"}}})};
}

std::vector<AlgorithmInfo> grid_rows() {
  return {
      with_shares(
          {"torus",
           "Concurrent streams, one per axis of a torus, in both directions of every link",
           "any number of ranks; dims must multiply to it",
           "rounds 2*sum(d-1); sent 2*(n-1)/n; reduced (n-1)/n",
           "multi-stream bucket algorithm of TPU pods; Jain, Sabharwal 2010",
           [](int n, const AlgorithmSpec& spec) {
             const std::vector<int> dims = dims_option(spec, "dims", n);
             const bool balanced = choice_option(spec, "shares", share_names) == 1;
             return torus(dims, wrap_option(spec, "wrap", dims.size()), flag_option(spec, "pincer"),
                          balanced ? StreamShares::balanced : StreamShares::equal,
                          flag_option(spec, "concentrate"));
           },
           {{"dims", "auto", "sizes of the axes, fastest first: 4x4x2; auto is nearly square"},
            {"wrap", "auto", "per axis 1 or t (torus), 0 or m (mesh): 10 or tm; auto wraps all"},
            {"pincer", "",
             "shards gather from both sides: floor(d/2) rounds per wrapped axis and phase"},
            {"shares", "equal", "of the streams: equal, or balanced for axes of unequal length"},
            {"concentrate", "", "the first axis is the cores of a chip, which add up first"}}}),
      with_shares({"torus-2d",
                   "One stream: reduce-scatter along rows, all-reduce along columns, all-gather",
                   "any number of ranks; dims must multiply to it",
                   "rounds 2*sum(d-1); sent 2*(n-1)/n; reduced (n-1)/n",
                   "Mikami et al. (Sony) 2018; Ying et al. (Google) 2018",
                   [](int n, const AlgorithmSpec& spec) {
                     const std::vector<int> dims = dims_option(spec, "dims", n);
                     require(dims.size() == 2,
                             "torus-2d: option dims needs two sizes, as in 8x4, not " +
                                 std::to_string(dims.size()));
                     return torus_2d(dims[0], dims[1]);
                   },
                   {{"dims", "auto", "row length x column length: 8x4; auto is nearly square"}}}),
      with_shares({"swing",
                   "Recursive halving whose partners stay close on a ring or torus",
                   "a power of two of ranks",
                   "rounds 2*L; sent 2*(n-1)/n; reduced (n-1)/n",
                   "De Sensi et al., NSDI 2024",
                   [](int n, const AlgorithmSpec& spec) {
                     const bool latency = flag_option(spec, "latency");
                     if (!has_grid(spec)) return swing(n, latency);
                     return swing(grid_of(spec, n), tracks_of(spec), latency);
                   },
                   {{"latency", "", "whole vectors in log2 n rounds; ranks may differ in rounding"},
                    grid_option,
                    {"streams", "1",
                     "as for recursive-doubling; those beyond the number of axes mirrored"}},
                   "latency"})};
}

std::vector<AlgorithmInfo> tree_rows() {
  return {
      with_root(
          with_shares(
              {"bine",
               "Halving and doubling between partners at 1, 1, 3, 5, 11 ...: short ways, any n",
               "any number of ranks; folded if odd; broadcast and reduce: a power of two",
               "rounds 2*ceil(log2(2*floor(n/2)))+2*(n>2*floor(n/2)); "
               "sent 2*(2*floor(n/2)-1)/(2*floor(n/2))+(n>2*floor(n/2)); "
               "reduced (2*floor(n/2)-1)/(2*floor(n/2))+(n>2*floor(n/2))",
               "De Sensi et al., Bine trees, SC 2025",
               [](int n, const AlgorithmSpec& spec) { return bine(n, flag_option(spec, "small")); },
               {{"small", "", "whole vectors in log2 p rounds; ranks may differ in rounding"}},
               "small"}),
          [](int n, const AlgorithmSpec& spec, Rank root) {
            require(!flag_option(spec, "small"),
                    "bine: option small is of its all-reduce; a broadcast or reduce is whole "
                    "vectors along a tree anyway");
            return bine_tree_phases(n, root);
          }),
      with_shares({"pat",
                   "Shards along shifted binomial trees, far hops first",
                   "any number of ranks",
                   "rounds 2*L; sent 2*(n-1)/n; reduced (n-1)/n",
                   "NVIDIA NCCL 2.23, collectives.h; Jeaugey 2025 (arXiv:2506.20252)",
                   [](int n, const AlgorithmSpec& spec) {
                     const int most =
                         std::max(1, static_cast<int>(std::bit_ceil(static_cast<unsigned>(n))) / 2);
                     return pat(n, int_option(spec, "aggregation", most, 1, most));
                   },
                   {{"aggregation", "auto",
                     "shards that travel together, a power of two; auto is half of the "
                     "ranks, rounded up to one"}}})};
}

std::vector<AlgorithmInfo> collecting_rows() {
  return {
      with_root({"reduce-broadcast",
                 "One rank sums all vectors and copies the result to all",
                 "any number of ranks",
                 "rounds 2; sent n-1; reduced n-1",
                 "tf.distribute CentralStorageStrategy, ReductionToOneDevice",
                 [](int n, const AlgorithmSpec& spec) {
                   return reduce_broadcast(n, int_option(spec, "root", 0, 0, n - 1));
                 },
                 {{"root", "0", "the rank that sums"}}},
                [](int n, const AlgorithmSpec&, Rank root) { return flat_phases(n, root); }),
      with_root({"binomial",
                 "Reduction to one rank along a binomial tree and broadcast back along it",
                 "any number of ranks",
                 "rounds 2*L; sent <= L; reduced <= L",
                 "textbook; Thakur, Rabenseifner, Gropp 2005",
                 [](int n, const AlgorithmSpec& spec) {
                   const RootedPhases phases =
                       binomial_phases(n, int_option(spec, "root", 0, 0, n - 1));
                   return sequence("binomial", {phases.reduce, phases.broadcast});
                 },
                 {{"root", "0", "the rank that sums"}}},
                [](int n, const AlgorithmSpec&, Rank root) { return binomial_phases(n, root); }),
      {"parameter-server",
       "Some ranks each sum one shard and copy it to all, synchronously",
       "any number of ranks",
       "rounds 2; sent (n+k-2)/k; reduced (n-1)/k",
       "Li et al., OSDI 2014; BytePS, OSDI 2020 (co-located servers)",
       [](int n, const AlgorithmSpec& spec) {
         return parameter_server(n, int_option(spec, "servers", std::max(1, n / 2), 1, n));
       },
       {{"servers", "auto", "ranks k that own a shard; auto is half of them, at least 1"}}},
      {"hierarchical-copy",
       "Two halves of the ranks each collect on one, which exchange sums",
       "any number of ranks",
       "rounds 4; sent ceil(n/2); reduced floor(n/2)",
       "tf.distribute HierarchicalCopyAllReduce, repaired for odd n",
       [](int n, const AlgorithmSpec& spec) {
         return hierarchical_copy(n, int_option(spec, "packs", 1, 1, most_segments));
       },
       {{"packs", "1", "pieces of the vector that use different ranks as collecting points"}}},
      {"tf-ring",
       "TensorFlow's ring bit by bit: its chunk table and order of additions",
       "any number of ranks",
       "rounds 2*(n-1); sent 2*(n-1)/n; reduced (n-1)/n",
       "TensorFlow ring_reducer.cc, base_collective_executor.cc",
       [](int n, const AlgorithmSpec& spec) {
         return tf_ring(n, int_option(spec, "subdivs", 1, 1, most_segments));
       },
       {{"subdivs", "1", "subdivisions of each chunk (max_subdivs_per_device)"}}}};
}

}  // namespace

std::vector<AlgorithmInfo> registry_rows() {
  std::vector<AlgorithmInfo> all;
  for (const auto& group :
       {simple_rows(), shard_rows(), tree_rows(), grid_rows(), collecting_rows()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace collbench
