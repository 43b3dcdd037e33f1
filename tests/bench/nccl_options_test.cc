// Tables of nccl-tests with the columns and conditions of its options (-S, -C, -I, -m, -z, -u,
// -d all), and of several tests that wrote at once.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/foreign/foreign_tables.h"
#include "bench/foreign/row_order.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Without the note that tells the ranks by the rows.
MeasuredTable read_text(const std::string& text) {
  MeasuredTable table = read_foreign(text, "table.txt");
  std::erase_if(table.notes,
                [](const std::string& note) { return note.find("8 ranks, by") != note.npos; });
  return table;
}

std::string heading_of(const std::string& half, const std::string& behind = "") {
  return "# size count type redop root " + half + " " + half + " " + behind + "\n";
}

// As src/util.cu of nccl-tests 2.19 writes them: the time stands once, behind the second half.
TEST(NcclOptions, TheTimeOfDayBehindARowIsNoColumn) {
  const std::string row =
      "  8388608  2097152  float  sum  -1  141.1  59.43  104.01  0  140.9  59.55  104.21  0  "
      "2026-07-09 16:03:21\n";
  const std::string half = "time algbw busbw #wrong";
  for (const std::string& text :
       {heading_of(half, "timestamp") + row, heading_of(half) + row, row}) {
    const MeasuredTable table = read_text(text);
    ASSERT_EQ(table.times.size(), 2U) << text;
    EXPECT_DOUBLE_EQ(table.times[0].time.count(), 141.1e-6);
    EXPECT_DOUBLE_EQ(table.times[1].time.count(), 140.9e-6);
    EXPECT_TRUE(table.times[1].in_place);
    EXPECT_EQ(table.times[1].wrong, 0);
  }
}

TEST(NcclOptions, TheTimeOfDayMayStandBehindTheSpreadOfIterations) {
  const std::string text =
      heading_of("time algbw busbw #wrong i_min i_max i_p99 i_cv%", "timestamp") +
      "8388608 2097152 float sum -1 141.1 59.43 104.01 0 140.1 150.2 149.0 1.2 140.9 59.55 104.21 "
      "0 139.9 161.3 149.0 1.2 2026-07-09 16:03:21\n";
  const MeasuredTable table = read_text(text);
  ASSERT_EQ(table.times.size(), 2U);
  EXPECT_DOUBLE_EQ(table.times[0].high.count(), 150.2e-6);
  EXPECT_DOUBLE_EQ(table.times[1].high.count(), 161.3e-6);
}

// The processor takes 4.1 us to launch what takes 141.
TEST(NcclOptions, LaunchTimesAreNoTimesOfACollective) {
  const MeasuredTable table =
      read_text(heading_of("cputime algbw busbw #wrong") +
                "8 2 float sum -1 4.10 0.00 0.00 0 4.05 0.00 0.00 0\n"
                "8388608 2097152 float sum -1 4.12 59.43 104.01 0 4.09 59.55 104.21 0\n");
  ASSERT_EQ(table.times.size(), 2U);
  EXPECT_NEAR(table.times[0].time.count(), 141.15e-6, 0.01e-6);
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("2 times whose algbw has too few digits"),
                                       HasSubstr("times are those of launches (-C 1)")));
  const std::string json =
      R"({"config":{"devices":[{"hostname":"a"},{"hostname":"a"}]},"results":[{"size":1000,
      "type":"float","redop":"sum","out_of_place":{"cpu_time":4.1,"alg_bw":0.050000}}]})";
  const MeasuredTime taken = read_foreign(json, "file").times.at(0);
  EXPECT_DOUBLE_EQ(taken.time.count(), 20e-6);
}

TEST(NcclOptions, WhatMakesTimesOthersIsNoted) {
  const std::string rows = heading_of("time algbw busbw #wrong") +
                           "8388608 2097152 float sum -1 141.1 59.43 104.01 0 140 59.9 104.8 0\n";
  const auto notes_of = [&](const std::string& first) { return read_text(first + rows).notes; };
  const std::string usual = "# nThread 1 nGpus 1 iters: 20 agg iters: 1 graph: 0 unalign: 0\n";
  EXPECT_THAT(notes_of(usual), IsEmpty());
  EXPECT_THAT(
      notes_of("# nThread 1 nGpus 1 iters: 20 agg iters: 4 graph: 0 unalign: 1\n"),
      ElementsAre(HasSubstr("launched 4 at a time"), HasSubstr("not aligned (unalign: 1)")));
  EXPECT_THAT(notes_of(usual + "# Blocking Enabled: wait and barrier after each inner iteration\n"),
              ElementsAre(HasSubstr("each call was waited for (-z)")));
  const std::string json =
      R"({"config":{"devices":[{"hostname":"a"},{"hostname":"a"}],"graph":0,
      "aggregated_iterations":2,"blocking_collectives":"true"},"results":[{"size":1000,
      "type":"float","redop":"sum","out_of_place":{"time":4.1}}]})";
  EXPECT_THAT(read_foreign(json, "file").notes,
              ElementsAre(HasSubstr("launched 2 at a time"), HasSubstr("(-z)")));
}

// -d all and -o all
TEST(NcclOptions, TypesAndOperatorsThatAreNoneOfOursAreLeftOut) {
  const auto row = [](const char* names) {
    return fmt::format("8388608 2097152 {} -1 141.1 59.43 104.01 0\n", names);
  };
  const MeasuredTable table = read_text(heading_of("time algbw busbw #wrong") + row("int8 sum") +
                                        row("int8 max") + row("float mulsum") + row("float sum"));
  EXPECT_EQ(table.times.size(), 1U);
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("1 rows of float mulsum"),
                                       HasSubstr("of int8 max"), HasSubstr("of int8 sum")));
}

std::string row_of_size(int bytes) {
  return fmt::format("{} {} float sum -1 141.1 59.43 104.01 0\n", bytes, bytes / 4);
}

TEST(NcclOptions, RowsOfSeveralTestsThatWroteAtOnceAreNoted) {
  const auto notes_of = [](std::initializer_list<int> sizes) {
    std::string text = heading_of("time algbw busbw #wrong");
    for (const int size : sizes) text += row_of_size(size);
    return read_text(text).notes;
  };
  const auto alternates = Contains(HasSubstr("its sizes go back and forth"));
  EXPECT_THAT(notes_of({8, 8, 16, 16, 32, 32, 64, 64}), alternates);
  EXPECT_THAT(notes_of({8, 16, 8, 32, 16, 64, 32, 64}), alternates);
  EXPECT_THAT(notes_of({8, 8, 8, 16, 16, 16, 32, 32, 32}), alternates);
  EXPECT_THAT(notes_of({8, 16, 32, 8, 16, 32, 8, 16, 32}), Not(alternates)) << "-N 3";
  EXPECT_THAT(notes_of({8, 16, 32, 8, 16, 32, 64, 128}), Not(alternates)) << "another -e";
  EXPECT_THAT(notes_of({64, 32, 16, 8}), Not(alternates));
  EXPECT_THAT(notes_of({64, 64, 64, 64}), Not(alternates));
}

TEST(RowOrder, EachTypeHasSweepsOfItsOwn) {
  RowOrder order;
  for (const int bytes : {8, 16, 32}) {
    for (const char* type : {"float sum", "half sum"}) order.add(type, bytes);
  }
  EXPECT_FALSE(order.alternates());
  EXPECT_FALSE(order.repeats());
  order.add("half sum", 16);
  EXPECT_TRUE(order.repeats());
}

}  // namespace
}  // namespace collbench
