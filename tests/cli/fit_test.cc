// Fits judged on other tables: `calibrate`, `validate --fit`, `regret --fit`, and `select` on a
// fitted machine, with published times of LUMI and Fugaku.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// The rows of a published table with these nodes, with its heading.
std::string rows_with(const std::string& table, const std::string& nodes) {
  std::ifstream file(COLLBENCH_SOURCE_DIR "/results/published/" + table);
  std::string kept;
  std::string line;
  while (std::getline(file, line)) {
    const bool heading = line.starts_with("#") || line.starts_with("system,");
    if (heading || line.find("," + nodes + ",1,") != line.npos) kept += line + "\n";
  }
  return kept;
}

class FitTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("small.csv", rows_with("lumi-pico.csv", "8"));
    folder_.write("large.csv", rows_with("lumi-pico.csv", "16"));
    folder_.write("cube.csv", rows_with("fugaku-pico.csv", "2x2x2"));
    folder_.write("torus.csv", rows_with("fugaku-pico.csv", "4x4x4"));
  }
  std::string out(const std::vector<std::string>& arguments) {
    const CommandOutcome outcome = invoke(folder_, arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  std::string refused(const std::vector<std::string>& arguments) {
    const CommandOutcome outcome = invoke(folder_, arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    return outcome.err;
  }
  RunFolder folder_;
};

/// The number that the first group of `pattern` finds.
double figure(const std::string& text, const std::string& pattern) {
  std::smatch match;
  EXPECT_TRUE(std::regex_search(text, match, std::regex(pattern))) << text;
  return match.empty() ? -1 : std::stod(match[1]);
}

TEST_F(FitTest, ErrorsAtAScaleNotFittedAreThoseOfTheModelAndNotOfATrend) {
  const std::string pattern = "all +[0-9]+ +([0-9.]+) /";
  const std::string lumi = out({"validate", "large.csv", "--fit", "small.csv"});
  EXPECT_THAT(lumi, StartsWith("# held out: fitted to 126 points, judged on 106 others"));
  EXPECT_LT(figure(lumi, pattern), 10);
  const std::string fugaku = out({"validate", "torus.csv", "--fit", "cube.csv"});
  EXPECT_LT(figure(fugaku, pattern), 12);
  EXPECT_LT(figure(fugaku, "all +[0-9]+ +[0-9.]+ / ([0-9.]+)"), 40);
  EXPECT_GT(figure(fugaku, "intervals hold ([0-9.]+) %"), 70);
}

TEST_F(FitTest, ChoosesBetterThanTheLargestScaleKnown) {
  const std::string text =
      out({"regret", "large.csv", "--fit", "small.csv", "--policy", "largest-scale,model"});
  EXPECT_THAT(text, StartsWith("# held out"));
  const double known = figure(text, "largest-scale +14 +([0-9.]+) %");
  const double model = figure(text, "model +14 +([0-9.]+) %");
  EXPECT_LT(model, known);
  EXPECT_LT(model, 8);
}

TEST_F(FitTest, PointsThatAreFittedCannotJudge) {
  for (const char* command : {"regret", "validate"}) {
    EXPECT_THAT(refused({command, "large.csv", "--fit", "small.csv,large.csv"}),
                AllOf(HasSubstr("--fit shares 130 of 130 points"), HasSubstr("16 ranks on 16")));
    EXPECT_THAT(refused({command, "large.csv", "--fit", "cube.csv"}),
                HasSubstr("--fit knows the system 'fugaku', the tables to judge are of 'lumi'"));
  }
}

TEST_F(FitTest, WhatWasFittedIsCalledInSample) {
  out({"calibrate", "small.csv", "-o", "m.toml"});
  EXPECT_THAT(out({"validate", "small.csv", "--machine", "m.toml"}),
              StartsWith("# in sample: 98 of the 98 points"));
  EXPECT_THAT(out({"validate", "large.csv", "--machine", "m.toml"}), StartsWith("# held out"));
  EXPECT_THAT(out({"validate", "small.csv", "--machine", "m.toml", "--json"}),
              HasSubstr("\"sample\": \"in sample: 98 of"));
  EXPECT_THAT(out({"validate", "small.csv", "large.csv", "--held-out"}), StartsWith("# held out"));
  EXPECT_THAT(out({"regret", "small.csv", "--policy", "model"}), StartsWith("# in sample"));
}

/// Rings on 4 and 8 nodes: 20 us and 1 GB/s, each time as `written` says it of its row.
template <typename Written>
std::string rings(const Written& written, const std::string& system = "s") {
  std::string text = "system,library,algorithm,nodes,tasks_per_node,bytes,median_us\n";
  int row = 0;
  for (const int nodes : {4, 8}) {
    for (int bytes = 1 << 10; bytes <= 1 << 22; bytes *= 4) {
      text += fmt::format("{},mpi,ring,{},1,{},{}\n", system, nodes, bytes,
                          written((20 + bytes * 1e-3 / 0.937) * (nodes / 4.0), row++));
    }
  }
  return text;
}

TEST_F(FitTest, TheSamePointsAreKnownUnderAnotherNameInFewerDigitsAndAsAMedian) {
  const auto exact = [](double time, int) { return fmt::format("{:.9g}", time); };
  // Another run: a few percent off, here and there by less than digits show.
  const auto again = [](double time, int row) {
    return fmt::format("{:.9g}", time * (1 + 0.01 * (row % 4)));
  };
  folder_.write("one.csv", rings(exact));
  folder_.write("two.csv", rings(again));
  folder_.write("unnamed.csv", rings(exact, ""));
  folder_.write("both.csv", rings(exact) + rings(again).substr(rings(again).find('\n') + 1));
  folder_.write("short.csv", rings([](double time, int) { return fmt::format("{:.4g}", time); }));
  const auto sample = [&](const std::string& judged, const std::string& fitted) {
    out({"calibrate", fitted, "-o", "m.toml"});
    const std::string text = out({"validate", judged, "-t", "m.toml"});
    return text.substr(0, text.find('\n'));
  };
  EXPECT_THAT(sample("unnamed.csv", "one.csv"), StartsWith("# in sample: 14 of the 14 points"));
  EXPECT_THAT(sample("both.csv", "both.csv"), StartsWith("# in sample: 28 of the 28 points"));
  EXPECT_THAT(sample("short.csv", "one.csv"), StartsWith("# in sample: 14 of the 14 points"));
  EXPECT_THAT(sample("two.csv", "one.csv"),
              StartsWith("# held out: fitted to 14 points, judged on 14 others"));
  EXPECT_THAT(refused({"validate", "short.csv", "--fit", "one.csv"}),
              HasSubstr("--fit shares 14 of 14 points"));
  EXPECT_THAT(out({"validate", "two.csv", "--fit", "one.csv", "--from", "64K"}),
              StartsWith("# held out: fitted to 14 points, judged on 8 others"));
}

TEST_F(FitTest, RowsThatDoNotCountAreCounted) {
  const std::string heading =
      "system,library,algorithm,nodes,tasks_per_node,bytes,median_us,wrong\n";
  std::string text = heading;
  for (int i = 0; i < 12; ++i) {
    const int bytes = 1024 << i;
    text += fmt::format("s,mpi,ring,4,1,{},{},{}\n", bytes,
                        i % 3 == 1 ? "" : std::to_string(20 + bytes * 1e-3), i % 3 == 2 ? 5 : 0);
  }
  folder_.write("some.csv", text);
  for (const std::vector<std::string>& command : {std::vector<std::string>{"calibrate", "some.csv"},
                                                  {"validate", "some.csv", "--fit", "other.csv"}}) {
    folder_.write("other.csv", rings([](double time, int) { return std::to_string(time); }));
    const CommandOutcome outcome = invoke(folder_, command);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("some.csv: left out: 4 rows without a time"),
                                   HasSubstr("some.csv: 4 of 8 rows count nowhere")));
  }
  EXPECT_THAT(out({"validate", "some.csv", "--fit", "other.csv"}),
              StartsWith("# held out: fitted to 14 points, judged on 4 others"));
}

TEST_F(FitTest, AnotherCollectiveIsFittedAndJudgedWithoutAnAllReduce) {
  const auto table = [&](int nodes) {
    std::string text = "# collective: all_gather\nlibrary,algorithm,ranks,nodes,bytes,median_us\n";
    for (int bytes = 1 << 10; bytes <= 1 << 22; bytes *= 4) {
      for (const char* name : {"ring", "recursive-doubling"}) {
        text += fmt::format("mpi,{},{},{},{},{}\n", name, nodes, nodes, bytes,
                            (20 + bytes * 1e-3) * (nodes / 4.0));
      }
    }
    return text;
  };
  folder_.write("four.csv", table(4));
  folder_.write("eight.csv", table(8));
  const std::vector<std::string> gather = {"--collective", "all-gather"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), gather.begin(), gather.end());
    return words;
  };
  for (const char* command : {"validate", "regret"}) {
    EXPECT_THAT(out(with({command, "eight.csv", "--fit", "four.csv"})),
                StartsWith("# held out: fitted to 14 points"));
  }
  out(with({"calibrate", "four.csv", "-o", "m.toml"}));
  EXPECT_THAT(out(with({"validate", "four.csv", "-t", "m.toml"})),
              StartsWith("# in sample: 14 of the 14 points"));
  const std::string note = "note: no all-reduce was measured";
  EXPECT_THAT(out({"select", "-t", "m.toml", "-W", "4", "-b", "1M"}), HasSubstr(note));
  EXPECT_THAT(out(with({"select", "-t", "m.toml", "-W", "4", "-b", "1M"})), Not(HasSubstr(note)));
}

TEST_F(FitTest, SelectChoosesAmongTheMethodsOfAFittedMachine) {
  out({"calibrate", "cube.csv", "torus.csv", "-o", "m.toml"});
  const std::string large =
      out({"select", "-t", "m.toml", "-W", "512", "--nodes", "8x8x8", "-b", "64M"});
  EXPECT_THAT(large, AllOf(HasSubstr("by the fit to fugaku"), HasSubstr("80 % within"),
                           HasSubstr("512 nodes, measured with 8 to 64"),
                           HasSubstr("default-trix6"), Not(HasSubstr("halving-doubling"))));
  // The depth of the trees is that of the axes: the same nodes in a row take longer.
  const auto time = [&](const std::string& nodes) {
    const std::string text = out({"select", "-t", "m.toml", "-W", "512", "--nodes", nodes, "-b",
                                  "2K", "--available", "default-trix3"});
    return figure(text, "default-trix3 +([0-9.]+) us");
  };
  EXPECT_GT(time("2x2x128"), 3 * time("8x8x8"));
}

TEST_F(FitTest, SelectSaysWhatItsChoiceRestsOn) {
  out({"calibrate", "small.csv", "cube.csv", "-o", "m.toml"});
  const auto chosen = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"select", "-t", "m.toml"});
    const CommandOutcome outcome = invoke(folder_, words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out + outcome.err;
  };
  EXPECT_THAT(chosen({"-W", "16", "-b", "64M", "-d", "f16"}),
              AllOf(HasSubstr("fitted to 2 systems; this is 'fugaku', which has the most points"),
                    HasSubstr("fitted to another type or operator than f16 sum"),
                    HasSubstr("extrapolates: 16 nodes, measured with 8 only")));
  // Where times differ by less than they scatter, the others are named.
  EXPECT_THAT(chosen({"-W", "8", "-b", "1K"}),
              AllOf(HasSubstr("within 5 %, which is noise: default-recursive_doubling"),
                    Not(HasSubstr("extrapolates"))));
  EXPECT_THAT(chosen({"-W", "32", "-b", "256K"}),
              HasSubstr("kept as the fastest that was measured: BINE-B_CONT"));
}

TEST_F(FitTest, AnOtherLibrarysNamesArePricedByTheirSchedules) {
  out({"calibrate", "small.csv", "-o", "m.toml"});
  const std::string text = out({"select", "-t", "m.toml", "-W", "64", "-b", "1K", "--available",
                                "ring,nonoverlapping", "--explain"});
  EXPECT_THAT(
      text, AllOf(StartsWith("auto: nonoverlapping"), HasSubstr("by its schedule, not measured")));
}

/// Times on nodes of so many ranks: rabenseifner and, a little faster where bytes count, the ring
/// of one library, and a slow method `other` of a second.
std::string two_libraries(const std::string& other, int each) {
  const std::string slow = "Z," + other;
  std::string text = "system,library,algorithm,nodes,tasks_per_node,bytes,median_us\n";
  for (const int nodes : {4, 8, 16}) {
    const int ranks = nodes * each;
    const double rounds = 2 * std::log2(ranks);
    for (int bytes = 256; bytes <= 64 << 20; bytes *= 2) {
      const double moved = 2.0 * (ranks - 1) / ranks * bytes / 10e3;
      const double ring = 2 * (ranks - 1) * 3 + moved;
      for (const auto& [method, us] : {std::pair{"A,rabenseifner", rounds * 3 + moved},
                                       {"A,ring", 0.96 * ring},
                                       {slow.c_str(), 1.5 * ring}}) {
        text += fmt::format("lab,{},{},{},{},{:.4f}\n", method, nodes, each, bytes, us);
      }
    }
  }
  return text;
}

TEST_F(FitTest, NamesThatAreAvailableStandForWhatWasMeasuredUnderOthers) {
  const auto chosen = [&](const char* available) {
    return out({"select", "-t", COLLBENCH_SOURCE_DIR "/results/published/leonardo-pico.toml", "-W",
                "128", "--nodes", "128", "-b", "256M", "--available", available});
  };
  EXPECT_THAT(chosen("nonoverlapping,ring"),
              AllOf(StartsWith("auto: ring for"), HasSubstr("ring with 98.17 ms"),
                    Not(HasSubstr("was not measured"))));
  EXPECT_THAT(chosen("nonoverlapping"),
              HasSubstr("nonoverlapping was not measured; its time is by its schedule"));
  EXPECT_THAT(out({"select", "-t", COLLBENCH_SOURCE_DIR "/results/published/leonardo-pico.toml",
                   "-W", "128", "--nodes", "128", "-p", "model", "--export", "ompi"}),
              AllOf(HasSubstr("# recursive doubling"), HasSubstr("4 0 0 # ring")));
}

TEST_F(FitTest, TimesOfAnotherLibraryDoNotDecideATie) {
  for (const std::string other : {"ring", "ring_segmented"}) {
    folder_.write("two.csv", two_libraries(other, 1));
    out({"calibrate", "two.csv", "-o", "m.toml"});
    const std::string text = out({"select", "-t", "m.toml", "-W", "32", "-b", "64M"});
    EXPECT_THAT(text, StartsWith("auto: A ring for 64 MiB")) << other;
    EXPECT_THAT(text, HasSubstr("which is noise: "));
    EXPECT_THAT(text, HasSubstr("\n  Z " + other));
  }
}

TEST_F(FitTest, WhatTheFitCannotPriceIsSaid) {
  folder_.write("two.csv", two_libraries("tree", 1));
  out({"calibrate", "two.csv", "-o", "m.toml"});
  const auto asked = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"select", "-t", "m.toml", "-b", "1K"});
    return out(words);
  };
  EXPECT_THAT(asked({"-W", "16", "--available", "ring,double-tree"}),
              AllOf(StartsWith("auto: ring"),
                    HasSubstr("refused: double-tree: not priced by the fit at this scale")));
  EXPECT_THAT(asked({"-W", "16", "--available", "double-tree"}),
              HasSubstr("note: the fit cannot price double-tree; played on the plain machine as 16 "
                        "hosts of 1 rank"));
  EXPECT_THAT(asked({"-W", "64", "--nodes", "16"}),
              HasSubstr("refused: A rabenseifner, A ring: not priced by the fit at this scale"));
  out({"calibrate", "small.csv", "-o", "m.toml"});
  EXPECT_THAT(asked({"-W", "64", "--nodes", "16"}),
              HasSubstr("note: 4 ranks per node were not measured; played on the plain machine as "
                        "64 hosts of 1 rank"));
}

TEST_F(FitTest, AClusterOfFittedNodesHasASizeAndFoldersMayBeCalledLikeFiles) {
  folder_.write("nodes.csv", two_libraries("tree", 4));
  std::filesystem::create_directory(folder_.path() + "/fits.toml.d");
  out({"calibrate", "nodes.csv", "-o", "fits.toml.d/m.toml"});
  EXPECT_THAT(out({"select", "-t", "cluster:4xfits.toml.d/m.toml", "-b", "1M"}),
              AllOf(HasSubstr(", 16 workers on cluster:4x"), HasSubstr("by the fit to lab")));
  EXPECT_THAT(out({"select", "-t", "fits.toml.d/m.toml", "-b", "1M"}),
              AllOf(HasSubstr(", 8 workers on fits"), HasSubstr("by the fit to lab")));
}

TEST_F(FitTest, OfSeveralLibrariesTablesAndExportsSayWhichToUse) {
  const std::string tables = COLLBENCH_SOURCE_DIR "/results/published/abci-a100-";
  out({"calibrate", tables + "nccl.csv", tables + "mpi.csv", "-o", "m.toml"});
  EXPECT_THAT(out({"select", "-t", "m.toml", "-W", "64", "--table"}),
              AllOf(HasSubstr("from 0  mpi-cpu auto\n"), HasSubstr("KiB  nccl auto\n")));
  const std::string json = out({"select", "-t", "m.toml", "-W", "64", "-b", "1K", "--json"});
  EXPECT_THAT(json, HasSubstr("\"library\": \"mpi-cpu\""));
}

TEST_F(FitTest, ConstantsOfAFittedFileAreReadBackAndRefusedWithTheirLine) {
  out({"calibrate", "small.csv", "-o", "m.toml"});
  std::string text = folder_.read("m.toml");
  EXPECT_THAT(text, AllOf(HasSubstr("[[fitted]]"), HasSubstr("latency = \""),
                          HasSubstr("of a round (2.5, within 2)")));
  const std::size_t at = text.find("latency = \"", text.find("[fitted.constants]"));
  text.replace(at, text.find('\n', at) - at, "latency = \"-3 us, within 1.1 times\"");
  folder_.write("bad.toml", text);
  EXPECT_THAT(refused({"validate", "large.csv", "--machine", "bad.toml"}),
              HasSubstr("bad.toml:1: the lines below do not fit their checksum"));
  folder_.write("bad.toml", text.substr(text.find('\n') + 1));
  EXPECT_THAT(refused({"validate", "large.csv", "--machine", "bad.toml"}),
              AllOf(HasSubstr("bad.toml:"), HasSubstr("should be like \"2.5 us, within")));
}

TEST_F(FitTest, ThisHostIsAMachineToo) {
  const std::string fitted = out({"calibrate", "--local", "-o", "here.toml"});
  EXPECT_THAT(fitted, AllOf(HasSubstr("held out by scale"), HasSubstr("wrote here.toml")));
  EXPECT_THAT(folder_.read("here.toml"),
              AllOf(HasSubstr("network = \"host-memory\""), HasSubstr("switch = \"")));
  // Three workers were not measured; any number is predicted by the cores that they share.
  EXPECT_THAT(out({"simulate", "-t", "here.toml", "-A", "ring,direct", "-W", "3", "-b", "64K", "-e",
                   "64K"}),
              AllOf(HasSubstr(" ring "), HasSubstr("  model\n")));
  EXPECT_THAT(out({"select", "-t", "here.toml", "-W", "3", "-b", "64K"}),
              HasSubstr("by the fit to measurements"));
}

TEST_F(FitTest, AFitThatPredictsNoOtherScaleSaysSo) {
  std::string text = "system,library,algorithm,nodes,tasks_per_node,bytes,median_us\n";
  const double factors[3][4] = {{1, 1, 1, 1}, {8, 0.2, 7, 0.2}, {0.2, 6, 0.2, 8}};
  for (int scale = 0; scale < 3; ++scale) {
    int bytes = 1024;
    for (const double factor : factors[scale]) {
      text += "s,mpi,ring," + std::to_string(2 << scale) + ",1," + std::to_string(bytes) + "," +
              std::to_string(factor * (50 + bytes * 1e-3)) + "\n";
      bytes *= 16;
    }
  }
  folder_.write("wild.csv", text);
  const std::string note = "note: the fit does not predict scales that it has not seen";
  EXPECT_THAT(out({"calibrate", "wild.csv"}), HasSubstr(note));
  EXPECT_THAT(out({"calibrate", "small.csv"}), Not(HasSubstr(note)));
}

TEST_F(FitTest, AFitThatPredictsNoOtherSizeSaysSo) {
  const auto table = [](double odd) {
    std::string text = "library,algorithm,ranks,nodes,bytes,median_us\n";
    for (const int bytes : {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22}) {
      const double factor = bytes == 1 << 16 ? odd : 1;
      text += "mpi,ring,4,1," + std::to_string(bytes) + "," +
              std::to_string(factor * (5 + bytes * 1e-3)) + "\n";
    }
    return text;
  };
  folder_.write("odd.csv", table(20));
  folder_.write("even.csv", table(1));
  const std::string note = "note: the fit does not predict sizes that it has not seen";
  EXPECT_THAT(out({"calibrate", "odd.csv"}), HasSubstr(note));
  const CommandOutcome piped = invoke(folder_, {"calibrate", "odd.csv", "-o", "-"});
  EXPECT_THAT(piped.err, HasSubstr(note));
  EXPECT_THAT(piped.out, Not(HasSubstr(note)));
  const std::string even = out({"calibrate", "even.csv"});
  EXPECT_THAT(even, Not(HasSubstr(note)));
  // What was reached is said of measured sizes alone.
  EXPECT_THAT(even, AllOf(HasSubstr("  1 KiB: "), HasSubstr(" 4 MiB: "), Not(HasSubstr("64 MiB"))));
}

}  // namespace
}  // namespace collbench
