// The trend of measured times: what its terms are, that a fit finds the costs that made the times,
// and that it keeps to its prior where they say nothing.
#include "heuristics/calibration/trend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace collbench {
namespace {

// In the order of the terms.
enum : std::size_t {
  start,
  node_latency,
  network_latency,
  ring_latency,
  node_rate,
  network_rate,
  through,
  whole,
  memory,
  chunks,
  handed_on
};

constexpr std::array<const char*, trend_terms> term_names = {
    "start",   "node latency", "network latency", "ring latency", "node rate", "network rate",
    "through", "whole",        "memory",          "chunks",       "handed on"};

MethodKey method_named(const char* library, const char* algorithm) {
  return {"", library, algorithm, "", DataType::f32, ReduceOp::sum, false};
}

double microseconds(const TermValues& logs, const Scale& scale, double bytes,
                    bool goes_round = true) {
  const TermValues basis = trend_basis(scale, bytes, goes_round);
  double sum = 0;
  for (std::size_t k = 0; k < trend_terms; ++k) sum += std::exp(logs[k]) * basis[k];
  return sum;
}

/// Times that the costs with these logarithms give on all scales, from 1 KiB to 256 MiB.
std::vector<MeasuredTime> trend_rows(const TermValues& logs, const std::vector<Scale>& scales,
                                     bool goes_round = true) {
  std::vector<MeasuredTime> rows;
  for (const Scale& scale : scales) {
    for (std::int64_t bytes = 1 << 10; bytes <= 1 << 28; bytes *= 4) {
      MeasuredTime row;
      row.scale = scale;
      row.bytes = Bytes{bytes};
      row.time = Seconds{1e-6 * microseconds(logs, scale, static_cast<double>(bytes), goes_round)};
      rows.push_back(row);
    }
  }
  return rows;
}

const std::vector<Scale>& many_scales() {
  static const std::vector<Scale> scales = {{4, 1}, {8, 1}, {8, 2}, {16, 2}, {32, 4}, {64, 8}};
  return scales;
}

TEST(TrendBasisTest, HasTheTermsOfItsFormula) {
  struct Row {
    Scale scale;
    double bytes;
    TermValues expected;
  };
  const double root = std::sqrt(1000.0);
  for (const Row& row : {
           Row{{1, 1}, 1000, {1, 0, 0, 0, 0, 0, 0, 0, 0, root / 2}},
           Row{{8, 1}, 1000, {1, 7, 0, 0, 1750, 0, 0, 0, 7000, 2 * root}},
           Row{{8, 0}, 1000, {1, 7, 0, 0, 1750, 0, 0, 0, 7000, 2 * root}},
           Row{{2, 2}, 1000, {1, 0, 1, 1, 0, 1000, 0, 1000, 0, root}},
           Row{{8, 8}, 1000, {1, 0, 3, 7, 0, 1750, 1000, 3000, 0, 2 * root}},
           Row{{32, 4}, 1000, {1, 7, 2, 3, 1750, 1937.5, 1000, 2000, 7000, 3 * root}},
       }) {
    const TermValues basis = trend_basis(row.scale, row.bytes);
    for (std::size_t k = 0; k < trend_terms; ++k) {
      EXPECT_NEAR(basis[k], row.expected[k], 1e-9 * (1 + row.expected[k]))
          << to_string(row.scale) << ", " << term_names[k];
    }
  }
}

TEST(TrendTest, TwoNodesDoNotPassOnSoThatFourAreExpectedToTakeLonger) {
  const auto growth = [](const char* algorithm, const std::vector<Scale>& scales) {
    const Prior prior = prior_for(method_named("nccl", algorithm));
    TermValues truth = prior.mean;
    truth[5] = std::log(6e-6);  // a vector of two nodes of 8 at 89 GB/s
    const Trend trend(trend_rows(truth, scales, prior.goes_round), prior);
    return std::exp(trend.log_time({32, 4}, 1 << 30) - trend.log_time({16, 2}, 1 << 30));
  };
  EXPECT_GT(growth("auto", {{8, 1}, {16, 2}}), 1.2);
  EXPECT_LT(growth("auto", {{8, 1}, {16, 2}, {64, 8}}), 1.15) << "eight nodes say that they do not";
  EXPECT_LT(growth("ring", {{8, 1}, {16, 2}}), 1.15) << "a ring passes on between two nodes, too";
}

TEST(TrendTest, WhatNcclChoosesGrowsNoFasterThanTheRoundsOfATree) {
  EXPECT_EQ(trend_basis({2048, 512}, 1000, false)[3], 0) << term_names[3];
  const auto growth = [](const char* algorithm) {
    const Prior prior = prior_for(method_named("nccl", algorithm));
    const Trend trend(trend_rows(prior.mean, many_scales(), prior.goes_round), prior);
    const auto at = [&](int nodes) { return std::exp(trend.log_time({4 * nodes, nodes}, 1024)); };
    return at(512) / at(8);
  };
  EXPECT_LT(growth("auto"), 3.001) << "the doublings of the nodes";
  EXPECT_GT(growth("ring"), 10);
}

TEST(TrendTest, AChunkOfLlIsHandedOnWholeAtEachLevelOfATreeAndLongVectorsInPieces) {
  const Prior prior = prior_for(method_named("nccl", "auto"));
  TermValues truth = prior.mean;
  truth[handed_on] = std::log(6e-4);  // 10 us for 16 KiB and level, as on ABCI's V100
  truth[chunks] = std::log(1e-3);
  const Trend trend(trend_rows(truth, {{4, 1}, {8, 2}, {16, 4}}, prior.goes_round), prior);
  const auto longer = [&](double bytes) {  // us for each doubling from 4 to 32 nodes
    const auto at = [&](int nodes) {
      return 1e6 * std::exp(trend.log_time({4 * nodes, nodes}, bytes));
    };
    return (at(32) - at(4)) / 3;
  };
  EXPECT_NEAR(longer(1 << 10), 10.6, 1) << "latency";
  EXPECT_NEAR(longer(1 << 14), 10 + 8.7, 1.5);
  EXPECT_LT(longer(1 << 24), 0.01 * 6e-4 * (1 << 24)) << "a chunk is little of them";
  EXPECT_EQ(trend_basis({16, 4}, 1 << 14, true)[handed_on], 0) << "rings and hosts";
}

TEST(TrendTest, KeepsThePriorThatExplainsTheTimes) {
  for (const auto& method : {method_named("nccl", "tree"), method_named("nccl", "ring"),
                             method_named("openmpi", "ring")}) {
    const Prior prior = prior_for(method);
    const Trend trend(trend_rows(prior.mean, many_scales(), prior.goes_round), prior);
    for (std::size_t k = 0; k < trend_terms; ++k) {
      EXPECT_NEAR(std::log(trend.costs()[k]), prior.mean[k], 1e-3) << term_names[k];
    }
  }
}

// Every cost is up to one standard deviation beside its prior, in turn above and below.
TEST(TrendTest, PredictsScalesAndSizesThatItDidNotSee) {
  for (const auto& method :
       {method_named("nccl", "tree"), method_named("nccl", "ring"), method_named("openmpi", "auto"),
        method_named("mpich", "recursive_doubling")}) {
    const Prior prior = prior_for(method);
    TermValues truth = prior.mean;
    for (std::size_t k = 0; k < trend_terms; ++k) truth[k] += prior.deviation[k] * (k % 2 ? 1 : -1);
    const Trend trend(trend_rows(truth, many_scales(), prior.goes_round), prior);
    for (const Scale& scale : {Scale{4, 1}, Scale{4, 2}, Scale{16, 4}, Scale{128, 16}}) {
      for (const double bytes : {3e3, 5e5, 7e7}) {
        EXPECT_NEAR(std::exp(trend.log_time(scale, bytes)) * 1e6 /
                        microseconds(truth, scale, bytes, prior.goes_round),
                    1, 0.1)
            << to_string(method) << " " << to_string(scale) << " " << bytes;
      }
    }
  }
}

TEST(TrendTest, ItsTermsAddUpToItsTime) {
  const Prior prior = prior_for(method_named("nccl", "ring"));
  const Trend trend(trend_rows(prior.mean, {{8, 1}, {16, 2}}), prior);
  for (const Scale& scale : {Scale{1, 1}, Scale{8, 1}, Scale{16, 2}, Scale{64, 8}}) {
    for (const double bytes : {1.0, 1e4, 1e9}) {
      const TermValues terms = trend.terms(scale, bytes);
      EXPECT_NEAR(std::accumulate(terms.begin(), terms.end(), 0.0),
                  std::exp(trend.log_time(scale, bytes)), 1e-12);
      EXPECT_GE(*std::min_element(terms.begin(), terms.end()), 0);
    }
  }
}

TEST(TrendTest, CostsThatNoRowPaysStayAtThePriorWithItsUncertainty) {
  const Prior prior = prior_for(method_named("nccl", "auto"));
  TermValues truth = prior.mean;
  truth[start] += 0.4;
  truth[network_rate] += 0.8;
  // One rank a node: nothing inside nodes is seen.
  const Trend trend(trend_rows(truth, {{2, 2}, {4, 4}, {8, 8}}, prior.goes_round), prior);
  for (const std::size_t k : {node_latency, node_rate, memory}) {
    EXPECT_NEAR(std::log(trend.costs()[k]), prior.mean[k], 1e-9) << term_names[k];
    EXPECT_NEAR(std::log(trend.factors()[k]), prior.deviation[k], 1e-9);
  }
  EXPECT_NEAR(std::log(trend.costs()[start]), truth[start], 0.1);
  EXPECT_NEAR(std::log(trend.costs()[network_rate]), truth[network_rate], 0.1);
  EXPECT_LT(std::log(trend.factors()[network_rate]), 0.5 * prior.deviation[network_rate]);
}

TEST(TrendTest, IsNeverLessSureThanItsPrior) {
  const Prior prior = prior_for(method_named("mpich", "ring"));
  std::vector<MeasuredTime> rows = trend_rows(prior.mean, {{4, 4}, {8, 8}});
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].time *= i % 2 == 0 ? 3 : 0.3;
  const Trend trend(rows, prior);
  for (std::size_t k = 0; k < trend_terms; ++k) {
    EXPECT_GE(trend.factors()[k], 1);
    EXPECT_LE(std::log(trend.factors()[k]), prior.deviation[k] * (1 + 1e-12));
  }
}

TEST(TrendTest, RowsWithoutTrustDoNotCount) {
  const Prior prior = prior_for(method_named("nccl", "auto"));
  std::vector<MeasuredTime> rows = trend_rows(prior.mean, many_scales(), prior.goes_round);
  std::vector<double> trust(rows.size(), 1.0);
  for (std::size_t i = 0; i < rows.size(); i += 3) trust[i] = 0;
  const Trend clean(rows, prior, trust);
  for (std::size_t i = 0; i < rows.size(); i += 3) rows[i].time *= 50;
  const Trend distrusting(rows, prior, trust);
  const Trend trusting(rows, prior);
  EXPECT_EQ(distrusting.costs(), clean.costs());
  EXPECT_NE(trusting.costs(), clean.costs());
}

TEST(TrendTest, ADisturbedRowBendsItLittle) {
  const Prior prior = prior_for(method_named("nccl", "auto"));
  std::vector<MeasuredTime> rows = trend_rows(prior.mean, many_scales(), prior.goes_round);
  const Trend clean(rows, prior);
  rows[rows.size() / 2].time *= 20;
  const Trend bent(rows, prior);
  for (const MeasuredTime& row : rows) {
    const auto bytes = static_cast<double>(row.bytes.count);
    EXPECT_NEAR(bent.log_time(row.scale, bytes), clean.log_time(row.scale, bytes), 0.15);
  }
}

TEST(TrendTest, TheNameOfAMethodTellsWhatItsPriorExpects) {
  struct Row {
    const char* library;
    const char* algorithm;
    const char* against;  // of the same library
    std::size_t dearer;   // a cost that is higher for the first
  };
  for (const Row& row :
       {Row{"nccl", "ring", "tree", ring_latency}, Row{"RCCL", "Ring", "tree", ring_latency},
        Row{"openmpi", "ring_ompi", "auto", ring_latency}}) {
    const Prior prior = prior_for(method_named(row.library, row.algorithm));
    const Prior other = prior_for(method_named(row.library, row.against));
    EXPECT_GT(prior.mean[row.dearer], other.mean[row.dearer] + 1)
        << row.library << " " << row.algorithm;
  }
  // A byte costs less between GPUs, and starting a kernel more.
  const Prior gpu = prior_for(method_named("nccl", "auto"));
  const Prior host = prior_for(method_named("openmpi", "auto"));
  EXPECT_LT(gpu.mean[node_rate], host.mean[node_rate]);
  EXPECT_LT(gpu.mean[network_rate], host.mean[network_rate]);
  EXPECT_GT(gpu.mean[start], host.mean[start]);
  EXPECT_EQ(prior_for(method_named("", "nccl_ring")).mean,
            prior_for(method_named("nccl", "ring")).mean);
}

TEST(TrendTest, PriorsAreWhatHardwareCanDo) {
  for (const char* library : {"nccl", "openmpi"}) {
    for (const char* algorithm : {"auto", "ring", "recursive_doubling", "bine_lat"}) {
      const Prior prior = prior_for(method_named(library, algorithm));
      for (std::size_t k = 0; k < trend_terms; ++k) {
        const bool latency = k < node_rate;
        const double microseconds = std::exp(prior.mean[k]);
        // Up to 100 TB/s, and from 0.1 to 20 us.
        EXPECT_GE(microseconds, latency ? 0.1 : 0.99e-8) << library << algorithm << term_names[k];
        EXPECT_LE(microseconds, latency ? 20 : 0.1) << library << algorithm << term_names[k];
        EXPECT_GE(prior.deviation[k], 0.5) << "nothing is known within half of it";
        EXPECT_LE(prior.deviation[k], 2) << "nor to a hundredfold";
      }
    }
  }
}

}  // namespace
}  // namespace collbench
