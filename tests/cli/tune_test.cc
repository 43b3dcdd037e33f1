// `collbench tune` as a user calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::string measured = COLLBENCH_SOURCE_DIR "/tests/bench/tuning/pico.csv";

class TuneTest : public testing::Test {
 protected:
  CommandOutcome tune(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "tune");
    return invoke(folder_, arguments);
  }
  RunFolder folder_;
};

TEST_F(TuneTest, ARaceOnATableLosesLessTheMoreItMayLookAt) {
  const CommandOutcome some = tune({"--offline", measured, "--share", "30%"});
  ASSERT_EQ(some.code, 0) << some.err;
  EXPECT_THAT(some.out, ContainsRegex("mare_nostrum OMPI 4.1.5 +108 +32 "));
  // With enough of it nothing is lost, against the table itself.
  EXPECT_THAT(tune({"--offline", measured, "--share", "90%"}).out,
              ContainsRegex("108 +[5-9][0-9] +0.0 % +0.0 %"));
}

TEST_F(TuneTest, WhatIsNotThereIsNamed) {
  const CommandOutcome other = tune({"--library", "mvapich"});
  EXPECT_EQ(other.code, 4);
  EXPECT_THAT(other.err, HasSubstr("mvapich"));
  EXPECT_EQ(tune({"--share", "15%"}).code, 2);
  EXPECT_EQ(tune({"--offline", "missing.csv"}).code, 4);
  folder_.write("other.csv", "a,b\n1,2\n");
  EXPECT_EQ(tune({"--offline", "other.csv"}).code, 2);
}

TEST_F(TuneTest, RulesForTheMpiAtHandAreFoundAndProven) {
  if (tune({"--library", "openmpi", "-W", "2", "-e", "4", "--budget", "1ms"}).code == 4) {
    GTEST_SKIP() << "this build has no Open MPI";
  }
  const CommandOutcome tuned = tune(
      {"--library", "openmpi", "-W", "2", "-b", "1K", "-e", "4K", "--budget", "4s", "-o", "rules"});
  EXPECT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.out, HasSubstr(" candidates at 2 points"));
  EXPECT_THAT(tuned.out, AnyOf(HasSubstr("dynamic_rules_filename=" + folder_.path() + "/rules"),
                               HasSubstr("which leave everything to the library")));
  EXPECT_THAT(folder_.read("rules"), Not(HasSubstr("NaN")));
}

TEST_F(TuneTest, WhatWasStoppedLeavesNoRules) {
  if (tune({"-W", "2", "-e", "4", "--budget", "1ms"}).code == 4) GTEST_SKIP() << "no Open MPI";
  folder_.write("rules", "before\n");
  const CommandOutcome stopped = invoke_program(
      folder_, "sh",
      {"-c", std::string(COLLBENCH_BINARY) +
                 " tune -W 2 --budget 60s -o rules & sleep 3; kill -TERM $!; wait $!"});
  EXPECT_EQ(stopped.code, 143) << stopped.err;
  EXPECT_EQ(folder_.read("rules"), "before\n");
}

TEST_F(TuneTest, WhatCannotBeTunedOrWrittenIsRefusedBeforeTheBudgetIsSpent) {
  const CommandOutcome short_one = tune({"-W", "2", "-e", "4", "--budget", "1ms", "-o", "rules"});
  if (short_one.code == 4) GTEST_SKIP() << "no Open MPI";
  EXPECT_THAT(short_one.out, Not(HasSubstr("nothing more would pay")));
  EXPECT_THAT(short_one.out, HasSubstr("rules written, which leave everything to the library"));
  const CommandOutcome ruled =
      invoke(folder_, {"tune", "-W", "2"}, {{"OMPI_MCA_coll_tuned_use_dynamic_rules", "1"}});
  EXPECT_EQ(ruled.code, 2);
  EXPECT_THAT(ruled.err, HasSubstr("OMPI_MCA_coll_tuned_use_dynamic_rules is set, so openmpi"));
  const CommandOutcome small = tune({"-b", "3"});
  EXPECT_EQ(small.code, 2);
  EXPECT_THAT(small.err, HasSubstr("less than one f32"));
  const CommandOutcome nowhere = tune({"-o", "nodir/x"});
  EXPECT_EQ(nowhere.code, 4);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot write 'nodir/x'"));
}

}  // namespace
}  // namespace collbench
