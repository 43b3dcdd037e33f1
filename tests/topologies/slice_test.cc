#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/routes.h"

#include "topologies/networks/networks.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<bool> wraps(const std::string& spec) { return machine(spec).topology.layout().wraps; }

TEST(SliceTest, AnAxisOfV5eAndV6eClosesOnlyWhenItIsSixteenLong) {
  for (const std::string tpu : {"tpu-v5e:", "tpu-v6e:"}) {
    EXPECT_THAT(wraps(tpu + "4x4"), ElementsAre(false, false));
    EXPECT_THAT(wraps(tpu + "8x16"), ElementsAre(false, true));
    EXPECT_THAT(wraps(tpu + "16x8"), ElementsAre(true, false));
    EXPECT_THAT(wraps(tpu + "16x16"), ElementsAre(true, true));
  }
}

TEST(SliceTest, WholeCubesOfV4V5pAndV7CloseOnAllAxesAndOthersOnNone) {
  EXPECT_THAT(wraps("tpu-v4:4x4x4"), Each(true));
  EXPECT_THAT(wraps("tpu-v4:4x4x8"), Each(true));
  EXPECT_THAT(wraps("tpu-v4:2x4x4"), Each(false));
  EXPECT_THAT(wraps("tpu-v5p:2x2x1"), Each(false));
  EXPECT_THAT(wraps("tpu-v5p:16x16x24"), Each(true));
  EXPECT_THAT(wraps("tpu-v7:4x4x4"), ElementsAre(false, true, true, true));  // chiplets first
}

TEST(SliceTest, V2AndV3CloseOnlyAsAWholePod) {
  EXPECT_THAT(wraps("tpu-v2:8x16"), Each(false));
  EXPECT_THAT(wraps("tpu-v2:16x16"), ElementsAre(false, true, true));
  EXPECT_THAT(wraps("tpu-v3:16x32"), Each(false));
  EXPECT_THAT(wraps("tpu-v3:32x32"), ElementsAre(false, true, true));
}

TEST(SliceTest, TwoCoresPerChipAreTwoHosts) {
  EXPECT_EQ(machine("tpu-v3:2x2").topology.hosts(), 8);
  EXPECT_EQ(machine("tpu-v7:2x2x1").topology.hosts(), 8);
  EXPECT_EQ(machine("tpu-v4:2x2x1").topology.hosts(), 4);
}

TEST(SliceTest, SlicesThatNoPodHasAreRefused) {
  const auto why = [](const std::string& spec) { return refusal([&] { machine(spec); }); };
  EXPECT_THAT(why("tpu-v5e:8x17"), HasSubstr("slice 8x17: an axis of the pod is 16 long"));
  EXPECT_THAT(why("tpu-v5e:4x4x4"), HasSubstr("wired along 2 axes"));
  EXPECT_THAT(why("tpu-v4:16x16x32"), HasSubstr("the largest slice has 4096 chips"));
  EXPECT_THAT(why("tpu-v2:4x32"), HasSubstr("does not fit into the pod of 16x16"));
}

}  // namespace
}  // namespace collbench
