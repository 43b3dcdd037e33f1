// Tables of choices against the policies they were asked from, regret against a search by hand, and
// options that fit a machine.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/heuristics/ompi_rules_reader.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/random.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/exports/export_rules.h"
#include "heuristics/exports/ompi_rules.h"
#include "heuristics/policies/regret.h"
#include "heuristics/policies/selection_table.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using testing::ElementsAre;

// A policy that changes at sizes known here: recursive-doubling below the first, ring between the
// two, and halving-doubling/LL from the second on.
std::int64_t first_change = 0;
std::int64_t second_change = 0;

Answer ask_steps(const Question& question) {
  EXPECT_EQ(question.bytes.count % 4, 0) << "whole elements";
  const std::int64_t bytes = question.bytes.count;
  if (bytes < first_change) return {"recursive-doubling", "", "", {}, {"small"}};
  if (bytes < second_change) return {"ring", "", "", {}, {"in the middle"}};
  return {"halving-doubling", "LL", "", {}, {}};
}

constexpr Policy steps{"steps", "", "", ask_steps};

TEST(SizeRulesTest, VectorsOfAFewElementsHaveTheirOwnRules) {
  first_change = 12;
  second_change = 20;
  Question question;
  question.workers = 8;
  const ScaleRules scale = size_rules(steps, question, Bytes{4}, Bytes{1024});
  ASSERT_EQ(scale.rules.size(), 3u);
  EXPECT_EQ(scale.rules[1].from, Bytes{12});
  EXPECT_EQ(scale.rules[2].from, Bytes{20});
}

TEST(SizeRulesTest, GiveWhatThePolicyGivesButForThreePercentAroundItsChanges) {
  for (const auto& [first, second] :
       {std::pair{5000, 5'000'000}, {1024, 1028}, {1030, 70'000}, {999'999, 1'000'001}}) {
    first_change = first;
    second_change = second;
    Question question;
    question.workers = 8;
    const ScaleRules scale = size_rules(steps, question, Bytes{1024}, Bytes{1 << 26});
    EXPECT_NO_THROW(check_rules(scale));
    EXPECT_EQ(scale.workers, 8);
    for (double size = 1024; size < 1 << 26; size *= 1.01) {
      const auto bytes = static_cast<std::int64_t>(size) / 4 * 4;
      const auto near = [&](std::int64_t change) {
        return std::abs(std::log(size / static_cast<double>(change))) < 0.031;
      };
      if (near(first) || near(second)) continue;
      const SizeRule& rule = rule_for(scale, Bytes{bytes});
      question.bytes = Bytes{bytes};
      const Answer answer = ask_steps(question);
      EXPECT_EQ(rule.algorithm, answer.algorithm) << bytes;
      EXPECT_EQ(rule.protocol, answer.protocol) << bytes;
    }
    EXPECT_EQ(rule_for(scale, Bytes{0}).algorithm, scale.rules.front().algorithm);
    EXPECT_EQ(rule_for(scale, no_end).algorithm, "halving-doubling");
    for (const std::string& warning : scale.warnings) {
      EXPECT_EQ(std::count(scale.warnings.begin(), scale.warnings.end(), warning), 1);
    }
  }
}

TEST(SizeRulesTest, BetweenKernelsOfWholeLoopsOnlyWholeLoopsAreAsked) {
  const Machine mi300x = machine("mi300x", 8);
  Question question;
  question.workers = 8;
  question.machine = &mi300x;
  const ScaleRules scale =
      size_rules(find_policy("nccl"), question, Bytes{1 << 16}, Bytes{1 << 21});
  ASSERT_EQ(scale.rules.size(), 2u);
  EXPECT_EQ(scale.rules[0].protocol, "LL");
  EXPECT_EQ(scale.rules[1].algorithm, "all-pairs");
  EXPECT_EQ(scale.rules[1].from, Bytes{1 << 19});
}

TEST(SizeRulesTest, OneSizeIsOneRuleAndAnEmptyRangeIsRefused) {
  first_change = 1 << 20;
  second_change = 1 << 21;
  const Question question;
  EXPECT_THAT(size_rules(steps, question, Bytes{4096}, Bytes{4096}).rules,
              ElementsAre(SizeRule{Bytes{0}, no_end, "recursive-doubling", ""}));
  EXPECT_THROW(size_rules(steps, question, Bytes{0}, Bytes{4096}), InvalidArgument);
  EXPECT_THROW(size_rules(steps, question, Bytes{4096}, Bytes{4092}), InvalidArgument);
}

Answer ask_beyond(const Question& question) {
  Answer answer{"ring", "", "", {}, {}};
  answer.library = question.bytes < Bytes{100'000} ? "x" : "y";
  answer.warnings.push_back("64 nodes, measured with 4; " + to_string(question.bytes) +
                            ", measured from 32 B to 1 KiB");
  return answer;
}

TEST(SizeRulesTest, AWarningThatDiffersInTheSizeIsGivenOnceAndAChangeOfLibraryIsAChange) {
  const ScaleRules scale =
      size_rules({"beyond", "", "", ask_beyond}, Question{}, Bytes{4096}, Bytes{1 << 20});
  EXPECT_THAT(scale.warnings, testing::SizeIs(1));
  ASSERT_EQ(scale.rules.size(), 2U);
  EXPECT_EQ(scale.rules[0].library, "x");
  EXPECT_EQ(scale.rules[1].library, "y");
  SelectionTable table;
  table.last = no_end;
  table.scales = {scale};
  EXPECT_THAT(export_json(table), testing::HasSubstr("\"library\": \"y\""));
  EXPECT_THAT(export_cpp(table), testing::HasSubstr("{\"ring\", \"\", \"x\"}"));
  EXPECT_THROW(find_rule_format("ompi").write(table), InvalidArgument) << "which has one library";
}

TEST(CheckRulesTest, EveryDamageIsFound) {
  const ScaleRules good{
      8, 2, {{{0}, {99}, "ring", ""}, {{100}, {199}, "tree", ""}, {{200}, no_end, "ring", ""}}, {}};
  ASSERT_NO_THROW(check_rules(good));
  const std::function<void(ScaleRules&)> damages[] = {
      [](ScaleRules& s) { s.workers = 0; },
      [](ScaleRules& s) { s.nodes = 0; },
      [](ScaleRules& s) { s.rules.clear(); },
      [](ScaleRules& s) { s.rules.erase(s.rules.begin()); },
      [](ScaleRules& s) { s.rules.erase(s.rules.begin() + 1); },
      [](ScaleRules& s) { s.rules.pop_back(); },
      [](ScaleRules& s) { std::swap(s.rules[0], s.rules[1]); },
      [](ScaleRules& s) { s.rules[1].from.count = 101; },
      [](ScaleRules& s) { s.rules[1].from.count = 99; },
      [](ScaleRules& s) { s.rules[1].to.count = 50; },
      [](ScaleRules& s) { s.rules[1].to = no_end; },
      [](ScaleRules& s) { s.rules[2].to.count = 1000; },
  };
  for (std::size_t i = 0; i < std::size(damages); ++i) {
    ScaleRules scale = good;
    damages[i](scale);
    EXPECT_THROW(check_rules(scale), InvalidArgument) << i;
  }
}

/// Rules of random algorithms of Open MPI, with random ends.
SelectionTable random_table(std::uint64_t seed) {
  RandomEngine engine = random_engine(seed, "tables");
  const std::vector<std::string> names = find_rule_format("ompi").offered;
  SelectionTable table;
  table.policy = "random";
  table.last = no_end;
  int workers = 1;
  for (std::size_t s = 0; s < 1 + seed % 4; ++s) {
    workers += 1 + static_cast<int>(engine() % 10);
    ScaleRules scale;
    scale.workers = workers;
    std::int64_t from = 0;
    for (std::size_t r = 0; r < seed % 5; ++r) {
      const std::int64_t to = from + static_cast<std::int64_t>(engine() % 100'000);
      scale.rules.push_back({{from}, {to}, names[engine() % names.size()], ""});
      from = to + 1;
    }
    scale.rules.push_back({{from}, no_end, names[engine() % names.size()], ""});
    table.scales.push_back(scale);
  }
  return table;
}

TEST(OmpiRulesTest, AnyTableReadsBackToTheSameChoices) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const SelectionTable table = random_table(seed);
    const SelectionTable read = read_ompi_rules(find_rule_format("ompi").write(table), "rules");
    ASSERT_EQ(read.scales.size(), table.scales.size());
    for (std::size_t s = 0; s < read.scales.size(); ++s) {
      EXPECT_EQ(read.scales[s].workers, table.scales[s].workers);
      EXPECT_NO_THROW(check_rules(read.scales[s]));
      for (const SizeRule& rule : table.scales[s].rules) {
        for (const Bytes bytes : {rule.from, rule.to}) {
          const std::string& chosen = rule_for(read.scales[s], bytes).algorithm;
          EXPECT_EQ(ompi_algorithm_of(chosen), ompi_algorithm_of(rule.algorithm))
              << seed << ": " << chosen << " for " << rule.algorithm;
        }
      }
    }
  }
}

TEST(OmpiRulesTest, WhatIsPlayedNeedsNoMoreElementsThanThereAre) {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    for (const std::int64_t elements : {0, 1, 2, 5, 31, 63, 64, 1000}) {
      for (int number = 1; number <= 6; ++number) {
        const auto chosen = static_cast<OmpiAlgorithm>(number);
        const OmpiAlgorithm played = ompi_played(chosen, ranks, elements);
        EXPECT_EQ(ompi_played(played, ranks, elements), played) << "once and for all";
        const bool ring = played == OmpiAlgorithm::ring || played == OmpiAlgorithm::segmented_ring;
        EXPECT_TRUE(!ring || elements >= ranks);
        if (elements >= ranks) {
          EXPECT_EQ(played, chosen) << ranks << " " << elements;
        }
      }
    }
  }
}

MeasuredTime random_row(RandomEngine& engine, const char* algorithm, std::int64_t bytes) {
  MeasuredTime row;
  row.library = "made";
  row.algorithm = algorithm;
  row.scale = {8, 2};
  row.bytes = Bytes{bytes};
  row.time = Seconds{1e-6 * static_cast<double>(1 + engine() % 1000)};
  return row;
}

TEST(RegretTest, EqualsASearchByHand) {
  RandomEngine engine = random_engine(9, "regret");
  std::vector<MeasuredTime> rows;
  std::vector<double> expected;  // regrets of the library's own choice
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 24; bytes *= 2) {
    double best = 1e9;
    double own = 0;
    for (const char* algorithm : {"default", "ring", "tree", "direct"}) {
      rows.push_back(random_row(engine, algorithm, bytes));
      best = std::min(best, rows.back().time.count());
      if (std::string_view(algorithm) == "default") own = rows.back().time.count();
    }
    expected.push_back(own / best - 1);
  }
  const std::vector<RegretPoint> points = regret_of("default", rows);
  ASSERT_EQ(points.size(), expected.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_NEAR(points[i].regret(), expected[i], 1e-12);
  }
  const RegretSummary summary = summarize_regret(points);
  EXPECT_NEAR(
      summary.mean,
      std::accumulate(expected.begin(), expected.end(), 0.0) / static_cast<double>(expected.size()),
      1e-12);
  std::sort(expected.begin(), expected.end());
  EXPECT_NEAR(summary.worst, expected.back(), 1e-12);
  const double at = 0.95 * static_cast<double>(expected.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  EXPECT_NEAR(summary.p95,
              std::lerp(expected[below], expected[below + 1], at - static_cast<double>(below)),
              1e-12);
  EXPECT_EQ(summarize_regret(regret_of("oracle", rows)).worst, 0);
}

TEST(RegretTest, RegionsOfSizePartTheirPoints) {
  RandomEngine engine = random_engine(10, "regret");
  std::vector<MeasuredTime> rows;
  for (const std::int64_t bytes :
       {32 << 10, (32 << 10) + 4, 1 << 20, (1 << 20) + 4, 32 << 20, (32 << 20) + 4}) {
    for (const char* algorithm : {"default", "ring"}) {
      rows.push_back(random_row(engine, algorithm, bytes));
    }
  }
  rows.push_back(random_row(engine, "ring", 4096));  // alone there: nothing to choose from
  std::vector<std::pair<std::string, int>> points;
  for (const auto& [band, ranks, summary] : regret_by_region(regret_of("default", rows))) {
    EXPECT_EQ(ranks, 8);
    points.emplace_back(band, summary.points);
  }
  EXPECT_THAT(points, ElementsAre(testing::Pair("to 32 KiB", 1), testing::Pair("to 1 MiB", 2),
                                  testing::Pair("to 32 MiB", 2), testing::Pair("beyond", 1)))
      << "ascending";
}

TEST(FitToTest, WhatFitsAMachineCanBeMadeAndIsLeftAloneTheSecondTime) {
  int fitted = 0;
  for (const char* name :
       {"star:64,100Gbps,5us", "torus:4x4x4,50GBps,1us", "mesh:8x8,50GBps,1us",
        "torus:8x8:wrap=0x1,50GBps,1us", "torus:3x5,50GBps,1us", "cluster:8xdgx-h100"}) {
    const Machine network = machine(name);
    for (const int ranks : {2, 8, 15, 16, 64}) {
      if (ranks > network.topology.hosts()) continue;
      for (const AlgorithmInfo& info : algorithms()) {
        const AlgorithmSpec spec{std::string(info.name), {}};
        const AlgorithmSpec once = fit_to(spec, network.topology, ranks);
        EXPECT_EQ(once.name, spec.name);
        EXPECT_EQ(fit_to(once, network.topology, ranks), once) << name << " " << to_string(once);
        fitted += once == spec ? 0 : 1;
        if (once == spec) continue;
        EXPECT_NO_THROW(EXPECT_EQ(make_schedule(once, ranks).ranks(), ranks))
            << name << " " << ranks << " " << to_string(once);
      }
    }
  }
  EXPECT_GT(fitted, 30);
}

TEST(FitToTest, AxesAreThoseThatTheRanksFill) {
  struct Row {
    const char* algorithm;
    const char* machine;
    int ranks;
    const char* expected;
  };
  for (const Row& row :
       {Row{"torus", "torus:4x4x4,50GBps,1us", 64, "torus:dims=4x4x4:wrap=ttt"},
        Row{"torus", "mesh:4x4,50GBps,1us", 16, "torus:dims=4x4:wrap=mm"},
        Row{"torus", "torus:8x8:wrap=0x1,50GBps,1us", 64, "torus:dims=8x8:shares=balanced:wrap=mt"},
        Row{"torus", "torus:4x4,50GBps,1us", 6, "torus"},
        Row{"torus:dims=2x8", "torus:4x4,50GBps,1us", 16, "torus:dims=2x8"},
        Row{"swing", "torus:4x4,50GBps,1us", 16, "swing:dims=4x4:streams=4"},
        Row{"swing", "mesh:4x4,50GBps,1us", 16, "swing"},
        Row{"recursive-doubling", "mesh:4x4,50GBps,1us", 16,
            "recursive-doubling:dims=4x4:streams=2"},
        Row{"recursive-doubling", "torus:3x5,50GBps,1us", 15, "recursive-doubling"},
        Row{"ring", "torus:4x4,50GBps,1us", 16, "ring"}}) {
    const AlgorithmSpec fitted =
        fit_to(parse_algorithm_spec(row.algorithm), machine(row.machine).topology, row.ranks);
    EXPECT_EQ(fitted, parse_algorithm_spec(row.expected)) << to_string(fitted);
  }
}

TEST(SeatsOfRanksTest, AreTheFirstOfEveryNode) {
  const Machine cluster = machine("cluster:4xdgx-h100");
  const auto seats = [&](int ranks, int nodes) {
    return seats_of_ranks(cluster.topology, ranks, nodes);
  };
  EXPECT_THAT(seats(4, 2), ElementsAre(0, 1, 8, 9));
  EXPECT_THAT(seats(4, 4), ElementsAre(0, 8, 16, 24));
  EXPECT_THAT(seats(4, 1), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(seats(10, 1), place("row-major", 10, cluster.topology)) << "which one does not seat";
  const Layout& layout = cluster.topology.layout();
  EXPECT_TRUE(seats_evenly(layout, 32, 4));
  EXPECT_FALSE(seats_evenly(layout, 32, 2));
  EXPECT_FALSE(seats_evenly(layout, 5, 5));
  EXPECT_FALSE(seats_evenly(layout, 6, 4));
}

TEST(NodesOfTest, CountsNodesThatAreFilledAlike) {
  const Machine cluster = machine("cluster:4xdgx-h100");
  const Layout& layout = cluster.topology.layout();
  for (const auto& [ranks, nodes] :
       {std::pair{1, 1}, {8, 1}, {9, 1}, {10, 2}, {16, 2}, {20, 1}, {24, 3}, {32, 4}}) {
    EXPECT_EQ(nodes_of(layout, ranks), nodes) << ranks;
  }
  EXPECT_EQ(nodes_of(machine("star:8,100Gbps,5us").topology.layout(), 8), 1);
}

}  // namespace
}  // namespace collbench
