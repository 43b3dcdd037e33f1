// Tables of the OSU and Intel MPI Benchmarks, and the commands that stand above tables.
#include "bench/foreign/mpi_benchmarks.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/foreign/benchmark_command.h"
#include "bench/foreign/foreign_tables.h"
#include "bench/foreign/named_times.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* imb_heading =
    "#----------------------------------------------------------------\n"
    "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
    "            0         1000         0.06         0.09         0.08\n";

std::string imb(const std::string& benchmark, int processes, const std::string& rows) {
  return "\n#---\n# Benchmarking " + benchmark + " \n# #processes = " + std::to_string(processes) +
         " \n" + imb_heading + rows;
}

MeasuredTable read_mpi_text(const std::string& text, TableHints hints = {}) {
  return read_foreign(text, "table.txt", hints);
}

std::string refusal_of_mpi_text(const std::string& text) {
  try {
    read_mpi_text(text, {.ranks = 4});
  } catch (const InvalidArgument& e) {
    return e.what();
  }
  return "";
}

TEST(ImbTest, EachNumberOfProcessesIsAScaleOfItsOwn) {
  const std::string text =
      "# MPI_Datatype for reductions    :   MPI_DOUBLE\n# MPI_Op  :  MPI_MAX\n" +
      imb("Allreduce", 2, "  1048576  20  220.10  260.30  240.20\n") +
      imb("Allreduce", 8, "  1048576  10  620.10  660.30  640.20\n");
  const MeasuredTable table = read_mpi_text(text);
  ASSERT_EQ(table.times.size(), 2U);
  EXPECT_EQ(table.times[0].scale, (Scale{2, 0}));
  EXPECT_EQ(table.times[1].scale, (Scale{8, 0}));
  EXPECT_EQ(table.times[1].bytes, Bytes{1048576});
  EXPECT_DOUBLE_EQ(table.times[1].low.count(), 620.10e-6);
  EXPECT_DOUBLE_EQ(table.times[1].time.count(), 640.20e-6);
  EXPECT_DOUBLE_EQ(table.times[1].high.count(), 660.30e-6);
  EXPECT_EQ(table.times[1].samples, 10);
  EXPECT_EQ(table.times[1].type, DataType::f64);
  EXPECT_EQ(table.times[1].op, ReduceOp::max);
  EXPECT_THAT(table.notes, IsEmpty());
}

TEST(ImbTest, OtherBenchmarksAndSizesGivenUpAreLeftOutAndNamed) {
  const MeasuredTable table = read_mpi_text(
      imb("Alltoall", 8, "  8  1000  4.1  4.3  4.2\n") +
      imb("Allreduce", 1, "  8  1000  0.1  0.3  0.2\n") +
      imb("Allreduce", 8,
          "  8  1000  4.1  4.3  4.2\n"
          "  4194304  1 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over\n"));
  ASSERT_EQ(table.times.size(), 1U);
  EXPECT_EQ(table.times[0].scale.ranks, 8);
  EXPECT_THAT(table.notes, testing::UnorderedElementsAre(
                               HasSubstr("2 times of 'IMB Alltoall, 8 processes'"),
                               HasSubstr("2 times of 'IMB Allreduce, 1 processes'"),
                               HasSubstr("4194304 bytes have no time, IMB gave up: time-out")));
  EXPECT_THAT(refusal_of_mpi_text(imb("Alltoall", 8, "  8  1000  4.1  4.3  4.2\n")),
              HasSubstr("2 times of 'IMB Alltoall"));
}

TEST(ImbTest, WithoutItsTitleATableIsOfNothingThatIsKnown) {
  for (const std::string above : {"", "# #processes = 4 \n"}) {
    EXPECT_THAT(refusal_of_mpi_text(above + imb_heading + "8  1000  4.1  4.3  4.2\n"),
                HasSubstr("a row before a line that says of what, as '# Benchmarking Allreduce'"));
  }
}

TEST(ImbTest, GroupsThatMeasureBesideEachOtherAreNoTableOfOne) {
  const std::string text =
      "# Benchmarking Multi-Allreduce\n# ( 2 groups of 4 processes each running simultaneous )\n";
  EXPECT_THAT(refusal_of_mpi_text(text + imb_heading + "0  8  1000  4.1  4.3  4.2\n"),
              HasSubstr("no row of"));
}

TEST(OsuTest, AValidatedTableSaysWhatFailed) {
  const std::string text =
      "# OSU MPI Allreduce Latency Test v7.3\n# Datatype: MPI_INT.\n"
      "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations  Validation\n"
      "4   53.34   24.80  158.96  1000   Pass\n1024   55.48  24.05  134.61  1000   Fail\n";
  const MeasuredTable table = read_mpi_text(text, {.ranks = 4});
  ASSERT_EQ(table.times.size(), 2U);
  EXPECT_EQ(table.times[0].wrong, 0);
  EXPECT_EQ(table.times[0].type, DataType::i32);
  EXPECT_DOUBLE_EQ(table.times[0].high.count(), 158.96e-6);
  EXPECT_TRUE(table.times[1].is_wrong());
}

TEST(OsuTest, OtherTestsOfOneLogAreNoAllReduces) {
  const std::string all_reduce = "# OSU MPI Allreduce Latency Test v7.3\n";
  const std::string columns = "# Size       Avg Latency(us)\n";
  const MeasuredTable table = read_mpi_text(
      "# OSU MPI Allgather Latency Test v7.3\n" + columns + "4   3.34\n" + all_reduce + columns +
          "4   5.5\n# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n4 1.25\n",
      {.ranks = 4});
  ASSERT_EQ(table.times.size(), 1U);
  EXPECT_DOUBLE_EQ(table.times[0].time.count(), 5.5e-6);
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("'OSU MPI Allgather Latency Test'"),
                                       HasSubstr("'OSU MPI Latency Test'")));
  for (const char* other : {"# OSU MPI Reduce Latency Test v7.3\n",
                            "# OSU MPI Non-blocking Allreduce Latency Test v7.3\n"}) {
    EXPECT_THAT(refusal_of_mpi_text(other + columns + "4   3.34\n"),
                HasSubstr("left out: 1 times of 'OSU MPI"));
  }
}

TEST(OsuTest, TheTestOfNcclIsOfNccl) {
  const auto library_of = [](const std::string& title) {
    const std::string text =
        "# OSU " + title + " Test v7.5\n# Size       Avg Latency(us)\n8  27.4\n";
    return read_foreign(text, "osu.txt", {.ranks = 8}).times.at(0).library;
  };
  EXPECT_EQ(library_of("NCCL-CUDA Allreduce Latency"), "nccl");
  EXPECT_EQ(library_of("NCCL Allreduce Latency"), "nccl");
  EXPECT_EQ(library_of("RCCL-ROCM Allreduce Latency"), "rccl");
  EXPECT_EQ(library_of("MPI-CUDA Allreduce Latency"), "mpi");
}

TEST(OsuTest, EveryTableHasTheRanksOfTheCommandAboveIt) {
  const std::string table_text =
      "# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n4   5.5\n";
  const MeasuredTable table =
      read_mpi_text("$ mpirun -np 32 -N 8 \\\n  ./osu_allreduce -m 4:4\n" + table_text +
                    "$ mpirun -np 64 -N 8 ./osu_allreduce\n" + table_text);
  ASSERT_EQ(table.times.size(), 2U);
  EXPECT_EQ(table.times[0].scale, (Scale{32, 4}));
  EXPECT_EQ(table.times[1].scale, (Scale{64, 8}));
}

TEST(LaunchCommandTest, SaysWhatTheLauncherWasAskedFor) {
  const std::pair<const char*, Scale> commands[] = {
      {"mpirun -np 8 osu_allreduce", {8, 0}},
      {"~> mpiexec -n 6 -ppn 6 --cpu-bind list:2:15 /home/x/osu_allreduce -m 2048:2048", {6, 1}},
      {"mpirun -host a,b -np 2 -verbose nccl-tests/build/all_reduce_perf -b 8 -g 1", {2, 0}},
      {"srun -N 4 --ntasks-per-node=8 --label -- all_gather_perf -b 64K -n 100", {32, 4}},
      {"srun --nodes=4 --ntasks=32 osu_allreduce", {32, 4}},
      {"mpirun --map-by ppr:8:node -np 16 IMB-MPI1 Allreduce", {16, 2}},
      {"mpirun --map-by ppr:2:socket -np 16 IMB-MPI1 Allreduce", {16, 0}},
      {"aprun -n 48 -N 24 mpitests-IMB-MPI1 Allreduce", {48, 2}},
      {"mpirun -np 7 -N 2 osu_allreduce", {7, 0}},
  };
  for (const auto& [line, scale] : commands) {
    BenchmarkCommand command;
    command.add(line);
    ASSERT_TRUE(command.scale().has_value()) << line;
    EXPECT_EQ(*command.scale(), scale) << line;
  }
}

TEST(LaunchCommandTest, ALineWithoutABenchmarkOrNumbersSaysNothing) {
  for (const char* line :
       {"mpirun -np 8 hostname", "osu_allreduce -n 8", "mpirun osu_allreduce",
        "mpirun -np x osu_allreduce", "srun -N", "", "mpirun -np 2147483647 -ppn 5 osu_allreduce",
        // 641 x 6700417 is 2^32 + 1
        "srun --nodes=10256 --ntasks-per-node=6700417 osu_allreduce"}) {
    BenchmarkCommand command;
    command.add(line);
    EXPECT_FALSE(command.scale().has_value()) << line;
  }
  BenchmarkCommand command;
  command.add("mpirun -np 8 osu_allreduce");
  command.add("mpirun osu_allreduce");  // the table below it is not of 8
  EXPECT_FALSE(command.scale().has_value());
}

TEST(LaunchCommandTest, TellsTheRanksOfAPastedTableOfNcclTests) {
  const std::string columns = "# size count type redop root time algbw busbw #wrong\n";
  // 2 (n - 1) / n of 512 and of 511 ranks differ by less than the digits.
  const MeasuredTable table =
      read_mpi_text("mpirun -np 64 -N 1 all_reduce_perf -g 8\n# nThread 1 nGpus 8 minBytes 8\n" +
                    columns + "1048576 262144 float sum -1 100.0 10.49 20.94 0\n");
  EXPECT_EQ(table.times.at(0).scale, (Scale{512, 64}));
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("512 ranks, by the command")));
  // The bandwidths are of 4 ranks, so the command above is that of another table.
  EXPECT_EQ(read_mpi_text("mpirun -np 64 all_reduce_perf\n" + columns +
                          "1048576 262144 float sum -1 10.0 104.86 157.29 0\n")
                .times.at(0)
                .scale.ranks,
            4);
  // 641 x 6700417 is 2^32 + 1.
  const MeasuredTable too_many =
      read_mpi_text("mpirun -np 16 all_reduce_perf\n# nThread 641 nGpus 6700417 minBytes 8\n" +
                    columns + "1048576 262144 float sum -1 100.0 10.49 19.67 0\n");
  EXPECT_THAT(too_many.notes, ElementsAre(HasSubstr("16 ranks, by busbw and algbw")));
  // 2 - 2^-32, as of 2^33 ranks.
  EXPECT_THROW(read_mpi_text(columns + "1048576 262144 float sum -1 100.0 1.000000000000000000000 "
                                       "1.99999999976716935634613037109375 0\n"),
               InvalidArgument);
}

TEST(NamedTimesTest, TablesOfImbAreToldApartByBenchmarkAndProcesses) {
  const std::string text =
      imb("Reduce", 2, "  8  1000  4.1  4.3  4.2\n") +
      imb("Allreduce", 4, "  8  1000  4.1  4.3  4.5\n") +
      "# Benchmarking PingPong\n# #processes = 2\n"
      "       #bytes #repetitions      t[usec]   Mbytes/sec\n  8  1000  0.5  16.0\n";
  const auto cases = read_named_times(parse_times_request("--read", "imb"), text, "out");
  ASSERT_EQ(cases.size(), 5U);
  EXPECT_EQ(cases[0].name, "IMB Reduce, 2 processes/0");
  EXPECT_EQ(cases[1].name, "IMB Reduce, 2 processes/8");
  EXPECT_EQ(cases[3].name, "IMB Allreduce, 4 processes/8");
  EXPECT_THAT(cases[4].ns, ElementsAre(500));
}

// As stern and syslog write them.
TEST(MpiBenchmarks, WordsAndTimesMayStandBeforeEachLine) {
  for (const std::string before : {"launcher-0 main ", "Nov 30 06:02:42 node001 app[123]: "}) {
    const std::string text = before + "# OSU MPI Allreduce Latency Test v7.3\n" + before +
                             "# Size       Avg Latency(us)\n" + before + "4  2.91\n";
    EXPECT_EQ(read_foreign(text, "file", {.ranks = 4}).times.size(), 1U) << before;
  }
}

}  // namespace
}  // namespace collbench
