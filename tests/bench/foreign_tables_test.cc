#include "bench/foreign/foreign_tables.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_records.h"
#include "tests/core/refusal.h"

#include "bench/records/report.h"
#include "bench/reports/text.h"
#include "core/error.h"
#include "heuristics/calibration/calibration.h"
#include "heuristics/policies/regret.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string nccl_text = R"(# nThread 1 nGpus 1 minBytes 8 maxBytes 16
#  Rank  0 Group  0 Pid   6899 on hosta device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   6900 on hostb device  0 [0000:05:00] NVIDIA H100 80GB HBM3
hosta:6899:6899 [0] NCCL INFO Bootstrap
#       size         count      type   redop    root     time   algbw   busbw #wrong
  8  2  float  sum  -1  21.05  0.00  0.00  0  20.46  0.00  0.00  0
  16  4  float  sum  -1  21.34  0.00  0.00  3  N/A  N/A  N/A  N/A
# Avg bus bandwidth    : 1.0
)";

std::string refusal_of_foreign(const std::string& text, const TableHints& hints = {}) {
  try {
    read_foreign(text, "file", hints);
  } catch (const InvalidArgument& e) {
    return e.what();
  }
  return "";
}

TEST(ForeignTablesTest, ReadsBothHalvesOfNcclTestsAndCountsRanksAndHosts) {
  const MeasuredTable table = read_foreign(nccl_text, "file");
  ASSERT_EQ(table.times.size(), 3U);
  EXPECT_EQ(table.times[0].scale, (Scale{2, 2}));
  EXPECT_EQ(table.times[0].library, "nccl");
  EXPECT_DOUBLE_EQ(table.times[0].time.count(), 21.05e-6);
  EXPECT_TRUE(table.times[1].in_place);
  EXPECT_DOUBLE_EQ(table.times[1].time.count(), 20.46e-6);
  EXPECT_EQ(table.times[0].wrong, 0);
  EXPECT_EQ(table.times[2].wrong, 3);
}

TEST(ForeignTablesTest, ReadsWhatNcclTestsSaysOfItsDevices) {
  const MeasuredTable table = read_foreign(nccl_text, "file");
  EXPECT_EQ(table.hardware, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(table.hosts, (std::vector<std::string>{"hosta", "hostb"}));
}

// With -I a half has four more columns, which are not the half in place.
TEST(ForeignTablesTest, ReadsTheSpreadThatNcclTestsPrintsPerIteration) {
  const std::string text =
      "# Rank 0 Group 0 Pid 1 on a device 0 [18] NVIDIA H100\n"
      "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv%"
      " time algbw busbw #wrong i_min i_max i_p99 i_cv%\n"
      "1048576 262144 float sum -1 957.48 1.10 2.05 0 94.37 9099.69 9099.69 276.78"
      " 957.49 1.10 2.05 0 94.21 9095.45 9095.45 276.79\n";
  const MeasuredTable table = read_foreign(text, "file");
  ASSERT_EQ(table.times.size(), 2U);
  EXPECT_DOUBLE_EQ(table.times[0].low.count(), 94.37e-6);
  EXPECT_DOUBLE_EQ(table.times[0].high.count(), 9099.69e-6);
  EXPECT_TRUE(table.times[1].in_place);
  EXPECT_DOUBLE_EQ(table.times[1].time.count(), 957.49e-6);
  EXPECT_FALSE(table.times[1].is_wrong());
}

TEST(ForeignTablesTest, ReadsRowsWithoutARootAsOldVersionsWriteThem) {
  const std::string old =
      "# Rank 0 busbw algbw\n 1024 256 float sum 9.0 0.1 0.2 0e+00 8.0 0.1 0.2 0e+00\n";
  const MeasuredTable table = read_foreign(old, "file", {.ranks = 4, .nodes = 1});
  ASSERT_EQ(table.times.size(), 2U);
  EXPECT_DOUBLE_EQ(table.times[1].time.count(), 8e-6);
}

TEST(ForeignTablesTest, ReadsOsuWithItsSpread) {
  const std::string osu =
      "# OSU MPI Allreduce Latency Test v5.7\n"
      "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
      "4  1.5 1.4 1.6 1000\n";
  const MeasuredTable table = read_foreign(osu, "file", {.ranks = 8, .nodes = 2});
  ASSERT_EQ(table.times.size(), 1U);
  EXPECT_DOUBLE_EQ(table.times[0].low.count(), 1.4e-6);
  EXPECT_EQ(table.times[0].samples, 1000);
  EXPECT_THAT(refusal_of_foreign(osu), HasSubstr("ranks=RANKS,nodes=NODES"));
  EXPECT_THAT(refusal_of_foreign(osu + "8 nan 1 2 3\n", {.ranks = 8}),
              HasSubstr("file:4: the average"));
  EXPECT_THAT(refusal_of_foreign(osu + "8 1.5\n", {.ranks = 8}), HasSubstr("2 columns where"));
  EXPECT_THAT(refusal_of_foreign(osu + "8 1.5 1 2 1e20\n", {.ranks = 8}),
              HasSubstr("file:4: the iterations are more than 1e9"));
}

TEST(ForeignTablesTest, ReadsJsonOfNcclTestsAndRcclTestsAndGoogleBenchmark) {
  const std::string nccl =
      R"({"config":{"devices":[{"hostname":"a"},{"hostname":"a"}]},"results":[{"size":8,"type":
      "float","redop":"sum","out_of_place":{"time":3.5,"nwrong":"0"},"in_place":{"time":4}}]})";
  EXPECT_EQ(read_foreign(nccl, "file").times.size(), 2U);
  EXPECT_EQ(read_foreign(nccl, "file").times[0].scale, (Scale{2, 1}));
  const std::string rccl =
      R"([{"name":"AllReduce","nodes":1,"ranks":8,"size":64,"type":"float","redop":"sum",
      "inPlace":1,"time":7.25,"busBw":1.0,"wrong":"0"}])";
  EXPECT_DOUBLE_EQ(read_foreign(rccl, "file").times.at(0).time.count(), 7.25e-6);
  const std::string google =
      R"({"benchmarks":[{"name":"ring/shm/workers:8/1048576/f32/sum","real_time":1500,
      "time_unit":"ns"}]})";
  const MeasuredTime row = read_foreign(google, "file").times.at(0);
  EXPECT_EQ(row.algorithm, "ring");
  EXPECT_EQ(row.scale.ranks, 8);
  EXPECT_DOUBLE_EQ(row.time.count(), 1.5e-6);
}

TEST(ForeignTablesTest, OfASpreadTheMedianCountsAndWhatIsNoAllReduceIsNoted) {
  const std::string nccl =
      R"({"config":{"devices":[{"hostname":"a"},{"hostname":"a"}]},"results":[{"size":8,"type":
      "float","redop":"sum","out_of_place":{"time":3.5},"out_of_place_per_iter":{"p50_us":3.25,
      "min_us":3,"max_us":9}}]})";
  const MeasuredTime spread = read_foreign(nccl, "file").times.at(0);
  EXPECT_FALSE(spread.mean);
  EXPECT_DOUBLE_EQ(spread.time.count(), 3.25e-6);
  EXPECT_DOUBLE_EQ(spread.low.count(), 3e-6);
  EXPECT_DOUBLE_EQ(spread.high.count(), 9e-6);
  const std::string rccl =
      R"([{"name":"AllGather","ranks":8,"busBw":1.0},
      {"name":"AllReduce","ranks":8,"size":64,"type":"float",
      "redop":"sum","inPlace":0,"time":7.25,"wrong":"2"}])";
  const MeasuredTable gathers = read_foreign(rccl, "file");
  EXPECT_THAT(gathers.notes, testing::Contains(HasSubstr("[0] is \"AllGather\", no all-reduce")));
  EXPECT_TRUE(gathers.times.at(0).is_wrong());
  const std::string google =
      R"({"benchmarks":[{"name":"sort/many","real_time":1,"time_unit":"ns"},{"name":
      "ring/shm/workers:8/64","error_occurred":true},{"name":"ring/shm/workers:8/64","real_time":9,
      "time_unit":"us"},{"name":"ring/shm/workers:8/64","run_type":"aggregate","real_time":1,
      "time_unit":"us"}]})";
  const MeasuredTable benchmarks = read_foreign(google, "file");
  ASSERT_EQ(benchmarks.times.size(), 1U);
  EXPECT_DOUBLE_EQ(benchmarks.times[0].time.count(), 9e-6);
  EXPECT_THAT(benchmarks.notes, testing::ElementsAre(HasSubstr("no part of the name is a size"),
                                                     HasSubstr("left out: it failed")));
}

TEST(ForeignTablesTest, ReadsCsvByTheNamesOfItsColumnsAndMultipliesGrids) {
  const std::string csv =
      "# source: somewhere\nsystem,nodes,tasks_per_node,algorithm,bytes,median_us,p10_us\n"
      "tofu,2x2x2,4,ring,1024,30,25\n";
  const MeasuredTable table = read_foreign(csv, "file");
  EXPECT_EQ(table.times.at(0).scale, (Scale{32, 8, {2, 2, 2}}));
  EXPECT_EQ(table.source, "somewhere");
  EXPECT_FALSE(table.times[0].mean);
  EXPECT_THAT(refusal_of_foreign("bytes,ranks\n1,2\n"), HasSubstr("no column for time"));
  EXPECT_THAT(refusal_of_foreign("bytes,avg_us\n1024,-3\n", {.ranks = 2}),
              HasSubstr("file:2: the time"));
  EXPECT_THAT(refusal_of_foreign("bytes,avg_us\n1024,0\n", {.ranks = 2}),
              HasSubstr("did not resolve"));
  EXPECT_THAT(refusal_of_foreign("ranks,bytes,avg_us\n4,1024,9\n8,1024,9\n", {.ranks = 8}),
              HasSubstr("4, 8 ranks are stated, 8 are given"));
}

TEST(ForeignTablesTest, RanksAndNodesThatAreGivenHoldAgainstThoseStated) {
  const std::string csv = "# nodes: 8\nranks,bytes,avg_us\n32,1024,9\n";
  EXPECT_EQ(read_foreign(csv, "file").times.at(0).scale, (Scale{32, 8}));
  const MeasuredTable table = read_foreign(csv, "file", {.nodes = 1});
  EXPECT_EQ(table.times.at(0).scale, (Scale{32, 1}));
  EXPECT_THAT(table.notes, testing::ElementsAre("file: 8 nodes are stated; taken as 1, which was "
                                                "given"));
  EXPECT_EQ(read_foreign(csv, "file", {.ranks = 64}).times.at(0).scale, (Scale{64, 8}));
}

TEST(ForeignTablesTest, GpusOfAProcessAreReadFromTheCommandOfTheTool) {
  const auto gpus = [](const std::string& text, const TableHints& hints = {.ranks = 8}) {
    return read_foreign(text, "file", hints).times.at(0).gpus_per_process;
  };
  const std::string rows = "bytes,avg_us\n1024,9\n";
  EXPECT_EQ(gpus(rows), 1);
  EXPECT_EQ(gpus("# tool: mpirun all_reduce_perf -b 8 -e 8G -g 8, warmup 5\n" + rows), 8);
  EXPECT_EQ(gpus("# tool: all_reduce_perf -g\n" + rows), 1);
  EXPECT_EQ(gpus(rows, {.ranks = 8, .gpus_per_process = 4}), 4);
  EXPECT_EQ(gpus("# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5\n"
                 "# algbw busbw\n 8 2 float sum -1 21.05 0.00 0.00 0\n"),
            8);
  EXPECT_EQ(gpus(R"({"config":{"ngpus":8,"devices":[{"hostname":"a"}]},"results":[{"size":8,"type":
      "float","redop":"sum","out_of_place":{"time":3.5,"nwrong":"0"}}]})",
                 {}),
            8);
}

TEST(ForeignTablesTest, RefusesWhatIsNoTable) {
  EXPECT_THAT(refusal_of_foreign("hello\n"), HasSubstr("no table of"));
  EXPECT_THAT(refusal_of_foreign("{\"results\": [], \"out_of_place\": 1"), HasSubstr("no JSON"));
}

TEST(ForeignTablesTest, RecordsReadBackAsTheSameMeasurements) {
  const MeasuredTable table = read_foreign(nccl_text, "file");
  const RecordFile file = to_records(table);
  ASSERT_EQ(file.records.size(), 3U);
  EXPECT_EQ(file.records[0].measurement.latency_ns.at(0), 21050);
  const MeasuredTable back = to_measurements(records_from_json(to_json(file)), "again");
  EXPECT_EQ(back.times.at(0).scale, (Scale{2, 2}));
  EXPECT_EQ(method_of(back.times[0]), method_of(table.times[0]));
  EXPECT_DOUBLE_EQ(back.times[0].time.count(), 21.05e-6);
}

TEST(ForeignTablesTest, RecordsOfOtherSharesOrOfGroupsAreNoRowsOfPlainOnes) {
  RecordFile file = to_records(read_foreign(nccl_text, "file"));
  file.records[0].point.groups = "1x2";  // one group of all is what others measure
  file.records[1].point.counts = "3,0";
  file.records[2].point.groups = "2x1";
  file.records.push_back(file.records[2]);
  const MeasuredTable table = to_measurements(records_from_json(to_json(file)), "others");
  ASSERT_EQ(table.times.size(), 1U);
  EXPECT_DOUBLE_EQ(table.times[0].time.count(), 21.05e-6);
  EXPECT_THAT(table.notes,
              testing::UnorderedElementsAre(
                  HasSubstr("1 records left out: their shares are 3,0 elements"),
                  "2 records left out: their groups 2x1 run side by side, not 2 ranks together"));
}

TEST(ForeignTablesTest, OurOwnNcclTableComesBackAsOurs) {
  const std::string own =
      "# collbench 1.0: ring on shm, 2 workers\n# Rank 0 Group 0 on a device 0 [CPU]\n"
      "# Rank 1 Group 0 on a device 1 [CPU]\n# time algbw busbw #wrong\n"
      " 8 2 float sum -1 N/A N/A N/A N/A 3.0 0.00 0.00 0\n"
      "# collbench 1.0: direct on grpc, 1 workers\n# Rank 0 Group 0 on a device 0 [CPU]\n"
      " 8 2 float sum -1 N/A N/A N/A N/A 5.0 0.00 0.00 N/A\n";
  const MeasuredTable table = read_foreign(own, "file");
  ASSERT_EQ(table.times.size(), 2U);
  EXPECT_EQ(table.times[0].algorithm, "ring");
  EXPECT_EQ(table.times[0].library, "shm");
  EXPECT_EQ(table.times[0].scale.ranks, 2);
  EXPECT_FALSE(table.times[0].mean);
  EXPECT_EQ(table.times[1].library, "grpc");
  EXPECT_EQ(table.times[1].scale.ranks, 1);
  EXPECT_EQ(table.times[1].wrong, -1);
}

/// What a reporter of ours writes, read as another's table.
RecordFile read_back(const std::string& format, const std::vector<Record>& records) {
  std::ostringstream text;
  play(*reporter_of(format, text), records, {});
  return to_records(read_foreign(text.str(), "file"));
}

TEST(ForeignTablesTest, OurOwnTablesComeBackAsTheirCases) {
  std::vector<Record> records(6, scripted_record("ring", 4, {4096}, 5000));
  records[1].point.collective = CollectiveKind::all_gather;
  records[1].point.backend = "grpc";
  records[1].point.transport = "tcp";
  records[2].point.groups = "0,2;1,3";
  records[2].point.isolate = true;
  records[3].point.collective = CollectiveKind::reduce;
  records[3].point.root = 2;
  records[3].point.type = DataType::f64;
  records[3].point.op = ReduceOp::max;
  records[3].point.in_place = false;
  records[4].point.collective = CollectiveKind::reduce_scatter;
  records[4].point.counts = "1,0,3,1020";
  records[5].point.checksum = true;
  records[5].point.inject = "delay:time=1.5ms:every=1,drop:rank=1:message=9";
  for (const char* format : {"csv", "gbench"}) {
    const RecordFile back = read_back(format, records);
    ASSERT_EQ(back.records.size(), records.size()) << format;
    for (std::size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(case_name(back.records[i].point), case_name(records[i].point)) << format;
      EXPECT_DOUBLE_EQ(figures(back.records[i]).busbw_GBps, figures(records[i]).busbw_GBps);
    }
    EXPECT_EQ(back.records[5].point.inject, records[5].point.inject) << format;
    EXPECT_EQ(back.records[1].point.transport, "tcp") << format;
    EXPECT_EQ(back.records[0].point.statistic, "median") << format;
  }
}

TEST(ForeignTablesTest, GroupsAndSharesThatTheRanksDoNotHaveAreRefused) {
  const auto refusal_with = [](const std::string& ranks, const std::string& rest) {
    return refusal_of_foreign("bytes,median_us,ranks,collective,groups,counts\n1024,9," + ranks +
                              "," + rest + "\n");
  };
  EXPECT_EQ(refusal_with("4", "all-gather,2x2,\"1,2\""), "");
  EXPECT_EQ(refusal_with("4", "all-reduce,3x2,"), "file: groups: 3x2 has 6 ranks, and there are 4");
  EXPECT_THAT(refusal_with("4", "all-gather,,\"1,2\""), HasSubstr("file: counts: 1,2 has 2"));
  EXPECT_EQ(refusal_with("1073741824", "all-reduce,0-1073741823,"),
            "file: groups of 1073741824 ranks");
  EXPECT_THAT(refusal_with("4", "all-too,,"), HasSubstr("file: left out: 1 row of 'all-too'"));
}

TEST(ForeignTablesTest, AWrongResultInOurCsvIsWrong) {
  std::vector<Record> records(3, scripted_record("ring", 4, {4096}, 5000));
  records[1].measurement.wrong = 2;
  records[2].measurement.replicas_identical = false;
  const RecordFile back = read_back("csv", records);
  EXPECT_EQ(back.records[0].measurement.wrong, 0);
  EXPECT_EQ(back.records[1].measurement.wrong, 2);
  EXPECT_FALSE(is_right(back.records[2]));
}

TEST(ForeignTablesTest, OurNcclTablesOfOtherCollectivesComeBackAsTheirs) {
  std::vector<Record> records(4, scripted_record("ring", 4, {4096}, 5'000'000));
  records[1].point.collective = CollectiveKind::all_gather;
  records[2].point.collective = CollectiveKind::broadcast;
  records[2].point.root = 3;
  records[3].point.groups = "2x2";
  const RecordFile back = read_back("nccl", records);
  ASSERT_EQ(back.records.size(), 4U);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(case_name(back.records[i].point), case_name(records[i].point));
  }
}

TEST(ForeignTablesTest, RowsOfNcclTestsWithoutAnOperatorAreLeftOut) {
  const std::string row = "  8  1  float  none  -1  21.05  0.00  0.00  0  20.46  0.00  0.00  0\n";
  const MeasuredTable table = read_foreign(nccl_text + row, "file");
  EXPECT_EQ(table.times.size(), 3U);
  EXPECT_THAT(table.notes, testing::Contains(HasSubstr("left out: 1 rows without an operator")));
  EXPECT_THAT(refusal_of_foreign("# algbw busbw\n" + row, {.ranks = 2}),
              HasSubstr("left out: 1 rows without an operator"));
}

TEST(ForeignTablesTest, AFolderWithoutATableSaysWhyItsFirstFileIsNone) {
  const std::string folder = testing::TempDir() + "/tables-without-ranks";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/1.txt") << "# OSU MPI Allreduce Latency Test v7.4\n"
                                      "# Size       Avg Latency(us)\n4   1.50\n";
  std::vector<std::string> notes;
  EXPECT_THAT(refusal([&] { read_as_records(folder, notes); }),
              HasSubstr("how many ranks is not said in it"));
  std::filesystem::remove_all(folder);
}

TEST(ForeignTablesTest, WhatATableDoesNotSayIsNotShown) {
  const RecordFile file = to_records(read_foreign(nccl_text, "file"));
  EXPECT_EQ(file.records[0].point.statistic, "mean");
  EXPECT_TRUE(file.records[0].measurement.warnings.empty());
  EXPECT_EQ(file.records[0].measurement.wrong, 0);
  EXPECT_EQ(file.records[2].measurement.wrong, 3);
  const Figures shown = figures(file.records[0]);
  EXPECT_DOUBLE_EQ(shown.time_us, 21.05);
  EXPECT_TRUE(std::isnan(shown.median_us));
  EXPECT_TRUE(std::isnan(shown.p95_us));
  EXPECT_TRUE(std::isnan(shown.interval_percent));
  EXPECT_EQ(shown.latency.n, 0);
}

/// The rows of a published table on so many nodes.
std::vector<MeasuredTime> published_on(const char* name, int nodes) {
  std::vector<std::string> skipped;
  std::vector<MeasuredTime> rows;
  const std::string path =
      std::string(COLLBENCH_SOURCE_DIR) + "/results/published/" + name + ".csv";
  for (const MeasuredTable& table : read_tables(path, skipped)) {
    for (const MeasuredTime& row : table.times) {
      if (row.scale.nodes == nodes) rows.push_back(row);
    }
  }
  return rows;
}

/// Also where the model has seen one scale only, so that nothing tells it how sure it may be.
TEST(RegretTest, AChoiceAtALargerScaleIsNoWorseThanTheBestOfTheLargestKnown) {
  const std::vector<MeasuredTime> asked = published_on("marenostrum5-pico", 8);
  const RegretKnowledge four_nodes{.fitted_to = published_on("marenostrum5-pico", 4)};
  const RegretSummary model = summarize_regret(regret_of("model", asked, four_nodes));
  const RegretSummary known = summarize_regret(regret_of("largest-scale", asked, four_nodes));
  EXPECT_EQ(model.points, 9);
  EXPECT_LE(model.mean, known.mean + 1e-9);
}

/// The project's mark for predictions of scales that were not fitted to.
TEST(FidelityTest, PublishedScalesThatWereHeldOutArePredicted) {
  std::vector<MeasuredTime> rows;
  std::vector<std::string> skipped;
  for (const char* name : {"abci-v100-nccl", "abci-a100-nccl", "abci-v100-mpi", "abci-a100-mpi",
                           "dgx-a100-nccl", "marenostrum5-pico"}) {
    const std::string path =
        std::string(COLLBENCH_SOURCE_DIR) + "/results/published/" + name + ".csv";
    for (const MeasuredTable& table : read_tables(path, skipped)) {
      rows.insert(rows.end(), table.times.begin(), table.times.end());
    }
  }
  std::vector<std::string> notes;
  const ErrorSummary summary =
      summarize_held_out(leave_one_scale_out(rows, false, notes), Bytes{1024});
  EXPECT_GT(summary.points, 600);
  EXPECT_LT(summary.median, 0.06);
  EXPECT_LT(summary.p90, 0.22);
  EXPECT_GT(summary.within, 0.75) << "the 80 % intervals";
  EXPECT_LT(summary.within, 0.85);
}

}  // namespace
}  // namespace collbench
