// The file of a calibration: machines whose costs are known are found again in what they would
// measure, and points come back as they were written.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "heuristics/calibration/fitted_machine.h"
#include "heuristics/predict.h"
#include "topologies/machine_file.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

struct TrueCosts {
  double overhead;   // seconds
  double latency;    // seconds
  double rate;       // bytes per second
  double reduction;  // bytes per second
};

/// What our algorithms would take on a star with these costs, one rank on each node.
std::vector<MeasuredTime> measured_on(const TrueCosts& costs, bool network,
                                      const char* library = "ours", Seconds gap = Seconds{0}) {
  LinkClass link;
  link.name = "link";
  link.level = network ? 1 : 0;
  link.nominal = Bandwidth{costs.rate};
  link.latency = Seconds{costs.latency};
  std::vector<MeasuredTime> rows;
  for (const char* algorithm : {"ring", "halving-doubling", "recursive-doubling", "one-shot"}) {
    for (const int ranks : {2, 4, 8, 16}) {
      Machine machine{star(ranks, link), {}, "", ""};
      machine.costs.reduction_rate = Bandwidth{costs.reduction};
      machine.costs.per_collective = Seconds{costs.overhead};
      machine.costs.message_gap = {Seconds{0}, gap};
      const Schedule schedule = make_schedule(algorithm, ranks);
      const std::vector<Host> hosts = place("row-major", ranks, machine.topology);
      for (std::int64_t bytes = 1 << 10; bytes <= 1 << 26; bytes *= 8) {
        MeasuredTime row;
        row.library = library;
        row.algorithm = algorithm;
        row.scale = {ranks, network ? ranks : 1};
        row.bytes = Bytes{bytes};
        row.time = predict(schedule, machine, hosts, {bytes / 4, DataType::f32, "", true}).time();
        rows.push_back(row);
      }
    }
  }
  return rows;
}

TEST(FittedMachineTest, FindsTheCostsOfTheMachineThatMeasured) {
  for (const TrueCosts& truth :
       {TrueCosts{10e-6, 2e-6, 12.5e9, 20e9}, TrueCosts{3e-6, 20e-6, 1.25e9, 5e9},
        TrueCosts{50e-6, 1e-6, 100e9, 40e9}}) {
    for (const bool network : {true, false}) {
      const FittedMachine fitted = fit_machine(Calibration(measured_on(truth, network)));
      EXPECT_EQ(fitted.network, network);
      EXPECT_EQ(fitted.ranks_per_node, network ? 1 : 16);
      const FittedCost& latency = network ? fitted.network_latency : fitted.node_latency;
      const FittedCost& rate = network ? fitted.network_rate : fitted.node_rate;
      EXPECT_NEAR(fitted.overhead.value / truth.overhead, 1, 0.05);
      EXPECT_NEAR(latency.value / truth.latency, 1, 0.05);
      EXPECT_NEAR(rate.value / truth.rate, 1, 0.05);
      EXPECT_NEAR(fitted.reduction_rate.value / truth.reduction, 1, 0.05);
      EXPECT_LT(fitted.error, 0.02);
      EXPECT_THAT(fitted.basis, AllOf(HasSubstr("halving-doubling"), HasSubstr("ring")));
    }
  }
}

TEST(FittedMachineTest, IsThatOfOneSystemAndOfOneLevel) {
  const TrueCosts truth{10e-6, 20e-6, 10e9, 20e9};
  const TrueCosts fast{1e-6, 1e-6, 500e9, 400e9};
  std::vector<MeasuredTime> rows = measured_on(truth, true);
  for (MeasuredTime& row : measured_on(fast, true, "nccl")) {
    if (row.scale.ranks < 16) rows.push_back(row);  // another library
  }
  for (MeasuredTime& row : measured_on(fast, true)) {
    row.system = "another";
    if (row.scale.ranks < 16) rows.push_back(row);
  }
  for (MeasuredTime& row : measured_on(fast, false)) rows.push_back(row);  // inside a node
  const FittedMachine fitted = fit_machine(Calibration(rows));
  EXPECT_NEAR(fitted.network_latency.value / truth.latency, 1, 0.05);
  EXPECT_NEAR(fitted.network_rate.value / truth.rate, 1, 0.05);
  EXPECT_THAT(fitted.basis, HasSubstr("; only of ours"));
}

TEST(FittedMachineTest, TheRateReachedIsThatOfTheSystemOfTheTrend) {
  std::vector<MeasuredTime> rows;
  for (const auto& [system, rate] : {std::pair{"a", 20e9}, {"b", 500e9}}) {
    for (const int nodes : {2, 4, 8}) {
      if (rate > 100e9 && nodes > 4) continue;
      for (std::int64_t bytes = 1 << 10; bytes <= 1 << 28; bytes *= 4) {
        MeasuredTime row = measured_on({1e-6, 1e-6, 1e9, 1e9}, true, "nccl").front();
        row.system = system;
        row.algorithm = "auto";
        row.scale = {4 * nodes, nodes};
        row.bytes = Bytes{bytes};
        row.time = Seconds{20e-6 + 2 * static_cast<double>(bytes) / rate};
        rows.push_back(row);
      }
    }
  }
  EXPECT_LT(fit_machine(Calibration(rows)).network_rate.value, 25e9);
}

TEST(FittedMachineTest, CostsThatDoNotExplainTheTimesSaySo) {
  std::vector<MeasuredTime> rows = measured_on({10e-6, 2e-6, 12.5e9, 20e9}, true);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].time *= i % 2 == 0 ? 5 : 0.2;
  const Calibration calibration(rows);
  EXPECT_GT(fit_machine(calibration).error, 0.3);
  EXPECT_THAT(to_toml(calibration, "made", "test"), HasSubstr("the same times are off by"));
}

// What one host measured of MPI's own algorithms has constants of a host, whose messages are those
// of its one link.
TEST(FittedMachineTest, AHostHasALinkInsideIt) {
  std::vector<MeasuredTime> rows;
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 26; bytes *= 8) {
    for (const char* algorithm : {"recursive_doubling_ompi", "ring_ompi"}) {
      MeasuredTime row;
      row.library = "openmpi 4.1.5";
      row.algorithm = algorithm;
      row.scale = {.ranks = 4, .nodes = 1, .cores = 4};
      row.bytes = Bytes{bytes};
      row.time = Seconds{3e-6 + 4 * static_cast<double>(bytes) / 5e9};
      rows.push_back(row);
    }
  }
  const Calibration calibration(rows);
  ASSERT_EQ(calibration.structures().size(), 1U);
  const FittedMachine fitted = fit_machine(calibration);
  EXPECT_GT(fitted.node_rate.value, 0);
  EXPECT_EQ(fitted.network_rate.value, 0);
  EXPECT_NO_THROW(
      machine_from_toml(to_toml(calibration, "made", "test"), "host.toml", {.workers = 4}));
}

// One-shot sends a message to every other rank at once, which latency would have to explain.
TEST(FittedMachineTest, MessagesOverTcpAndOfNcclKeepTheGapOfTheirTechnologyBetweenNodes) {
  const TrueCosts truth{10e-6, 5e-6, 1.25e9, 5e9};
  struct Row {
    const char* library;
    double gap_us;
  };
  for (const Row& row : {Row{"grpc", 3.5}, Row{"nccl", 1}, Row{"ours", 0}}) {
    const Seconds gap{row.gap_us * 1e-6};
    const Calibration calibration(measured_on(truth, true, row.library, gap));
    const FittedMachine fitted = fit_machine(calibration);
    EXPECT_NEAR(fitted.network_latency.value / truth.latency, 1, 0.02) << row.library;
    EXPECT_LT(fitted.error, 0.01) << row.library;
    const Machine read =
        machine_from_toml(to_toml(calibration, "made", "test"), "made.toml", {.workers = 16})
            .machine;
    const auto time = [&](const char* algorithm) {
      return predict(make_schedule(algorithm, 16), read, place("row-major", 16, read.topology),
                     {16, DataType::f32, "", true})
          .time();
    };
    EXPECT_EQ(time("one-shot") > time("recursive-doubling"), row.gap_us > 3) << row.library;
  }
  const Calibration inside(measured_on(truth, false, "grpc"));
  EXPECT_EQ(fit_machine(inside).message_gap, Seconds{0}) << "one node";
}

TEST(FittedMachineTest, AnErrorOfAFewRowsDoesNotMoveTheCosts) {
  const TrueCosts truth{10e-6, 2e-6, 12.5e9, 20e9};
  std::vector<MeasuredTime> rows = measured_on(truth, true);
  for (std::size_t i = 5; i < rows.size(); i += 25) rows[i].time *= 6;
  const FittedMachine fitted = fit_machine(Calibration(rows));
  EXPECT_NEAR(fitted.network_latency.value / truth.latency, 1, 0.25);
  EXPECT_NEAR(fitted.network_rate.value / truth.rate, 1, 0.25);
}

MeasuredTime plain_row(std::int64_t bytes, double seconds) {
  MeasuredTime row;
  row.library = "nccl";
  row.algorithm = "ring";
  row.scale = {8, 2};
  row.bytes = Bytes{bytes};
  row.time = row.low = row.high = Seconds{seconds};
  return row;
}

TEST(CalibrationFileTest, PointsOfEveryMethodComeBackAsTheyWereWritten) {
  std::vector<MeasuredTime> rows;
  int turn = 0;
  for (const DataType type : all_data_types()) {
    for (const char* name : {"auto", "BINE-L_CONT-0-1", "with \"quotes\"", "back\\slash", "ü"}) {
      for (const Scale scale : {Scale{8, 2}, Scale{8, 0}, Scale{64, 8}}) {
        for (std::int64_t bytes = 8; bytes <= 8 << 12; bytes *= 8) {
          MeasuredTime row = plain_row(bytes, 1.23456e-6 * (1 + static_cast<double>(bytes)));
          row.system = turn % 2 == 0 ? "" : "a system";
          row.protocol = turn % 3 == 0 ? "LL128" : "";
          row.algorithm = name;
          row.type = type;
          row.op = all_reduce_ops()[static_cast<std::size_t>(turn) % all_reduce_ops().size()];
          row.in_place = turn % 2 == 1;
          row.scale = scale;
          rows.push_back(row);
        }
      }
      ++turn;
    }
  }
  const Calibration calibration(rows);
  const std::string text = to_toml(calibration, "a \"summary\"", "back\\slash");
  const Calibration stored = stored_calibration(text, "made.toml").value();
  const std::span<const MeasuredTime> read = stored.points();
  std::vector<MeasuredTime> written;
  for (const MethodModel& model : calibration.models()) {
    written.insert(written.end(), model.points().begin(), model.points().end());
  }
  ASSERT_EQ(read.size(), rows.size());
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(method_of(read[i]), method_of(written[i])) << i;
    EXPECT_EQ(read[i].scale, written[i].scale) << i;
    EXPECT_EQ(read[i].bytes, written[i].bytes) << i;
    EXPECT_NEAR(read[i].time / written[i].time, 1, 1e-5) << i;
    EXPECT_EQ(read[i].low, read[i].time);
    EXPECT_EQ(read[i].high, read[i].time);
  }
  EXPECT_NO_THROW(machine_from_toml(text, "made.toml"));
}

TEST(CalibrationFileTest, NoFlippedBitAndNoCutIsReadInSilence) {
  std::vector<MeasuredTime> rows;
  for (const std::int64_t bytes : {1 << 10, 1 << 14, 1 << 18, 1 << 22}) {
    rows.push_back(plain_row(bytes, 1e-5 + static_cast<double>(bytes) * 1e-10));
  }
  const std::string text = to_toml(Calibration(rows), "made", "made");
  const std::size_t first_line = text.find('\n') + 1;
  const auto refuses = [](const std::string& damaged) {
    EXPECT_THROW(stored_calibration(damaged, "made.toml"), InvalidArgument);
    try {
      machine_from_toml(damaged, "made.toml");
    } catch (const InvalidArgument& e) {
      return std::string(e.what()).find("made.toml:1: the lines below do not fit") == 0;
    }
    return false;
  };
  for (std::size_t at = first_line; at < text.size(); at += 13) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 7));
    EXPECT_TRUE(refuses(damaged)) << "byte " << at;
    EXPECT_TRUE(refuses(text.substr(0, at))) << "cut at byte " << at;
  }
  // Without the line a file is the user's own.
  std::string edited = text.substr(first_line);
  edited.replace(edited.find("made"), 4, "mine");
  const Calibration again = stored_calibration(edited, "made.toml").value();
  EXPECT_EQ(again.points().size(), rows.size());
}

TEST(CalibrationFileTest, OddSizesComeBackExactly) {
  std::vector<MeasuredTime> rows;
  for (const std::int64_t bytes : {1, 7, 1000, 1023, 65537, 1'000'003, 123'456'789}) {
    rows.push_back(plain_row(bytes, 1e-6 + static_cast<double>(bytes) * 1e-9));
  }
  const std::string text = to_toml(Calibration(rows), "", "");
  const Calibration stored = stored_calibration(text, "made.toml").value();
  const std::span<const MeasuredTime> read = stored.points();
  ASSERT_EQ(read.size(), rows.size());
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i].bytes, rows[i].bytes);
}

TEST(CalibrationFileTest, BrokenPointsAreRefusedWithTheirLine) {
  const std::string good[] = {"[[calibration]]", "library = \"nccl\"",  "algorithm = \"ring\"",
                              "type = \"f32\"",  "op = \"sum\"",        "ranks = 4",
                              "nodes = 2",       "sizes = [\"1 KiB\"]", "times = [\"3 us\"]"};
  struct Row {
    int line;  // from 1; that one is replaced
    const char* by;
    const char* words;
  };
  for (const Row& row :
       {Row{4, "type = \"f33\"", "f33"}, Row{5, "op = \"summ\"", "summ"},
        Row{6, "ranks = 0", "ranks"}, Row{6, "ranks = \"4\"", "ranks"},
        Row{7, "nodes = -1", "nodes"}, Row{8, "sizes = [\"1 Kib?\"]", "1 Kib?"},
        Row{9, "times = [\"3 parsecs\"]", "parsecs"}, Row{9, "times = [\"0 us\"]", "above 0"},
        Row{9, "times = [\"3 us\", \"4 us\"]", "2 times"},
        Row{3, "algorythm = \"ring\"", "algorythm"}}) {
    std::string text;
    for (int line = 1; line <= 9; ++line) {
      text += (line == row.line ? std::string(row.by) : good[line - 1]) + "\n";
    }
    try {
      stored_calibration(text, "bad.toml");
      ADD_FAILURE() << "accepted: " << row.by;
    } catch (const InvalidArgument& e) {
      EXPECT_THAT(e.what(),
                  AllOf(HasSubstr("bad.toml:" + std::to_string(row.line)), HasSubstr(row.words)));
    }
  }
}

TEST(CalibrationFileTest, IsFoundInTheNameOfAMachine) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("collbench_file_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "m.toml").string();
  std::vector<MeasuredTime> rows;
  for (const std::int64_t bytes : {1 << 10, 1 << 14, 1 << 18, 1 << 22}) {
    rows.push_back(plain_row(bytes, 1e-5 + static_cast<double>(bytes) * 1e-10));
  }
  std::ofstream(path) << to_toml(Calibration(rows), "made", "made");
  for (const std::string& name : {path, path + ":8", "cluster:4x" + path,
                                  "cluster:16x" + path + ",400Gbps,5us", "cluster:" + path}) {
    const Calibration named = calibration_of(name).value();
    EXPECT_EQ(named.points().size(), rows.size()) << name;
  }
  EXPECT_FALSE(calibration_of("dgx-h100"));
  EXPECT_FALSE(calibration_of("cluster:4xdgx-h100"));
  EXPECT_THROW(calibration_of((folder / "none.toml").string()), Unavailable);
  std::filesystem::create_directory(folder / "folder.toml");
  EXPECT_THROW(calibration_of((folder / "folder.toml").string()), Unavailable);
  std::filesystem::remove_all(folder);
}

/// Of a trend: 100 GB/s inside a node, 20 GB/s between nodes.
void add_trend(const char* algorithm, const Scale& scale, std::int64_t last,
               std::vector<MeasuredTime>& rows) {
  for (std::int64_t bytes = 1 << 10; bytes <= last; bytes *= 4) {
    MeasuredTime row =
        plain_row(bytes, 20e-6 + 2 * static_cast<double>(bytes) / (scale.nodes > 1 ? 20e9 : 100e9));
    row.algorithm = algorithm;
    row.scale = scale;
    rows.push_back(row);
  }
}

TEST(FittedMachineTest, ATableOfOneNodeBesideAnotherOfSeveralDoesNotHideTheNetwork) {
  std::vector<MeasuredTime> rows;
  for (const int ranks : {2, 4, 8}) add_trend("auto", {ranks, 1}, 1 << 28, rows);
  for (const int nodes : {2, 4}) add_trend("ring", {8 * nodes, nodes}, 1 << 28, rows);
  const FittedMachine fitted = fit_machine(Calibration(rows));
  EXPECT_TRUE(fitted.network);
  EXPECT_EQ(fitted.ranks_per_node, 8);
  EXPECT_NEAR(fitted.network_rate.value, 19e9, 2e9);
}

TEST(FittedMachineTest, AShortVectorOnMoreNodesDoesNotHideTheRateOfTwo) {
  std::vector<MeasuredTime> rows;
  add_trend("auto", {16, 2}, 1 << 28, rows);
  add_trend("auto", {32, 4}, 1 << 12, rows);
  EXPECT_NEAR(fit_machine(Calibration(rows)).network_rate.value, 19e9, 2e9);
}

// A ring and direct send two bytes for each that they reduce, whatever the ranks.
TEST(FittedMachineTest, WhatOnlyASumIsKnownOfIsOneCost) {
  std::vector<MeasuredTime> rows = measured_on({10e-6, 2e-6, 12.5e9, 1e15}, true);
  std::erase_if(rows, [](const MeasuredTime& row) {
    return row.algorithm != "ring" && row.algorithm != "halving-doubling";
  });
  const FittedMachine fitted = fit_machine(Calibration(rows));
  EXPECT_NEAR(fitted.network_rate.value / 12.5e9, 1, 0.02);
  EXPECT_EQ(fitted.reduction_rate.value, 0) << "not told apart";
}

}  // namespace
}  // namespace collbench
