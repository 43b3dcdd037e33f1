// Where a diagnosis must not be sure: of health, of a fault, of one cause.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/diagnosis_tables.h"

#include "core/error.h"
#include "heuristics/diagnosis/table_cases.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

KnownTable published(const std::string& system) {
  for (KnownTable& known :
       read_known_tables(COLLBENCH_SOURCE_DIR "/tests/bench/diagnosis_tables.txt")) {
    if (known.system == system) return std::move(known);
  }
  throw InvalidArgument("no such system");
}

/// A case of which nothing is suspected but `causes`, as frequent as health, and cost nothing yet.
DiagnosisCase case_with(const std::string& system, const std::vector<const char*>& causes) {
  DiagnosisCase given = case_of(published(system));
  const Suspicion healthy = given.suspicions.front();
  given.suspicions.assign(1 + causes.size(), healthy);
  for (std::size_t i = 0; i < causes.size(); ++i) given.suspicions[i + 1].cause = &cause(causes[i]);
  return given;
}

/// The case with times of `like`, each times `factor(i)`.
template <class Factor>
DiagnosisCase measured_as(DiagnosisCase given, const Suspicion& like, Factor factor) {
  const std::vector<Bytes> sizes = sizes_of(given.rows);
  for (MeasuredTime& row : given.rows) {
    const auto at = static_cast<std::size_t>(
        std::lower_bound(sizes.begin(), sizes.end(), row.bytes) - sizes.begin());
    row.time = like.times[at] * factor(at);
    row.low = row.high = row.time;
  }
  return given;
}

// A healthy A100 that was faster than the model between 16 KiB and 16 MiB lacked LL128 therefore.
TEST(VerdictTest, WhatIsNowhereSlowerThanHealthIsNoFault) {
  DiagnosisCase given = case_with("aws-p5", {"switch_misplaced"});
  Suspicion& faster = given.suspicions[1];
  for (std::size_t i = 6; i < 18; ++i) faster.times[i] = 0.6 * faster.times[i];
  const Diagnosis found = diagnose(measured_as(given, faster, [](std::size_t) { return 1; }));
  EXPECT_STREQ(verdict_of(found), "healthy") << found.sure;
  EXPECT_GT(found.sure, 0.9);
}

TEST(VerdictTest, LargeSizesThatAreSlowAreNotCalledHealthyForWantOfAFault) {
  const DiagnosisCase given = case_with("aws-p5", {});
  const auto with = [&](double factor) {
    const std::size_t from = sizes_of(given.rows).size() - 6;
    return diagnose(measured_as(given, given.suspicions[0],
                                [=](std::size_t i) { return i < from ? 1 : factor; }));
  };
  const Diagnosis slow = with(1.25);
  EXPECT_STREQ(verdict_of(slow), "undecided");
  EXPECT_THAT(slow.untold, HasSubstr("less than nine of ten healthy systems reach"));
  EXPECT_STREQ(verdict_of(with(1.05)), "healthy");
}

// Half of the network's rate on a system whose latency is half as long again as the model's is a
// GPU at a lower clock, too.
TEST(VerdictTest, ACauseIsNotToldByALatencyThatMayBeTheSystemsOwn) {
  DiagnosisCase given = case_with("aws-p5", {"throttled", "nic_affinity"});
  const Suspicion healthy = given.suspicions[0];
  for (std::size_t i = 0; i < healthy.times.size(); ++i) {
    const Seconds latency = std::min(healthy.latency, healthy.times[i]);
    given.suspicions[2].times[i] = latency + 2 * (healthy.times[i] - latency);
    given.suspicions[1].times[i] = given.suspicions[2].times[i] + 0.5 * latency;
  }
  given.suspicions[1].latency = 1.5 * healthy.latency;
  const DiagnosisCase throttled =
      measured_as(given, given.suspicions[1], [](std::size_t) { return 1; });
  const Diagnosis found = diagnose(throttled);
  EXPECT_STREQ(verdict_of(found), "unhealthy");
  EXPECT_THAT(found.cause_group, ElementsAre("throttled", "nic_affinity"));
  EXPECT_LT(told_from * found.causes.back().sure, found.causes.front().sure) << "by the latency";
  EXPECT_THAT(found.undecided, HasSubstr("cannot be told from this table: throttled"));

  DiagnosisCase known = throttled;  // where it is known what the system took, it is a fact
  known.error = ModelError{};
  EXPECT_THAT(diagnose(known).cause_group, ElementsAre("throttled"));
}

TEST(VerdictTest, OnSeveralNodesAllMachinesWithThoseGpusAreAsked) {
  MeasuredTable table = published("aws-p4de").table;
  table.hardware = "NVIDIA A100-SXM4-80GB";
  std::vector<std::string> notes;
  const Diagnosis unnamed = diagnose_on_any(diagnosis_cases(table, "", notes).front());
  EXPECT_STREQ(verdict_of(unnamed), "undecided");
  EXPECT_THAT(unnamed.untold, AllOf(HasSubstr("if it is dgx-a100, healthy if it is aws-p4d"),
                                    HasSubstr("name the machine with --topo")));
  EXPECT_TRUE(unnamed.causes.empty());
  const Diagnosis named = diagnose_on_any(diagnosis_cases(table, "aws-p4d", notes).front());
  EXPECT_STREQ(verdict_of(named), "healthy");
  const Diagnosis other = diagnose_on_any(diagnosis_cases(table, "dgx-a100", notes).front());
  EXPECT_STREQ(verdict_of(other), "unhealthy");
}

TEST(FloorsTest, OtherMachinesHaveAsManyOfTheGpusAndOtherAdapters) {
  EXPECT_THAT(other_machines_of_gpus("NVIDIA A100-SXM4-40GB", 8),
              AllOf(Contains("aws-p4d"), Contains("oci-a100-v2"), Not(Contains("dgx-a100"))));
  EXPECT_THAT(other_machines_of_gpus("NVIDIA H100 80GB HBM3", 8),
              AllOf(Contains("google-a3-mega"), Not(Contains("aws-p5e"))));
  EXPECT_TRUE(other_machines_of_gpus("NVIDIA H100 PCIe", 8).empty());
}

}  // namespace
}  // namespace collbench
