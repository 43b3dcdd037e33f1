#include "training/bucket_plan.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

/// A bucket closes with the tensor that brings it to its limit, and so may exceed it.
struct BucketRule {
  Bytes first;  // limit of the first bucket, which is the earliest to start
  Bytes rest;
};

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

/// DDP's first assignment: from the front of the model, which is the end of the flat vector.
std::vector<Bucket> ddp_initial(std::span<const Tensor> tensors, int element_bytes) {
  std::vector<Tensor> reversed(tensors.rbegin(), tensors.rend());
  std::vector<Bucket> buckets = make_buckets(reversed, element_bytes, parse_bucket_rule("ddp"));
  std::reverse(buckets.begin(), buckets.end());
  std::int64_t first = tensors.front().first;
  for (Bucket& bucket : buckets) {
    bucket.first = first;
    first += bucket.count;
  }
  return buckets;
}

class Planner {
 public:
  Planner(std::span<const Tensor> tensors, int element_bytes, const BucketTiming& timing)
      : tensors_(tensors), timing_(timing), size_(tensors.size()) {
    assert(timing.ready.size() == size_);
    costs_.reserve(size_ * (size_ + 1) / 2);
    for (std::size_t end = 1; end <= size_; ++end) {
      std::int64_t bytes = 0;
      const std::size_t row = costs_.size();
      costs_.resize(row + end);
      for (std::size_t begin = end; begin-- > 0;) {
        bytes += tensors[begin].count * element_bytes;
        costs_[row + begin] = timing.cost(Bytes{bytes}).count();
      }
    }
  }

  std::vector<Bucket> plan() {
    // Where launches delay nothing, the number of buckets does not matter: one row is enough.
    return timing_.launch.count() > 0 ? plan_by_number() : plan_any_number();
  }

 private:
  /// The earliest end over tensors 0..end-1, and where the last bucket begins then.
  struct Row {
    explicit Row(std::size_t size)
        : ends(size + 1, std::numeric_limits<double>::infinity()), from(size + 1, 0) {}
    std::vector<double> ends;
    std::vector<std::uint16_t> from;
  };

  double cost(std::size_t begin, std::size_t end) const {
    return costs_[end * (end - 1) / 2 + begin];
  }

  /// Adds a bucket behind those of `before`, of which there are at least `least`; the row itself
  /// where their number does not matter.
  void add_bucket(const Row& before, std::size_t least, double delay, Row& row) const {
    for (std::size_t end = least + 1; end <= size_; ++end) {
      const double ready = timing_.ready[end - 1].count() + delay;
      for (std::size_t begin = least; begin < end; ++begin) {
        const double finish = std::max(before.ends[begin], ready) + cost(begin, end);
        if (finish < row.ends[end]) {
          row.ends[end] = finish;
          row.from[end] = static_cast<std::uint16_t>(begin);
        }
      }
    }
  }

  std::vector<Bucket> plan_any_number() const {
    Row row(size_);
    row.ends[0] = 0;
    add_bucket(row, 0, 0, row);
    std::vector<Bucket> buckets;
    for (std::size_t end = size_; end > 0; end = row.from[end]) {
      buckets.push_back(bucket_of(row.from[end], end));
    }
    std::reverse(buckets.begin(), buckets.end());
    return buckets;
  }

  std::vector<Bucket> plan_by_number() const {
    std::vector<Row> rows(1, Row(size_));  // by the number of buckets
    rows[0].ends[0] = 0;
    std::size_t best = 0;
    double best_end = std::numeric_limits<double>::infinity();
    for (std::size_t number = 1; number <= size_; ++number) {
      Row row(size_);
      add_bucket(rows.back(), number - 1, timing_.launch.count() * static_cast<double>(number),
                 row);
      if (row.ends[size_] < best_end) {
        best = number;
        best_end = row.ends[size_];
      }
      rows.back().ends = {};  // only where buckets begin is needed any more
      rows.push_back(std::move(row));
    }
    std::vector<Bucket> buckets;
    std::size_t end = size_;
    for (; best > 0; --best) {
      const std::size_t begin = rows[best].from[end];
      buckets.push_back(bucket_of(begin, end));
      end = begin;
    }
    std::reverse(buckets.begin(), buckets.end());
    return buckets;
  }

  Bucket bucket_of(std::size_t begin, std::size_t end) const {
    const Tensor& last = tensors_[end - 1];
    return {tensors_[begin].first, last.first + last.count - tensors_[begin].first};
  }

  std::span<const Tensor> tensors_;
  const BucketTiming& timing_;
  std::size_t size_;
  std::vector<double> costs_;  // of tensors begin..end-1, by end, then begin
};

}  // namespace

void check_bucket_plan(const std::string& rule, std::size_t tensors) {
  if (rule != "auto" && rule != "ddp-initial") parse_bucket_rule(rule);
  require(rule != "auto" || tensors <= most_planned_tensors,
          fmt::format("buckets auto plans at most {} tensors, not {}; use ddp or a size",
                      most_planned_tensors, tensors));
}

std::vector<Bucket> plan_buckets(const std::string& rule, std::span<const Tensor> tensors,
                                 int element_bytes, const BucketTiming& timing) {
  check_bucket_plan(rule, tensors.size());
  if (tensors.empty()) return {};
  if (rule == "auto") return Planner(tensors, element_bytes, timing).plan();
  if (rule == "ddp-initial") return ddp_initial(tensors, element_bytes);
  return make_buckets(tensors, element_bytes, parse_bucket_rule(rule));
}

}  // namespace collbench
