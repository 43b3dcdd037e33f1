// Buckets: consecutive tensors of the flat gradient that are all-reduced in one call.
//
// A bucket may start as soon as its last tensor is ready. All ranks start the same buckets in the
// same order, because the order is that of the flat vector.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/units.h"
#include "training/model.h"

namespace collbench {

struct Bucket {
  std::int64_t first = 0;  // element of the flat vector
  std::int64_t count = 0;
};

/// A bucket closes with the tensor that brings it to its limit, and so may exceed it.
struct BucketRule {
  Bytes first;  // limit of the first bucket, which is the earliest to start
  Bytes rest;
};

/// "ddp" is PyTorch's 1 and 25 MiB, "one" a single bucket, "tensor" one for each tensor; a size is
/// the limit of every bucket. "tf:SIZE" are TensorFlow's packs, which close once they exceed SIZE;
/// "tf", its default, and "tf:0" have no limit. Throws InvalidArgument, listing the rules with
/// those of training/bucket_plan.h.
/// Sources: PyTorch, torch/csrc/distributed/c10d/reducer.hpp, kDefaultFirstBucketBytes and
/// kDefaultBucketBytesCap; TensorFlow, tensorflow/python/distribute/cross_device_utils.py,
/// group_by_size().
BucketRule parse_bucket_rule(const std::string& text);

/// `tensors` in flat order; together the buckets cover them all.
std::vector<Bucket> make_buckets(std::span<const Tensor> tensors, int element_bytes,
                                 const BucketRule& rule);

}  // namespace collbench
