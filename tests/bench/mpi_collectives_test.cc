// Tables of the OSU and Intel MPI Benchmarks of other collectives than the all-reduce: whose sizes
// count the vector, and whose a share of it.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "bench/foreign/foreign_tables.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::Contains;
using testing::HasSubstr;

TableHints wanted(CollectiveKind kind, int ranks = 0) {
  return {.ranks = ranks, .collective = kind};
}

std::string osu_table(const std::string& call) {
  return "# OSU MPI " + call +
         " Latency Test v7.4\n# Datatype: MPI_CHAR.\n"
         "# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations\n"
         "1  2.5  1.5  3.5  1000\n1024  9.5  8.5  12.5  1000\n";
}

std::string imb_table(const std::string& call, const std::string& version) {
  return "#    Intel(R) MPI Benchmarks " + version + ", MPI-1 part\n# Benchmarking " + call +
         "\n# #processes = 4\n  #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
         "  0  1000  0.06  0.09  0.08\n  1024  1000  8.5  12.5  9.5\n";
}

MeasuredTable read_one(const std::string& text, const TableHints& hints) {
  return read_foreign(text, "table.txt", hints);
}

TEST(MpiCollectives, SizesOfOsuAreThoseOfTheVectorOrOfAShare) {
  const std::pair<const char*, CollectiveKind> calls[] = {
      {"Allgather", CollectiveKind::all_gather},
      {"Reduce_scatter", CollectiveKind::reduce_scatter},
      {"Broadcast", CollectiveKind::broadcast},
      {"Reduce", CollectiveKind::reduce}};
  for (const auto& [call, kind] : calls) {
    const MeasuredTable table = read_one(osu_table(call), wanted(kind, 8));
    ASSERT_EQ(table.times.size(), 2U) << call;
    EXPECT_EQ(table.times[1].collective, kind);
    EXPECT_EQ(table.times[1].bytes.count, kind == CollectiveKind::all_gather ? 8192 : 1024) << call;
    // A root leaves early, and is no measure of when all have what they are to have.
    EXPECT_DOUBLE_EQ(table.times[1].time.count(), has_root(kind) ? 12.5e-6 : 9.5e-6) << call;
    const std::string text = osu_table(call);
    EXPECT_THAT(refusal([&] { read_one(text, wanted(CollectiveKind::all_reduce, 8)); }),
                HasSubstr("no row of OSU's or IMB's table of all-reduce"));
  }
  const std::string launched = "mpirun -np 16 osu_allgather\n" + osu_table("Allgather");
  EXPECT_EQ(read_one(launched, wanted(CollectiveKind::all_gather)).times[1].bytes.count, 16384);
  EXPECT_THAT(
      refusal([&] { read_one(osu_table("Allgather"), wanted(CollectiveKind::all_gather)); }),
      HasSubstr("how many ranks is not said"));
}

TEST(MpiCollectives, OtherCallsAreNone) {
  for (const char* call :
       {"Allgatherv", "Non-blocking Allgather", "Non-blocking Reduce_scatter", "Alltoall"}) {
    for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
      EXPECT_THROW(read_one(osu_table(call), wanted(kind, 8)), InvalidArgument) << call;
    }
  }
  EXPECT_THAT(
      refusal([&] { read_one(osu_table("Allgatherv"), wanted(CollectiveKind::all_gather, 8)); }),
      HasSubstr("'OSU MPI Allgatherv Latency Test', which is not MPI_Allgather"));
}

// Of 1024 bytes and 6 ranks it reduces 170 characters for each, of 1 byte nothing.
TEST(MpiCollectives, OsusReduceScatterBlockTakesWholeShares) {
  const std::string text = osu_table("Reduce_scatter_block");
  const TableHints scatter = wanted(CollectiveKind::reduce_scatter, 6);
  const MeasuredTable table = read_one(text, scatter);
  ASSERT_EQ(table.times.size(), 1U);
  EXPECT_EQ(table.times[0].bytes.count, 1020);
  EXPECT_DOUBLE_EQ(table.times[0].time.count(), 9.5e-6);
  EXPECT_THAT(table.notes, Contains(HasSubstr("left out: 1 size below an element a rank, of 'OSU "
                                              "MPI Reduce_scatter_block")));
  // Two calls are no repeats of one.
  const MeasuredTable both = read_one(osu_table("Reduce_scatter") + text, scatter);
  EXPECT_EQ(both.times.size(), 2U);
  EXPECT_THAT(both.notes,
              Contains(HasSubstr("left out: 2 times of 'OSU MPI Reduce_scatter_block")));
}

// src/IMB_reduce_scatter.c of intel/mpi-benchmarks before and after df3db3a.
TEST(MpiCollectives, SizesOfImbsReduceScatterDependOnItsVersion) {
  const TableHints scatter = wanted(CollectiveKind::reduce_scatter);
  const auto bytes_of = [&](const std::string& text) {
    return read_one(text, scatter).times.at(0).bytes.count;
  };
  EXPECT_EQ(bytes_of(imb_table("Reduce_scatter", "2018 Update 1")), 1024);
  EXPECT_EQ(bytes_of(imb_table("Reduce_scatter", "4.1 Update 1")), 1024);
  EXPECT_EQ(bytes_of(imb_table("Reduce_scatter", "2019 Update 6")), 4096);
  EXPECT_EQ(bytes_of(imb_table("Reduce_scatter", "2021.7")), 4096);
  EXPECT_EQ(bytes_of(imb_table("Reduce_scatter_block", "2021.7")), 4096);
  const std::string untold = imb_table("Reduce_scatter", "2021.7");
  EXPECT_THAT(refusal([&] { read_one(untold.substr(untold.find('\n')), scatter); }),
              HasSubstr("count the vector up to IMB 2018"));
  // Two calls are no repeats of one.
  const MeasuredTable both = read_one(
      imb_table("Reduce_scatter", "2021.7") + imb_table("Reduce_scatter_block", "2021.7"), scatter);
  EXPECT_EQ(both.times.size(), 1U);
  EXPECT_THAT(both.notes, Contains(HasSubstr("left out: 2 times of 'IMB Reduce_scatter_block")));
}

TEST(MpiCollectives, ImbsOthersCountAsOsus) {
  const auto first = [](const char* call, CollectiveKind kind) {
    return read_one(imb_table(call, "2021.7"), wanted(kind)).times.at(0);
  };
  EXPECT_EQ(first("Allgather", CollectiveKind::all_gather).bytes.count, 4096);
  EXPECT_EQ(first("Reduce", CollectiveKind::reduce).bytes.count, 1024);
  const MeasuredTime broadcast = first("Bcast", CollectiveKind::broadcast);
  EXPECT_EQ(broadcast.bytes.count, 1024);
  EXPECT_DOUBLE_EQ(broadcast.time.count(), 12.5e-6);
}

TEST(MpiCollectives, SharesOfMoreBytesThanThereAreAreRefused) {
  const std::string text =
      "# OSU MPI Allgather Latency Test v7.4\n# Size  Avg Latency(us)\n"
      "4611686018427387904  2.5\n";
  EXPECT_THAT(refusal([&] { read_one(text, wanted(CollectiveKind::all_gather, 8)); }),
              HasSubstr("8 ranks of 4611686018427387904 bytes each"));
}

TEST(MpiTypes, MpisOtherNamesHaveTheirSizes) {
  const auto type_of = [](const std::string& name) {
    const std::string text = "# OSU MPI Allreduce Latency Test v7.4\n# Datatype: " + name +
                             ".\n# Size  Avg Latency(us)\n1024  2.5\n";
    const MeasuredTable table = read_one(text, {.ranks = 4});
    EXPECT_TRUE(table.notes.empty()) << name;
    return table.times.at(0).type;
  };
  EXPECT_EQ(type_of("MPI_CHAR"), DataType::u8);
  EXPECT_EQ(type_of("MPI_BYTE"), DataType::u8);
  EXPECT_EQ(type_of("MPI_INT64_T"), DataType::i64);
  EXPECT_EQ(type_of("MPI_UNSIGNED"), DataType::i32);
  EXPECT_EQ(type_of("MPI_FLOAT"), DataType::f32);
}

}  // namespace
}  // namespace collbench
