#include "training/buckets.h"

#include <limits>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {

BucketRule parse_bucket_rule(const std::string& text) {
  using namespace literals;
  constexpr Bytes unlimited{std::numeric_limits<std::int64_t>::max()};
  constexpr std::string_view packs = "tf:";
  if (text == "ddp") return {1_MiB, 25_MiB};
  if (text == "one" || text == "tf") return {unlimited, unlimited};
  if (text == "tensor") return {1_B, 1_B};
  try {
    if (text.starts_with(packs)) {
      const Bytes limit = parse_size(text.substr(packs.size()));
      require(limit.count >= 0, "a pack cannot hold less than nothing");
      return limit.count == 0 ? BucketRule{unlimited, unlimited}
                              : BucketRule{limit + 1_B, limit + 1_B};
    }
    const Bytes limit = parse_size(text);
    require(limit.count > 0, "a bucket holds at least 1 byte");
    return {limit, limit};
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format(
        "buckets are auto, ddp, ddp-initial, tf, tf:SIZE, one, tensor or a size, not '{}': {}",
        text, error.what()));
  }
}

std::vector<Bucket> make_buckets(std::span<const Tensor> tensors, int element_bytes,
                                 const BucketRule& rule) {
  std::vector<Bucket> buckets;
  bool open = false;
  for (const Tensor& tensor : tensors) {
    if (!open) buckets.push_back({tensor.first, 0});
    buckets.back().count += tensor.count;
    const Bytes limit = buckets.size() == 1 ? rule.first : rule.rest;
    open = buckets.back().count * element_bytes < limit.count;
  }
  return buckets;
}

}  // namespace collbench
