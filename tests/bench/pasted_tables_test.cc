// Tables as people have them: behind a launcher's tags, or pasted into a ticket without their head.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/foreign/foreign_tables.h"
#include "bench/foreign/launcher_tags.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* heading =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    " "
    " algbw   busbw #wrong\n";
constexpr const char* devices =
    "#  Rank  0 Group  0 Pid 41 on a device  0 [0x19] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid 42 on b device  0 [0x19] NVIDIA H100 80GB HBM3\n";
constexpr const char* rows =
    "     1048576        262144     float     sum      -1    120.5    8.70    8.70      0    118.5 "
    "  "
    " 8.85    8.85      0\n"
    "    16777216       4194304     float     sum      -1   1320.5   12.70   12.70      0   1318.5 "
    "  "
    "12.72   12.72      0\n";

/// `text` with `tag` before each line.
std::string tagged(const std::string& text, const std::string& tag) {
  std::string out;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    out += tag + text.substr(begin, end - begin + 1);
  }
  return out;
}

/// A table of a half whose bandwidths are of `ranks` by nccl-tests' formula, printed as it prints.
std::string table_of(int ranks, int digits = 2, double factor = 2) {
  std::string text = heading;
  for (const double algbw : {3.217, 48.32, 190.14}) {
    text += fmt::format("  1048576  262144  float  sum  -1  {:.1f}  {:.{}f}  {:.{}f}  0\n",
                        1048.576 / algbw, algbw, digits, factor * (ranks - 1.0) / ranks * algbw,
                        digits);
  }
  return text;
}

MeasuredTable read(const std::string& text, TableHints hints = {}) {
  return read_foreign(text, "table.txt", hints);
}

class LauncherTags : public testing::TestWithParam<const char*> {};

TEST_P(LauncherTags, AreNoPartOfTheTable) {
  const std::string tag = GetParam();
  // Other ranks' lines stand among them, and lines that nobody tagged.
  const std::string other = tag.front() == '[' ? "[1,17]<stdout>:" : "17: ";
  const MeasuredTable table = read("srun: job 17 queued\n" + tagged(devices, tag) +
                                   tagged(rows, other) + tagged(heading, tag) + tagged(rows, tag));
  ASSERT_EQ(table.times.size(), 4U);
  EXPECT_EQ(table.times[0].scale.ranks, 2);
  EXPECT_EQ(table.times[0].scale.nodes, 2);
  EXPECT_EQ(table.hardware, "NVIDIA H100 80GB HBM3");
  EXPECT_DOUBLE_EQ(table.times[0].time.count(), 120.5e-6);
}

INSTANTIATE_TEST_SUITE_P(Launchers, LauncherTags,
                         testing::Values("[1,0]<stdout>:", "[prte-n1-41@1,0]<stdout>: ", "[0]",
                                         "[0] ", "0: ", "  0: "));

// What collects logs writes pods, hosts and times before the lines, and often all of them.
TEST(LauncherTagsTest, WordsAndTimesOfLogCollectorsAreNoPartOfTheTable) {
  const std::string text = std::string(devices) + heading + rows;
  for (const char* before :
       {"2026-05-20T10:11:12.123456789Z ", "launcher-0: ", "[pod/launcher-0/main] ", "[host] ",
        "[pod/launcher-0/main] 2026-05-20T10:11:12Z ", "2026-05-20T10:11:12Z [1,0]<stdout>:"}) {
    const MeasuredTable table = read("Defaulted container\n" + tagged(text, before));
    ASSERT_EQ(table.times.size(), 4U) << before;
    EXPECT_EQ(table.times[0].scale, (Scale{2, 2})) << before;
  }
}

// As stern, syslog, journalctl, Docker and loggers of Python write them; each line has its own
// time.
TEST(LauncherTagsTest, SeveralWordsAndTimesBeforeAHeadingAreNoPartOfTheTable) {
  for (const char* before :
       {"launcher-0 main ", "launcher-0 | ", "Nov 30 06:02:42 node001 app[123]: ",
        "Nov  3 06:02:42 node001 app[123]: ", "[2026-05-20T06:02:42.123Z] ",
        "[2026-05-20 06:02:42,123] ", "2026-05-20 06:02:42,123 INFO stdout: ", "[06:02:42] ",
        "<14>1 2026-05-20T06:02:42.123Z node001 app 123 - - ",
        "launcher-0 main 2026-05-20T06:02:42Z [1,0]<stdout>:"}) {
    std::string text = tagged(std::string(devices) + heading + rows, before);
    int second = 10;
    for (std::size_t at = 0; (at = text.find("06:02:42", at)) != text.npos; ++second) {
      text.replace(at, 8, fmt::format("06:02:{}", second));
    }
    const MeasuredTable table = read("a line of another\n" + text);
    ASSERT_EQ(table.times.size(), 4U) << before;
    EXPECT_EQ(table.times[0].scale, (Scale{2, 2})) << before;
  }
}

TEST(LauncherTagsTest, LinesOfAnotherPodAreNoRows) {
  const std::string rest = heading + std::string(rows);
  const MeasuredTable table =
      read(tagged(devices, "launcher-0 main ") + tagged(rows, "launcher-1 main ") +
           tagged(rest, "launcher-0 main "));
  EXPECT_EQ(table.times.size(), 4U);
  std::string many;
  for (const char* pod : {"a m ", "b m ", "c m ", "d m ", "e m ", "f m "})
    many += tagged(rest, pod);
  EXPECT_THAT(read(many, {.ranks = 2}).notes,
              Contains(HasSubstr("left out: lines that begin with 'f m' hold")));
}

TEST(LauncherTagsTest, OnesWithinALineAreBlanks) {
  const MeasuredTable table = read(
      tagged(devices, "[0]") + tagged(heading, "[0]") +
      "[0]  2097152  524288  float  sum  -1[0]  2325.3  0.90  0.90  0[0]  416.7  5.03  5.03  0\n");
  ASSERT_EQ(table.times.size(), 2U);
  EXPECT_DOUBLE_EQ(table.times[1].time.count(), 416.7e-6);
}

TEST(LauncherTagsTest, NumbersOfLinesStay) {
  const std::string text = tagged(std::string(devices) + heading, "0: ") +
                           "0:  1048576  262144  float  sum  -1  fast  0.90  0.90  0\n";
  try {
    read(text);
    FAIL() << "'fast' is no time";
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), HasSubstr("table.txt:4"));
  }
}

TEST(LauncherTagsTest, ATextWhoseHeadingHasNoneIsAsItWas) {
  for (const std::string& text :
       {std::string(heading) + rows, std::string("{\"busbw\": 3}\n"),
        std::string("[17:03:11] busbw\n[17:03:12] 3\n"), std::string("size: busbw\n"),
        std::string("[0x19] busbw\n"), std::string()}) {
    EXPECT_EQ(without_launcher_tags(text), text);
  }
}

TEST(LauncherTagsTest, TablesOfOsuMayHaveThemToo) {
  const MeasuredTable table =
      read(tagged("# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n4  2.91\n"
                  "8  2.95\n",
                  "[1,0]<stdout>:"),
           {.ranks = 4});
  EXPECT_EQ(table.times.size(), 2U);
}

TEST(PastedTableTest, RowsNeedNoHeading) {
  for (const char* tag : {"", "[1,0]<stdout>:", "[host] ", "0: "}) {
    const MeasuredTable table = read("## all_reduce\n" + tagged(rows, tag), {.ranks = 2});
    ASSERT_EQ(table.times.size(), 4U) << tag;
    EXPECT_DOUBLE_EQ(table.times[1].time.count(), 118.5e-6) << tag;
  }
  // What is no whole half, or no number at its end, is no row.
  for (const char* row :
       {"8 2 float sum -1 20.1 0.00 0.00 0 3 4\n", "8 2 float sum -1 1 0 0 why\n"}) {
    EXPECT_THROW(read(row, {.ranks = 2}), InvalidArgument) << row;
  }
  // Of old versions the deviation, which is no count.
  EXPECT_FALSE(read("8 2 float sum 20.1 0.00 0.00 2e-07\n", {.ranks = 2}).times.at(0).is_wrong());
}

TEST(PastedTableTest, ATableWithoutRowsSaysWhatARowIs) {
  try {
    read(std::string(devices) + heading + "my log | 8 2 float sum -1 20.1 0.00 0.00 0\n");
    FAIL() << "no line begins with a size";
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), HasSubstr("no line begins with a size, a count, a type and an operator"));
  }
}

TEST(PastedTableTest, WithoutTheHashesItSaysItsRanksAndHardware) {
  std::string text = std::string(devices) + heading + rows;
  std::erase(text, '#');
  const MeasuredTable table = read(text);
  EXPECT_EQ(table.times.at(0).scale.ranks, 2);
  EXPECT_EQ(table.hardware, "NVIDIA H100 80GB HBM3");
}

TEST(PastedTableTest, TheBandwidthsTellTheRanksWhereNothingElseDoes) {
  for (const int ranks : {2, 3, 4, 8, 16, 24, 64, 72}) {
    const MeasuredTable table = read(table_of(ranks));
    EXPECT_EQ(table.times.at(0).scale.ranks, ranks);
    EXPECT_THAT(table.notes, Contains(HasSubstr(fmt::format("{} ranks, by busbw", ranks))));
  }
}

TEST(PastedTableTest, WhereTheirDigitsLeaveSeveralRanksAreAskedFor) {
  // Of 2 ranks the table of a broadcast or reduce has the same ratio: old versions name no root.
  std::string of_two = table_of(2);
  for (std::size_t at = 0; (at = of_two.find(" -1 ", at)) != of_two.npos;) of_two.erase(at, 3);
  // So has a reduce-scatter of many, whose count is that of one of them.
  std::string of_many = table_of(2);
  for (std::size_t at = 0; (at = of_many.find("262144", at)) != of_many.npos;) {
    of_many.replace(at, 6, "1024");
  }
  for (const std::string& text : {table_of(512), table_of(64, 0), of_two, of_many}) {
    EXPECT_THROW(read(text), InvalidArgument);
    EXPECT_EQ(read(text, {.ranks = 2}).times.at(0).scale.ranks, 2);
  }
}

std::string devices_of(int ranks, const std::string& host) {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5\n";
  for (int rank = 0; rank < ranks; ++rank) {
    text += fmt::format("#  Rank  {0} Group  0 Pid 41 on {1} device  {0} [0x19] NVIDIA A100\n",
                        rank, host);
  }
  return text;
}

TEST(PastedTableTest, TablesOfOtherCollectivesInOneLogAreLeftOut) {
  const MeasuredTable table =
      read(devices_of(8, "a") + table_of(8, 2, 1) + devices_of(4, "a") + table_of(4));
  ASSERT_EQ(table.times.size(), 3U);
  EXPECT_EQ(table.times[0].scale.ranks, 4);
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("3 times of 8 ranks whose busbw is that of an "
                                                 "all-gather, reduce-scatter or all-to-all")));
  EXPECT_THROW(read(devices_of(8, "a") + table_of(8, 2, 1)), InvalidArgument);
}

TEST(PastedTableTest, RunsBehindEachOtherHaveTheirOwnRanks) {
  const MeasuredTable table =
      read(devices_of(8, "a") + table_of(8) + devices_of(8, "a") + table_of(8));
  ASSERT_EQ(table.times.size(), 6U);
  EXPECT_EQ(table.times[5].scale.ranks, 8);
  EXPECT_THAT(table.notes, IsEmpty());
}

TEST(PastedTableTest, TestsThatKnowNothingOfEachOtherAreNoTestOfAll) {
  const MeasuredTable table =
      read(devices_of(2, "a") + devices_of(2, "b") + table_of(2) + table_of(2));
  EXPECT_EQ(table.times.at(0).scale.ranks, 2);
  EXPECT_EQ(table.times.at(0).scale.nodes, 1);
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("built without MPI=1")));
}

// Its rows were left out before they were kept, and its ranks and hosts stayed.
TEST(PastedTableTest, ATestOfAnotherCollectiveEndsWithItsTable) {
  const std::string gather = std::string(heading) +
                             "  1048576  262144  float  none  -1  20.1  52.17  45.65  0\n"
                             "  2097152  524288  float  none  -1  40.1  52.30  45.76  0\n";
  const MeasuredTable table = read(devices_of(8, "a") + table_of(8) + devices_of(8, "a") + gather +
                                   gather + devices_of(4, "b") + table_of(4));
  ASSERT_EQ(table.times.size(), 6U);
  EXPECT_EQ(table.times[3].scale, (Scale{4, 1}));
  EXPECT_EQ(table.times[3].batch, "run 2 on b");
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("rows without an operator")));
}

// A job that is tried again on another host.
TEST(PastedTableTest, ATestThatEndedBeforeItsFirstRowIsNotCounted) {
  const MeasuredTable table = read(devices_of(2, "a") + devices_of(2, "b") + heading + rows);
  EXPECT_EQ(table.times.at(0).scale, (Scale{2, 1}));
  EXPECT_THAT(table.hosts, ElementsAre("b"));
  EXPECT_THAT(table.notes, IsEmpty());
}

TEST(PastedTableTest, WhatRanIsSaidOnce) {
  const std::string text = "# Collective test starting: all_gather_perf\n" + devices_of(8, "a") +
                           table_of(8, 2, 1) + "# Collective test concluded: all_gather_perf\n";
  try {
    read(text);
    FAIL() << "no all-reduce";
  } catch (const InvalidArgument& e) {
    const std::string what = e.what();
    EXPECT_EQ(what.find("the test that ran was"), what.rfind("the test that ran was")) << what;
  }
}

TEST(PastedTableTest, OfOldVersionsTheLastColumnIsADeviation) {
  const auto wrong_with = [](const std::string& deviation) {
    const MeasuredTable table = read(
        "#   size  count  type  redop  time  algbw  busbw  error\n  1048576  262144  float  sum  "
        "120.5  8.70  15.22  " +
            deviation + "\n",
        {.ranks = 8});
    return table.times.at(0).is_wrong();
  };
  EXPECT_FALSE(wrong_with("2e-07"));
  EXPECT_TRUE(wrong_with("1e+00"));
}

// Documents print the first and the last device of each node: oracle-quickstart/oci-hpc-oke.
TEST(PastedTableTest, AListOfDevicesWithGapsHasAsManyRanksAsItsHighestSays) {
  const auto line = [](int rank, const char* host) {
    return fmt::format("#  Rank {} Group  0 Pid 41 on {} device  0 [0000:11:00]\n", rank, host);
  };
  const std::string ends = line(0, "a") + line(7, "a") + line(8, "b") + line(15, "b");
  const MeasuredTable table = read(ends + table_of(16));
  EXPECT_EQ(table.times.at(0).scale, (Scale{16, 2}));
  EXPECT_THAT(table.notes, ElementsAre("table.txt: its lines name 4 of 16 ranks"));
  const MeasuredTable fewer = read(line(0, "a") + line(15, "b") + table_of(16));
  EXPECT_EQ(fewer.times.at(0).scale, (Scale{16, 0})) << "there may be nodes between them";
}

TEST(PastedTableTest, WhereRowsAreOfOtherRanksThanTheLinesNameTheRowsHold) {
  const MeasuredTable table = read(devices + table_of(8));
  EXPECT_EQ(table.times.at(0).scale, (Scale{8, 0}));
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("its lines name 2 ranks, but busbw and algbw are "
                                                 "those of an all-reduce of 8")));
  const MeasuredTable given = read(devices + table_of(8), {.ranks = 16, .nodes = 2});
  EXPECT_EQ(given.times.at(0).scale, (Scale{16, 2}));
  EXPECT_THAT(given.notes, Contains("table.txt: 8 ranks are stated; taken as 16, which was given"));
}

// The factor of busbw is 1 for both at two ranks.
TEST(PastedTableTest, RowsWithARootAreOfNoAllReduce) {
  std::string reduce = table_of(2);
  for (std::size_t at = 0; (at = reduce.find(" -1 ", at)) != reduce.npos; ++at) {
    reduce.replace(at, 4, "  0 ");
  }
  const MeasuredTable table = read(devices_of(2, "a") + table_of(2) + devices_of(2, "a") + reduce);
  EXPECT_EQ(table.times.size(), 3U);
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("3 rows with a root")));
  EXPECT_THROW(read(devices_of(2, "a") + reduce), InvalidArgument);
}

// NCCL_DEBUG_SUBSYS=TUNING writes between the pieces of a row.
TEST(PastedTableTest, RowsThatNcclWroteIntoArePutTogether) {
  const std::string info = "38dc:1469:1469 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo NVLS\n";
  const std::string start = "     1048576        262144     float     sum      -1";
  const std::string pieces = start + info + info + "    120.5    8.70   15.22      0" + info +
                             "    118.5    8.85   15.49      0\n";
  const std::string between = start + info + "    120.5    8.70   15.22      0" + info +
                              "    118.5    8.85   15.49      0" + info + "\n";
  for (const std::string& row : {pieces, between}) {
    const MeasuredTable table = read(devices_of(8, "38dc") + heading + row + rows + info);
    ASSERT_EQ(table.times.size(), 6U);
    EXPECT_DOUBLE_EQ(table.times[0].time.count(), 120.5e-6);
    EXPECT_DOUBLE_EQ(table.times[1].time.count(), 118.5e-6);
    EXPECT_EQ(table.times[1].wrong, 0);
    EXPECT_THAT(table.notes, IsEmpty());
  }
  // Whose name it is that stands behind the root is not known.
  const MeasuredTable lost = read(pieces + rows, {.ranks = 8});
  EXPECT_EQ(lost.times.size(), 4U);
  EXPECT_THAT(lost.notes, Contains(HasSubstr("left out: 1 rows that NCCL's own output broke")));
}

TEST(PastedTableTest, CallsOfACudaGraphAreNoted) {
  const std::string text = devices_of(8, "a") + table_of(8);
  EXPECT_THAT(read("# nThread 1 nGpus 1 validation: 1 graph: 0\n" + text).notes, IsEmpty());
  EXPECT_THAT(read("# nThread 1 nGpus 1 validation: 1 graph: 20\n" + text).notes,
              ElementsAre(HasSubstr("launched as a CUDA graph (graph: 20)")));
}

// rccl-tests' -Z csv; times elsewhere have their unit in their name.
TEST(PastedTableTest, TheCsvOfRcclTestsItselfIsRead) {
  const std::string cells = "size,type,redop,inplace,time,algbw,busbw,#wrong\n";
  const MeasuredTable table =
      read("numCycle,collective,nodes,ranks,ranksPerNode,gpusPerRank," + cells +
           "0,AllReduce,2,4,2,4,1024,float,sum,0,16.9,0.0005,0.0009,0\n"
           "0,AllReduce,2,4,2,4,1024,float,sum,1,17.1,0.0005,0.0009,3\n");
  ASSERT_EQ(table.times.size(), 2U);
  EXPECT_EQ(table.times[0].scale, (Scale{16, 2}));
  EXPECT_EQ(table.times[0].library, "rccl");
  EXPECT_DOUBLE_EQ(table.times[0].time.count(), 16.9e-6);
  EXPECT_TRUE(table.times[1].in_place);
  EXPECT_EQ(table.times[1].wrong, 3);
  const std::string without_mpi =
      "numCycle,collective,gpus," + cells + "0,AllReduce,8,1024,float,sum,0,16.9,0.0005,0.0009,0\n";
  EXPECT_EQ(read(without_mpi).times.at(0).scale.ranks, 8);
  EXPECT_THROW(read("ranks,size,time\n8,1024,16.9\n"), InvalidArgument);
}

// A table says once what it is of, in the spelling of whatever made it.
TEST(PastedTableTest, CollectivesAreKnownInTheSpellingsOfOthers) {
  const std::string columns = "ranks,nodes,library,collective,bytes,avg_us\n";
  for (const char* name : {"all_reduce", "AllReduce", "all_reduce_perf", "all-reduce"}) {
    const std::string comment = std::string("# collective: ") + name +
                                "\nranks,nodes,library,bytes,avg_us\n8,1,nccl,1024,13\n";
    EXPECT_EQ(read_foreign(comment, "t.csv").times.at(0).collective, CollectiveKind::all_reduce);
  }
  const MeasuredTable table =
      read_foreign(columns + "8,1,nccl,all_gather,1024,13\n8,1,nccl,training,1024,13\n", "t.csv");
  ASSERT_EQ(table.times.size(), 1U);
  EXPECT_EQ(table.times[0].collective, CollectiveKind::all_gather);
  ASSERT_EQ(table.notes.size(), 1U);
  EXPECT_THAT(table.notes[0], HasSubstr("1 row of 'training'"));
}

}  // namespace
}  // namespace collbench
