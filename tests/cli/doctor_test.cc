#include "cli/doctor.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace collbench {
namespace {

using testing::HasSubstr;

Finding finding(const Environment& environment, const std::string& what,
                const std::string& smt = "off") {
  const auto all = judge(environment, smt);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Finding& f) { return f.what == what; });
  return found == all.end() ? Finding{} : *found;
}

const Environment quiet = {{"cores", "8"},
                           {"load", "0.30 0.2 0.1"},
                           {"steal", "0.01 %"},
                           {"governor", "none"},
                           {"cgroup_quota", "none"},
                           {"thp", "madvise"},
                           {"build_flags", "RelWithDebInfo -O2"}};

Environment with(const std::string& key, const std::string& value) {
  Environment environment = quiet;
  environment[key] = value;
  return environment;
}

TEST(JudgeTest, FindsNothingToSayAboutAQuietMachine) {
  const std::vector<Finding> found = judge(quiet, "off");
  EXPECT_GE(found.size(), 6U);
  for (const Finding& one : found) {
    EXPECT_EQ(one.health, Health::good) << one.what;
    EXPECT_EQ(one.advice, "") << one.what;
  }
}

TEST(JudgeTest, AdvisesAgainstWhatDisturbsMeasurements) {
  EXPECT_EQ(finding(with("governor", "powersave"), "governor").health, Health::bad);
  EXPECT_EQ(finding(with("cgroup_quota", "1.5 cores"), "CPU quota").health, Health::bad);
  EXPECT_EQ(finding(with("load", "2.0 1 1"), "load").health, Health::note);
  EXPECT_EQ(finding(with("load", "9.5 1 1"), "load").health, Health::bad);
  EXPECT_EQ(finding(with("steal", "3.2 % since boot"), "steal").health, Health::note);
  EXPECT_EQ(finding(with("thp", "never"), "huge pages").health, Health::note);
  EXPECT_EQ(finding(with("build_flags", "Debug -g"), "build").health, Health::bad);
  EXPECT_EQ(finding(quiet, "SMT", "on").health, Health::note);
}

// doctor, diagnose and logs say the same of the same thing.
TEST(JudgeTest, NamesTheCauseOfWhatDisturbs) {
  EXPECT_STREQ(finding(with("governor", "powersave"), "governor").cause->name, "cpu_governor");
  EXPECT_STREQ(finding(with("cgroup_quota", "1.5 cores"), "CPU quota").cause->name, "cpu_quota");
  EXPECT_STREQ(finding(with("load", "2.0 1 1"), "load").cause->name, "cpu_busy");
  EXPECT_STREQ(finding(with("steal", "3.2 % since boot"), "steal").cause->name, "cpu_stolen");
  EXPECT_STREQ(finding(with("build_flags", "Debug -g"), "build").cause->name, "debug_build");
  EXPECT_EQ(finding(quiet, "SMT", "on").cause, nullptr);
}

TEST(JudgeGpusTest, FindsThrottlingAndMissingPeers) {
  GpuReport report;
  report.cuda.devices = {{"A", "9.0", Bytes{1}, "0000:1B:00.0", {1}},
                         {"A", "9.0", Bytes{1}, "0000:1C:00.0", {0}}};
  report.survey.gpus.resize(2);
  EXPECT_TRUE(judge_gpus(report).empty());
  report.survey.gpus[1].slowed_by = {"thermal"};
  report.cuda.devices[1].peers.clear();
  const std::vector<Finding> found = judge_gpus(report);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_STREQ(found[0].cause->name, "throttled");
  EXPECT_EQ(found[0].health, Health::bad);
  EXPECT_THAT(found[0].value, HasSubstr("thermal"));
  EXPECT_STREQ(found[1].cause->name, "host_staging");
}

TEST(DescribeGpusTest, ShowsEachDeviceWithItsPeers) {
  CudaDevices cuda;
  cuda.runtime = {13000};
  cuda.driver = {13010};
  cuda.devices = {{"Card A", "9.0", Bytes{std::int64_t{80} << 30}, "0000:1B:00.0", {1}},
                  {"Card B", "8.0", Bytes{std::int64_t{40} << 30}, "0000:1C:00.0", {}}};
  const std::string text =
      describe_gpus({cuda, {}, {"2.27.7", "/lib/libnccl.so.2", ""}, {"9.10.2", "/c.so", ""}});
  EXPECT_THAT(text, HasSubstr("gpu:0         Card A, compute capability 9.0, 80 GiB, 0000:1B:00.0; "
                              "reads peers: 1\n"));
  EXPECT_THAT(text, HasSubstr("0000:1C:00.0; reads peers: none\n"));
  EXPECT_THAT(text, HasSubstr("runtime 13.0, driver for 13.1\n"));
  EXPECT_THAT(text, HasSubstr("2.27.7 (/lib/libnccl.so.2)\n"));
  EXPECT_THAT(text, HasSubstr("9.10.2 (/c.so)\n"));
  EXPECT_THAT(text, HasSubstr("peer access   not between all GPUs"));
}

TEST(DescribeGpusTest, SaysWhyThereIsNone) {
  CudaDevices cuda;
  cuda.unavailable = "no driver";
  GpuSurvey survey;
  survey.unavailable = "no NVML";
  const std::string text =
      describe_gpus({cuda, survey, {"", "", "not found"}, {"", "", "no cuDNN"}});
  EXPECT_THAT(text, HasSubstr("none: no driver\n"));
  EXPECT_THAT(text, HasSubstr("runtime none, driver for none\n"));
  EXPECT_THAT(text, HasSubstr("driver        unknown: no NVML\n"));
  EXPECT_THAT(text, HasSubstr("not found\n"));
  EXPECT_THAT(text, HasSubstr("no cuDNN\n"));
}

TEST(DescribeGpusTest, ShowsWhatTheDriverSaysOfClocksAndConnections) {
  GpuReport report;
  report.cuda.unavailable = "this build has no CUDA support";
  GpuFacts gpu;
  gpu.name = "Card A";
  gpu.sm = 90;
  gpu.clock_sm_mhz = 1200;
  gpu.slowed_by = {"power cap"};
  report.survey.gpus = {gpu, gpu};
  report.survey.relations = {{"X", "NV18"}, {"NV18", "X"}};
  const std::string text = describe_gpus(report);
  EXPECT_THAT(text, HasSubstr("gpu 1         Card A, compute capability 9.0"));
  EXPECT_THAT(text, HasSubstr("slowed_by     power cap\n"));
  EXPECT_THAT(text, HasSubstr("GPU1\tNV18\tX"));
}

}  // namespace
}  // namespace collbench
