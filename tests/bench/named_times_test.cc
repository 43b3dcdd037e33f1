#include "bench/foreign/named_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<NamedTimes> read(const std::string& format, const std::string& text) {
  return read_named_times(parse_times_request("--read", format), text, "out");
}

std::vector<std::string> names_in(const std::string& format, const std::string& text) {
  std::vector<std::string> names;
  for (const NamedTimes& one : read(format, text)) names.push_back(one.name);
  return names;
}

std::string refusal_in(const std::string& format, const std::string& text) {
  try {
    read(format, text);
  } catch (const InvalidArgument& e) {
    return e.what();
  }
  return "";
}

TEST(NamedTimesTest, TablesOfOsuAreToldApartByTheirTitlesWithoutTheVersion) {
  const std::string text =
      "srun: job 7 queued\n\n# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_FLOAT.\n"
      "# Size       Avg Latency(us)\n4   1.50\n8  2.25\n\n# OSU MPI Broadcast Latency Test v7.4\n"
      "# Size       Avg Latency(us)   Min Latency(us)\n4   0.75  0.5\n";
  const auto cases = read("osu", text);
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_EQ(cases[1].bytes, Bytes{8});
  EXPECT_EQ(cases[0].name, "OSU MPI Allreduce Latency Test, MPI_FLOAT/4");
  EXPECT_THAT(cases[1].ns, ElementsAre(2250));
  EXPECT_EQ(cases[2].name, "OSU MPI Broadcast Latency Test/4");
}

TEST(NamedTimesTest, TablesOfOsuHaveACaseForEachTypeAndForNoByte) {
  const std::string title = "# OSU MPI Allreduce Latency Test v7.4\n";
  const std::string columns = "# Size       Avg Latency(us)\n";
  EXPECT_THAT(names_in("osu", title + "# Datatype: MPI_CHAR.\n" + columns + "0  1.5\n4  2\n" +
                                  "# Datatype: MPI_LONG.\n" + columns + "4  7\n"),
              ElementsAre("OSU MPI Allreduce Latency Test, MPI_CHAR/0",
                          "OSU MPI Allreduce Latency Test, MPI_CHAR/4",
                          "OSU MPI Allreduce Latency Test, MPI_LONG/4"));
}

TEST(NamedTimesTest, TablesOfOsuWithoutLatenciesBySizeAreNamed) {
  for (const char* columns :
       {"# Size      Bandwidth (MB/s)\n1  2.00\n", "# Avg Latency(us)\n  12.00\n"}) {
    EXPECT_THAT(refusal_in("osu", std::string("# OSU MPI Other Test v7.4\n") + columns),
                HasSubstr("'OSU MPI Other Test' holds no latencies by size"));
  }
}

TEST(NamedTimesTest, NamesOnTheConsoleMayHoldBlanksAndEndAsAggregatesDo) {
  EXPECT_THAT(names_in("gbench",
                       "BM_geo_mean   1.5 ns   1.4 ns   10\nname with space/1  2 ms  2 ms  5\n"
                       "BM_a  1 ns 1 ns 9\nBM_a_mean  1 ns 1 ns 3\nBM_b_mean 1 ns 1 ns 3\n"
                       "BM_b_median 1 ns 1 ns 3\nBM_b_stddev 1 ns 1 ns 3\nBM_stddev 1 ns 1 ns "
                       "3\nBM_gpu  SKIPPED: 'no GPU here'\n"),
              ElementsAre("BM_geo_mean", "name with space/1", "BM_a", "BM_stddev"));
  EXPECT_THAT(names_in("gbench", R"({"benchmarks": [
                {"name": "a", "skipped": true, "real_time": 0.0, "time_unit": "ns"},
                {"name": "b", "real_time": 1.0, "time_unit": "ns"}]})"),
              ElementsAre("b"));
}

TEST(NamedTimesTest, GoogleBenchmarkIsTheSameFromJsonAndFromItsTable) {
  const std::string json =
      R"({"context": {}, "benchmarks": [
       {"name": "BM_copy/8/repeats:2", "run_name": "BM_copy/8", "run_type": "iteration",
        "iterations": 10, "real_time": 1.5, "cpu_time": 1.4, "time_unit": "us"},
       {"name": "BM_copy/8/repeats:2", "run_name": "BM_copy/8", "run_type": "iteration",
        "iterations": 10, "real_time": 1.25, "cpu_time": 1.4, "time_unit": "us"},
       {"name": "BM_copy/8_mean", "run_name": "BM_copy/8", "run_type": "aggregate",
        "real_time": 9, "cpu_time": 9, "time_unit": "us"}]})";
  const std::string table =
      "Run on (2 X 2400 MHz CPU s)\n-----\nBenchmark   Time   CPU  Iterations\n-----\n"
      "BM_copy/8      1.5 us   1.4 us   10\nBM_copy/8   1.25 us  1.4 us  10 bytes_per_second=2G/s\n"
      "BM_copy/8_mean  1.3 us  1.4 us  2\n";
  for (const std::string& text : {json, table}) {
    const auto cases = read("gbench", text);
    ASSERT_EQ(cases.size(), 1U) << text;
    EXPECT_EQ(cases[0].name, "BM_copy/8");
    EXPECT_THAT(cases[0].ns, ElementsAre(1500, 1250));
  }
  EXPECT_THAT(refusal_in("gbench", "BM_x  ERROR OCCURRED: 'no such file'\n"),
              HasSubstr("no such file"));
  EXPECT_THAT(refusal_in("gbench",
                         "{\"benchmarks\": [{\"name\": \"a\", \"error_occurred\": true, "
                         "\"error_message\": \"no GPU\"}]}"),
              HasSubstr("'a' failed: no GPU"));
}

TEST(NamedTimesTest, HyperfineHasEveryRun) {
  const auto cases =
      read("hyperfine", R"({"results": [{"command": "./a -n 1", "mean": 0.5, "times": [0.5, 0.75]},
                                        {"command": "b", "mean": 0.125}]})");
  EXPECT_THAT(names_in("hyperfine", R"({"results": [
                {"command": "sleep", "mean": 1, "parameters": {"n": "1"}},
                {"command": "sleep", "mean": 3, "parameters": {"n": "3"}}]})"),
              ElementsAre("sleep n=1", "sleep n=3"));
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].name, "./a -n 1");
  EXPECT_THAT(cases[0].ns, ElementsAre(5e8, 7.5e8));
  EXPECT_THAT(cases[1].ns, ElementsAre(1.25e8));
}

TEST(NamedTimesTest, RunsOfHyperfineThatFailedAreNoTimes) {
  EXPECT_THAT(refusal_in("hyperfine", R"({"results": [{"command": "./a", "mean": 0.5,
                         "times": [0.5, 0.75], "exit_codes": [0, 1]}]})"),
              HasSubstr("1 of 2 runs of './a' failed"));
}

TEST(NamedTimesTest, CsvHasItsHeadingWhereverItStandsAndUnits) {
  const std::string text =
      "building \"job...\nwhen,case,t,u\n1,\"a, big\",2,ms\n2,b,3,us\n3,b,4,us\n";
  const auto cases = read("csv:case,t,u", text);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].name, "a, big");
  EXPECT_THAT(cases[0].ns, ElementsAre(2e6));
  EXPECT_THAT(cases[1].ns, ElementsAre(3000, 4000));
  EXPECT_THAT(read("csv:case,t", text)[0].ns, ElementsAre(2e9));
  EXPECT_THAT(refusal_in("csv:case,time", text), HasSubstr("out: no heading with the columns"));
  EXPECT_THAT(refusal_in("csv:case,t,when", text),
              HasSubstr("out:3: the unit is '1'; it must be ns, us, ms or s"));
  EXPECT_THAT(refusal_in("csv:case,t", "case,t\na\n"),
              HasSubstr("out:2: 1 cells where the heading has 2"));
}

TEST(NamedTimesTest, NcclTestsHaveACaseForEachPlaceAndAWrongResultIsNoTime) {
  const auto text = [](const std::string& wrong) {
    return "#       size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw "
           "#wrong\n  8  2  float  sum  -1  21.05  0.00  0.00  " +
           wrong + "  20.46  0.00  0.00  0\n# Rank  0 Group  0 Pid 1 on a device 0 [1] GPU\n";
  };
  EXPECT_THAT(names_in("nccl-tests", text("0")),
              ElementsAre("nccl/8/f32/sum", "nccl/8/f32/sum/in-place"));
  EXPECT_THROW(read("nccl-tests", text("3")), WrongResult);
}

TEST(NamedTimesTest, TablesOfNcclTestsAreToldApartByTheirCollectives) {
  const auto table = [](const std::string& op) {
    return "# nThread 1 nGpus 2\n# size count type redop root time algbw busbw #wrong time algbw "
           "busbw #wrong\n1048576 262144 float " +
           op + " -1 100.00 10.49 10.49 0 N/A N/A N/A N/A\n";
  };
  EXPECT_THAT(
      names_in("nccl-tests", "# Collective test starting: all_gather_perf\n" + table("none") +
                                 "# Collective test starting: all_reduce_perf\n" + table("sum")),
      ElementsAre("nccl all_gather/1048576/f32/sum", "nccl all_reduce/1048576/f32/sum"));
  EXPECT_THAT(names_in("nccl-tests", table("sum") + table("none")),
              ElementsAre("nccl/1048576/f32/sum", "nccl table 2/1048576/f32/sum"));
}

TEST(NamedTimesTest, WhatIsNoTimeOrNotOfTheFormatIsRefused) {
  for (const char* request : {"nccl-tests", "osu", "imb", "gbench", "hyperfine", "csv:a,b"}) {
    EXPECT_THAT(refusal_in(request, "Segmentation fault\n"), HasSubstr("out: ")) << request;
    EXPECT_THAT(refusal_in(request, ""), HasSubstr("out: ")) << request;
  }
  EXPECT_THAT(refusal_in("csv:a,b", "a,b\nx,0\n"), HasSubstr("the time of 'x' is 0 ns"));
  EXPECT_THAT(refusal_in("csv:a,b", "a,b\n,1\n"), HasSubstr("a case without a name"));
  EXPECT_THAT(refusal_in("osu:a,b", ""), HasSubstr("only csv takes columns"));
  EXPECT_THAT(refusal_in("csv", ""), HasSubstr("csv:case,time,unit"));
  EXPECT_THAT(refusal_in("gbnch", ""), HasSubstr("Did you mean 'gbench'?"));
}

}  // namespace
}  // namespace collbench
