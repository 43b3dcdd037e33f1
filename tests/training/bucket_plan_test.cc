#include "training/bucket_plan.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"
#include "training/workloads/workload.h"

namespace collbench {
namespace {

std::vector<Tensor> tensors_with(const std::vector<std::int64_t>& counts) {
  std::vector<Tensor> tensors;
  std::int64_t first = 0;
  for (const std::int64_t count : counts) {
    Tensor& tensor = tensors.emplace_back();
    tensor.first = first;
    tensor.count = count;
    first += count;
  }
  return tensors;
}

/// When the last all-reduce of a plan ends, since the backward pass began.
Seconds end_of_plan(std::span<const Bucket> buckets, std::span<const Tensor> tensors,
                    int element_bytes, const BucketTiming& timing) {
  Seconds end{0};
  std::size_t tensor = 0;
  int launched = 0;
  for (const Bucket& bucket : buckets) {
    while (tensors[tensor].first + tensors[tensor].count < bucket.first + bucket.count) ++tensor;
    const Seconds ready = timing.ready[tensor] + timing.launch * ++launched;
    end = std::max(end, ready) + timing.cost(Bytes{bucket.count * element_bytes});
  }
  return end;
}

std::vector<std::int64_t> counts_of(const std::vector<Bucket>& buckets) {
  std::vector<std::int64_t> counts;
  for (const Bucket& bucket : buckets) counts.push_back(bucket.count);
  return counts;
}

/// Buckets that end after tensor i where bit i of `cuts` is set, and at the end.
std::vector<Bucket> cut(const std::vector<Tensor>& tensors, unsigned cuts) {
  std::vector<Bucket> buckets{{0, 0}};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    buckets.back().count += tensors[i].count;
    if ((cuts >> i & 1U) != 0 && i + 1 < tensors.size()) {
      buckets.push_back({tensors[i + 1].first, 0});
    }
  }
  return buckets;
}

TEST(BucketPlanTest, AutoEqualsBruteForceUpToTwelveTensors) {
  RandomEngine random = random_engine(7, "plans");
  const auto draw = [&](double most) { return static_cast<double>(random() % 1000) / 1000 * most; };
  for (std::size_t size = 1; size <= 12; ++size) {
    for (int trial = 0; trial < 12; ++trial) {
      std::vector<std::int64_t> counts(size);
      for (std::int64_t& count : counts) count = 1 + static_cast<std::int64_t>(random() % 5000);
      const std::vector<Tensor> tensors = tensors_with(counts);
      BucketTiming timing;
      Seconds now{0};
      for (std::size_t i = 0; i < size; ++i) timing.ready.push_back(now += Seconds(draw(2e-3)));
      timing.launch = Seconds(trial % 3 == 0 ? 0 : draw(1e-3));
      const double latency = draw(3e-3);
      const double step = draw(2e-3);  // a cost that is neither convex nor concave in the size
      timing.cost = [=](Bytes bytes) {
        return Seconds(latency + 1e-7 * static_cast<double>(bytes.count) +
                       (bytes.count % 8192 > 4000 ? step : 0));
      };
      double best = 1e9;
      for (unsigned cuts = 0; cuts < 1U << (size - 1); ++cuts) {
        best = std::min(best, end_of_plan(cut(tensors, cuts), tensors, 4, timing).count());
      }
      const auto planned = plan_buckets("auto", tensors, 4, timing);
      EXPECT_NEAR(end_of_plan(planned, tensors, 4, timing).count(), best, 1e-15)
          << size << " tensors, trial " << trial;
    }
  }
}

TEST(BucketPlanTest, EveryRuleCoversAllTensorsInOrder) {
  const std::vector<Tensor> tensors = tensors_of(find_workload("resnet50"));
  BucketTiming timing;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    timing.ready.emplace_back(1e-4 * static_cast<double>(i));
  }
  timing.cost = [](Bytes bytes) {
    return Seconds(1e-5 + 1e-10 * static_cast<double>(bytes.count));
  };
  for (const char* rule :
       {"auto", "ddp", "ddp-initial", "tf", "tf:4M", "tf:0", "one", "tensor", "2M"}) {
    std::int64_t end = 0;
    for (const Bucket& bucket : plan_buckets(rule, tensors, 4, timing)) {
      EXPECT_EQ(bucket.first, end) << rule;
      EXPECT_GT(bucket.count, 0) << rule;
      end += bucket.count;
    }
    EXPECT_EQ(end, 25'557'032) << rule;
  }
}

TEST(BucketPlanTest, DdpPutsTheSmallBucketAtTheFrontOfTheModelUntilItRebuilds) {
  // In quarters of a MiB of f32, in the order of readiness.
  constexpr std::int64_t quarter = 1 << 16;
  const auto tensors =
      tensors_with({32 * quarter, 32 * quarter, 4 * quarter, 80 * quarter, quarter, 2 * quarter});
  using testing::ElementsAre;
  EXPECT_THAT(counts_of(plan_buckets("ddp-initial", tensors, 4, {})),
              ElementsAre(68 * quarter, 83 * quarter));
  EXPECT_THAT(counts_of(plan_buckets("ddp", tensors, 4, {})),
              ElementsAre(32 * quarter, 116 * quarter, 3 * quarter));
}

TEST(BucketPlanTest, PacksOfTensorFlowCloseOnceTheyExceedTheirSize) {
  const auto tensors = tensors_with({10, 10, 10, 30, 5});
  using testing::ElementsAre;
  EXPECT_THAT(counts_of(plan_buckets("tf:80", tensors, 4, {})), ElementsAre(30, 30, 5));
  EXPECT_THAT(counts_of(plan_buckets("80", tensors, 4, {})), ElementsAre(20, 40, 5));
  EXPECT_THAT(counts_of(plan_buckets("tf", tensors, 4, {})), ElementsAre(65));
}

TEST(BucketPlanTest, UnknownRulesAreRefusedWithTheList) {
  EXPECT_THAT(
      [] { check_bucket_plan("best", 1); },
      testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("auto, ddp, ddp-initial")));
  EXPECT_THROW(check_bucket_plan("tf:", 1), InvalidArgument);
  EXPECT_THROW(check_bucket_plan("auto", most_planned_tensors + 1), InvalidArgument);
}

}  // namespace
}  // namespace collbench
