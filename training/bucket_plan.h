// Which tensors share an all-reduce: rules of PyTorch and TensorFlow, and the best plan.
//
//   ddp          PyTorch DDP: in the order of readiness, 1 MiB and then 25 MiB; a bucket closes
//                with the tensor that brings it to its limit
//   ddp-initial  the same limits in the order of the layers, as before DDP's first iteration: the
//                small bucket is that of the front, the last to start
//   tf[:SIZE]    TensorFlow's packs: in the order of readiness, closed when they exceed SIZE;
//                without SIZE, its default, all tensors are one
//   one, tensor  a single bucket; one for each tensor
//   SIZE         as ddp, with this limit for all
//   auto         the plan whose last all-reduce ends first, by exact dynamic programming
//
// Buckets run in order on one stream, each once its last tensor is ready. With r(j) the time when
// tensor j is ready, L what a launch delays computation by, and c(i, j) the cost of a bucket of
// tensors i+1..j, the earliest end of k buckets over the first j tensors is
//
//   end(k, j) = min over i of max(end(k-1, i), r(j) + k L) + c(i, j),
//
// because ending earlier never delays what follows.
// Sources: PyTorch, torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size(),
// and reducer.hpp, kDefaultFirstBucketBytes and kDefaultBucketBytesCap;
// TensorFlow, tensorflow/python/distribute/cross_device_utils.py, group_by_size().
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/units.h"
#include "training/model.h"

namespace collbench {

/// Consecutive tensors of the flat gradient that are all-reduced in one call. All ranks start the
/// same buckets in the same order, because the order is that of the flat vector.
struct Bucket {
  std::int64_t first = 0;  // element of the flat vector
  std::int64_t count = 0;
};

/// Time of one all-reduce of so many bytes per rank.
using AllReduceCost = std::function<Seconds(Bytes)>;

/// What `auto` rests on.
struct BucketTiming {
  std::vector<Seconds> ready;  // of each tensor since the backward pass began, ascending
  Seconds launch{0};           // a bucket delays the rest of the backward pass by this
  AllReduceCost cost;
};

/// Tensors that `auto` plans at most: its time grows with the cube of their number.
inline constexpr std::size_t most_planned_tensors = 2000;

/// Throws InvalidArgument, listing the rules, unless `rule` is one of them, and for auto with more
/// tensors than it plans.
void check_bucket_plan(const std::string& rule, std::size_t tensors);

/// The buckets of a rule for `tensors` in flat order; together they cover them all, in order.
/// `timing` is used by auto alone. Throws as check_bucket_plan() does.
std::vector<Bucket> plan_buckets(const std::string& rule, std::span<const Tensor> tensors,
                                 int element_bytes, const BucketTiming& timing);

}  // namespace collbench
