#include "training/bucket_plan.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

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
  double cost(std::size_t begin, std::size_t end) const {
    return costs_[end * (end - 1) / 2 + begin];
  }

  std::vector<Bucket> plan_any_number() const {
    std::vector<double> ends(size_ + 1, std::numeric_limits<double>::infinity());
    std::vector<std::size_t> from(size_ + 1, 0);
    ends[0] = 0;
    for (std::size_t end = 1; end <= size_; ++end) {
      for (std::size_t begin = 0; begin < end; ++begin) {
        const double finish =
            std::max(ends[begin], timing_.ready[end - 1].count()) + cost(begin, end);
        if (finish < ends[end]) {
          ends[end] = finish;
          from[end] = begin;
        }
      }
    }
    std::vector<Bucket> buckets;
    for (std::size_t end = size_; end > 0; end = from[end]) {
      buckets.push_back(bucket_of(from[end], end));
    }
    std::reverse(buckets.begin(), buckets.end());
    return buckets;
  }

  std::vector<Bucket> plan_by_number() const {
    constexpr double never = std::numeric_limits<double>::infinity();
    std::vector<double> before(size_ + 1, never);
    before[0] = 0;
    std::vector<std::vector<std::uint16_t>> from;  // by number of buckets, then end
    double best = never;
    std::size_t best_number = 0;
    for (std::size_t number = 1; number <= size_; ++number) {
      const double delay = timing_.launch.count() * static_cast<double>(number);
      std::vector<double> now(size_ + 1, never);
      std::vector<std::uint16_t>& choice = from.emplace_back(size_ + 1, std::uint16_t{0});
      for (std::size_t end = number; end <= size_; ++end) {
        const double ready = timing_.ready[end - 1].count() + delay;
        for (std::size_t begin = number - 1; begin < end; ++begin) {
          const double finish = std::max(before[begin], ready) + cost(begin, end);
          if (finish < now[end]) {
            now[end] = finish;
            choice[end] = static_cast<std::uint16_t>(begin);
          }
        }
      }
      if (now[size_] < best) {
        best = now[size_];
        best_number = number;
      }
      before = std::move(now);
    }
    std::vector<Bucket> buckets;
    std::size_t end = size_;
    for (std::size_t number = best_number; number > 0; --number) {
      const std::size_t begin = from[number - 1][end];
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
