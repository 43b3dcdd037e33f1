#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_models.h"

#include "core/error.h"
#include "training/bucket_plan.h"

namespace collbench {
namespace {

std::vector<std::int64_t> bytes_of(const std::string& rule, const Model& model) {
  std::vector<std::int64_t> bytes;
  std::int64_t next = 0;
  for (const Bucket& bucket : plan_buckets(rule, tensors_of(model), 4, {})) {
    EXPECT_EQ(bucket.first, next);
    next += bucket.count;
    bytes.push_back(4 * bucket.count);
  }
  EXPECT_EQ(next, parameters_of(model));
  return bytes;
}

TEST(BucketsTest, TheDefaultRuleGivesPyTorchsBucketsForTheTutorialsModel) {
  EXPECT_THAT(bytes_of("ddp", make_model("mnist-cnn")), testing::ElementsAre(1'985'320, 75'264));
}

TEST(BucketsTest, ABucketClosesWithTheTensorThatReachesTheLimit) {
  const Model model = every_layer();  // tensors of 12, 228, 76, 2280, 20 and 360 bytes
  EXPECT_THAT(bytes_of("240", model), testing::ElementsAre(240, 2356, 380));
  EXPECT_THAT(bytes_of("241", model), testing::ElementsAre(316, 2280, 380));
  EXPECT_EQ(bytes_of("one", model).size(), 1U);
  EXPECT_EQ(bytes_of("tensor", model).size(), 6U);
}

TEST(BucketsTest, PacksOfTensorFlowCloseOnceTheyExceedTheirSize) {
  const Model model = every_layer();
  EXPECT_THAT(bytes_of("tf:239", model), testing::ElementsAre(240, 2356, 380));
  EXPECT_THAT(bytes_of("tf:240", model), testing::ElementsAre(316, 2280, 380));
  EXPECT_EQ(bytes_of("tf", model).size(), 1U);
  EXPECT_EQ(bytes_of("tf:0", model).size(), 1U);
}

TEST(BucketsTest, RefusesWhatIsNoRule) {
  for (const char* text : {"dpp", "0", "-1", "", "tf:", "tf:x", "tf:-1"}) {
    EXPECT_THAT([&] { check_bucket_plan(text, 1); },
                testing::ThrowsMessage<InvalidArgument>(
                    testing::HasSubstr("buckets are auto, ddp, ddp-initial, tf, tf:SIZE,")))
        << text;
  }
}

}  // namespace
}  // namespace collbench
