#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "core/error.h"
#include "transports/nccl/settings.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string refusal_of_settings(const std::string& spec) {
  return refusal([&] { parse_nccl_settings(spec); });
}

TEST(NcclSettingsTest, AreReadFromASpec) {
  const NcclSettings settings =
      parse_nccl_settings("nccl:algo=ring:proto=ll128:channels=8:graph:register:parts=4");
  EXPECT_EQ(settings.description(),
            "ring, ll128, 8 channels, 4 calls in a group, CUDA graph, registered buffers");
  EXPECT_TRUE(settings.needs_own_process());
  EXPECT_THAT(settings.environment(),
              ElementsAre(Pair("NCCL_ALGO", "Ring"), Pair("NCCL_PROTO", "LL128")));
}

TEST(NcclSettingsTest, LeaveEverythingToNcclByDefault) {
  const NcclSettings settings = parse_nccl_settings("nccl");
  EXPECT_EQ(settings.description(), "");
  EXPECT_FALSE(settings.needs_own_process());
  EXPECT_THAT(settings.environment(), ElementsAre());
}

TEST(NcclSettingsTest, TakeABareAlgorithm) {
  EXPECT_THAT(parse_nccl_settings("nccl:nvls-tree").environment(),
              ElementsAre(Pair("NCCL_ALGO", "NVLSTree")));
}

TEST(NcclSettingsTest, RefuseWhatNcclDoesNotHave) {
  EXPECT_THAT(refusal_of_settings("nccl:algo=rinng"),
              HasSubstr("algo is not 'rinng'. Did you mean"));
  EXPECT_THAT(refusal_of_settings("nccl:proto=l128"), HasSubstr("ll128"));
  EXPECT_THAT(refusal_of_settings("nccl:grahp"), HasSubstr("no option 'grahp'. Did you mean"));
  EXPECT_THAT(refusal_of_settings("nccl:ring:algo=tree"), HasSubstr("names two algorithms"));
  EXPECT_THAT(refusal_of_settings("nccl:parts=0"), HasSubstr("from 1 to"));
}

TEST(SharedGpuTest, MakesEveryRankAHostOfItsOwn) {
  EXPECT_THAT(shared_gpu_environment(3),
              testing::Contains(Pair("NCCL_HOSTID", "collbench-rank-3")));
}

[[noreturn]] void tell_and_end() {
  ::setenv("NCCL_PROTO", "LL", 1);
  EXPECT_THROW(tell_nccl({{"NCCL_PROTO", "Simple"}}), InvalidArgument);  // the user's stays
  ::unsetenv("NCCL_PROTO");
  tell_nccl({{"NCCL_ALGO", "Tree"}});
  EXPECT_STREQ(std::getenv("NCCL_ALGO"), "Tree");
  tell_nccl({{"NCCL_ALGO", "Tree"}});
  EXPECT_THROW(tell_nccl({{"NCCL_ALGO", "Ring"}}), InvalidArgument);
  EXPECT_THROW(tell_nccl({}), InvalidArgument);
  std::_Exit(testing::Test::HasFailure() ? EXIT_FAILURE : EXIT_SUCCESS);
}

// What NCCL was told holds for the process, so this has one of its own.
TEST(TellNcclDeathTest, TellsAProcessOnceAndRefusesToTellOtherwise) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(tell_and_end(), testing::ExitedWithCode(EXIT_SUCCESS), "");
}

}  // namespace
}  // namespace collbench
