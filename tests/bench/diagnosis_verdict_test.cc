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

// A table whose ranks were misread had five times the rate of its machine: healthy (100 %).
TEST(VerdictTest, FarFasterThanTheMachineCanBeIsNotHealthy) {
  const DiagnosisCase given = case_with("aws-p5", {});
  const auto with = [&](double factor) {
    return diagnose(measured_as(given, given.suspicions[0], [=](std::size_t) { return factor; }));
  };
  EXPECT_STREQ(verdict_of(with(0.2)), "undecided");
  EXPECT_THAT(with(0.2).untold, HasSubstr("5.0 times as fast as"));
  EXPECT_STREQ(verdict_of(with(0.8)), "healthy");
}

// Milliseconds in a column of microseconds were "far slower than the machine should be".
TEST(VerdictTest, AThousandTimesTooFastIsNoFault) {
  const DiagnosisCase given = case_of(published("aws-p5"));
  for (const double factor : {0.2, 0.03, 0.001}) {
    const Diagnosis found =
        diagnose(measured_as(given, given.suspicions[0], [=](std::size_t) { return factor; }));
    EXPECT_STREQ(verdict_of(found), "undecided") << factor;
    EXPECT_THAT(found.untold, HasSubstr("times as fast as"));
    EXPECT_TRUE(found.causes.empty());
  }
}

// A table of `-b 8G -e 8G` in a wrong unit was healthy (100 %).
TEST(VerdictTest, OneOrTwoSizesFarTooFastAreNotHealthyEither) {
  const KnownTable known = published("aws-p5");
  const Bytes largest = sizes_of(known.table.times).back();
  for (const std::int64_t least : {largest.count, largest.count / 2}) {
    KnownTable few = known;
    std::erase_if(few.table.times,
                  [&](const MeasuredTime& row) { return row.bytes.count < least; });
    const DiagnosisCase given = case_of(few);
    const auto with = [&](double factor) {
      return diagnose(measured_as(given, given.suspicions[0], [=](std::size_t) { return factor; }));
    };
    EXPECT_THAT(with(0.01).untold, HasSubstr("times as fast as"));
    EXPECT_STREQ(verdict_of(with(1)), "healthy");
  }
}

TEST(VerdictTest, RingsThatTheLibraryWouldNotChooseAreNotedOfHealthyTablesOnly) {
  DiagnosisCase given = case_with("aws-p5", {"network_slow"});
  for (Seconds& time : given.suspicions[1].times) time = 10 * time;
  Suspicion rings = given.suspicions[0];
  rings.words = "rings at all sizes";
  for (Seconds& time : rings.times) time = 1.5 * time;
  given.suspicions.push_back(rings);
  const auto notes_with = [&](double factor) {
    return diagnose(measured_as(given, rings, [=](std::size_t) { return factor; })).notes;
  };
  const auto noted = Contains(HasSubstr("the table fits rings at all sizes"));
  EXPECT_THAT(notes_with(1), noted);
  EXPECT_THAT(notes_with(7), Not(noted));
}

// Of NVIDIA/nccl issue 1453: 32 MiB were 2.6 times as fast as the sockets that were named.
TEST(VerdictTest, AFaultThatTakesFarMoreThanWasMeasuredIsNone) {
  DiagnosisCase given = case_with("aws-p5", {"sockets", "congestion"});
  for (Seconds& time : given.suspicions[1].times) time = 10 * time;
  for (Seconds& time : given.suspicions[2].times) time = 5 * time;
  const std::size_t one = sizes_of(given.rows).size() - 4;
  const auto found = [&](double factor) {
    return diagnose(measured_as(given, given.suspicions[1],
                                [=](std::size_t i) { return i == one ? factor : 1; }));
  };
  EXPECT_THAT(found(1).cause_group, ElementsAre("sockets"));
  EXPECT_THAT(found(0.3).cause_group, ElementsAre("congestion"));
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

TEST(VerdictTest, WhichAdaptersHalfOfAMachineHasIsNotKnown) {
  MeasuredTable table = published("aws-p4de").table;
  table.hardware = "NVIDIA A100-SXM4-40GB";
  for (MeasuredTime& row : table.times) {
    row.scale = {8, 2};
    row.time = row.low = row.high = 5 * row.time;
  }
  std::vector<std::string> notes;
  const Diagnosis unnamed = diagnose_on_any(diagnosis_cases(table, "", notes).front());
  EXPECT_STREQ(verdict_of(unnamed), "undecided");
  EXPECT_THAT(unnamed.untold,
              HasSubstr("if it is dgx-a100; what adapters nodes with 4 of its 8 GPUs "
                        "have is not known: name the machine with --topo"));
  const Diagnosis named = diagnose_on_any(diagnosis_cases(table, "dgx-a100", notes).front());
  EXPECT_STREQ(verdict_of(named), "unhealthy");
  MeasuredTable well = table;
  for (MeasuredTime& row : well.times) row.time = row.low = row.high = 0.2 * row.time;
  DiagnosisCase judged = diagnosis_cases(table, "", notes).front();
  judge_by_healthy(judged, well);
  EXPECT_STREQ(verdict_of(diagnose_on_any(judged)), "unhealthy") << "what it can reach is known";
  table.hardware = "2x AWS p4de.24xlarge (8x A100-SXM4-80GB), 4 used";
  const Diagnosis by_name = diagnose_on_any(diagnosis_cases(table, "", notes).front());
  EXPECT_STREQ(verdict_of(by_name), "unhealthy");
}

TEST(DiagnosisCasesTest, OfManySizesThoseThatAreEvenAreJudged) {
  MeasuredTable table = published("aws-p5").table;
  MeasuredTime row = table.times.front();
  table.times.clear();
  for (std::int64_t i = 1; i <= 500; ++i) {
    row.bytes = {i * 262144};
    row.wrong = i == 251 ? 1 : 0;
    table.times.push_back(row);
  }
  std::vector<std::string> notes;
  const DiagnosisCase given = diagnosis_cases(table, "aws-p5", notes).front();
  const std::vector<Bytes> sizes = sizes_of(given.rows);
  EXPECT_LE(sizes.size(), 65U);
  EXPECT_GE(sizes.size(), 40U);
  EXPECT_EQ(sizes.front(), Bytes{262144});
  EXPECT_EQ(sizes.back(), Bytes{500 * 262144});
  EXPECT_EQ(std::ranges::count_if(given.rows, &MeasuredTime::is_wrong), 1);
  EXPECT_THAT(notes, Contains(HasSubstr("of its 499 sizes")));
}

/// From 1 B on, 8 ranks on a star.
MeasuredTable table_of_type(DataType type) {
  MeasuredTable table;
  table.name = "of_type";
  for (std::int64_t bytes = 1; bytes <= 1 << 20; bytes *= 2) {
    MeasuredTime& row = table.times.emplace_back();
    row.library = "mpi";
    row.algorithm = "auto";
    row.scale = {8, 8};
    row.type = type;
    row.bytes = {bytes};
    row.time = row.low = row.high = Seconds{6e-6 + 1.5e-10 * static_cast<double>(bytes)};
  }
  return table;
}

TEST(DiagnosisCasesTest, SizesAreOfWholeElements) {
  std::vector<std::string> notes;
  const auto judged = [&](DataType type) {
    return diagnose(diagnosis_cases(table_of_type(type), "star:8,100Gbps,2us", notes).front());
  };
  const Diagnosis of_bytes = judged(DataType::u8);
  EXPECT_STREQ(verdict_of(of_bytes), "healthy");
  EXPECT_EQ(of_bytes.sizes.front().bytes, Bytes{1});
  EXPECT_EQ(of_bytes.sizes.front().verdict, "as expected");
  EXPECT_THAT(notes, Not(Contains(HasSubstr("left out"))));
  const Diagnosis of_floats = judged(DataType::f32);
  EXPECT_STREQ(verdict_of(of_floats), "healthy");
  EXPECT_EQ(of_floats.sizes.front().bytes, Bytes{4});
  EXPECT_THAT(notes, Contains("of_type: rows of less than one element left out"));
}

TEST(DiagnosisCasesTest, WhatIsExpectedIsATime) {
  DiagnosisCase given = case_with("aws-p5", {});
  given.suspicions.front().times.front() = Seconds{0};
  EXPECT_THROW(diagnose(given), InvalidArgument);
}

// The latency of a machine is the time of 8 B, or of the largest size where all are below.
TEST(DiagnosisCasesTest, TheLatencyIsThatOfASizeOfTheTable) {
  const std::vector<Bytes> sizes = {{2}, {4}};
  const std::vector<Seconds> expected = {Seconds{5e-6}, Seconds{6e-6}};
  EXPECT_EQ(curve_suspicions(sizes, expected).front().latency, Seconds{6e-6});
}

int suspicions_of(const DiagnosisCase& given, const std::string& name) {
  return static_cast<int>(std::ranges::count_if(given.suspicions, [&](const Suspicion& each) {
    return each.cause != nullptr && each.cause->name == name;
  }));
}

DiagnosisCase case_on(const std::string& machine, Scale scale) {
  MeasuredTable table = published("aws-p4de").table;
  table.hardware.clear();
  for (MeasuredTime& row : table.times) row.scale = scale;
  std::vector<std::string> notes;
  return diagnosis_cases(table, machine, notes).front();
}

TEST(DiagnosisCasesTest, OneFlowEachWayHasNoneToCollideWith) {
  EXPECT_EQ(suspicions_of(case_on("cluster:2xdgx-a100:1,adapters=1", {2, 2}), "congestion"), 0);
  EXPECT_GT(suspicions_of(case_on("cluster:3xdgx-a100:1,adapters=1", {3, 3}), "congestion"), 0);
  EXPECT_GT(suspicions_of(case_on("dgx-a100", {16, 2}), "congestion"), 0);
}

// Streams of TCP add up where nodes have several adapters.
TEST(DiagnosisCasesTest, SocketsReachAFewGigabytesASecondOfEachAdapter) {
  const DiagnosisCase given = case_on("cluster:2xdgx-a100:4,adapters=2", {8, 2});
  double fastest = 0;
  for (const Suspicion& each : given.suspicions) {
    if (each.cause != &cause("sockets")) continue;
    const Bytes largest = sizes_of(given.rows).back();
    fastest =
        std::max(fastest, bus_bandwidth(largest, each.times.back(), 8).bytes_per_second / 1e9);
  }
  EXPECT_GT(fastest, 11);
}

TEST(DiagnosisCasesTest, OnNetworksOfOneSystemMoreIsHealthy) {
  const auto width = [](const std::string& machine) {
    const Estimate at = diagnose(case_on(machine, {16, 2})).sizes.front().expected;
    return at.high / at.low;
  };
  EXPECT_GT(width("cluster:2xdgx-a100,network=slingshot"), 1.2 * width("cluster:2xdgx-a100"));
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
