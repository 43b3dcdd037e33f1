#include "core/suggest.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace collbench {
namespace {

const std::vector<std::string> names{"ring", "tree", "direct", "one-shot", "swing"};

TEST(NearestNameTest, FindsNamesWithOneOrTwoSlips) {
  EXPECT_EQ(nearest_name("rnig", names), "ring");          // two neighbours swapped
  EXPECT_EQ(nearest_name("rng", names), "ring");           // one letter lost
  EXPECT_EQ(nearest_name("riing", names), "ring");         // one letter twice
  EXPECT_EQ(nearest_name("trea", names), "tree");          // one letter wrong
  EXPECT_EQ(nearest_name("oneshoot", names), "one-shot");  // two slips
}

TEST(NearestNameTest, ASwapOfNeighboursIsOneSlipNotTwo) {
  // Both are within two slips; the swap makes "abcd" nearer than the two replacements of "zzcd".
  EXPECT_EQ(nearest_name("bacd", {"zzcd", "abcd"}), "abcd");
}

TEST(NearestNameTest, PrefersTheNearerNameWhateverTheOrder) {
  EXPECT_EQ(nearest_name("swin", {"swing", "spin"}), "swing");
  EXPECT_EQ(nearest_name("swinx", {"spin", "swing"}), "swing");
}

TEST(NearestNameTest, GivesNothingWhenNoNameIsNear) {
  EXPECT_EQ(nearest_name("butterfly", names), "");
  EXPECT_EQ(nearest_name("rxyg2", names), "");  // three slips
  EXPECT_EQ(nearest_name("ring", {}), "");
}

TEST(NearestNameTest, DoesNotReplaceEveryLetterOfAShortName) {
  EXPECT_EQ(nearest_name("", {"a", "ab"}), "");
  EXPECT_EQ(nearest_name("x", {"y"}), "");
  EXPECT_EQ(nearest_name("xy", {"ab"}), "");
}

TEST(DidYouMeanTest, IsAnAppendableSentenceOrEmpty) {
  EXPECT_EQ(did_you_mean("rnig", names), " Did you mean 'ring'?");
  EXPECT_EQ(did_you_mean("butterfly", names), "");
}

}  // namespace
}  // namespace collbench
