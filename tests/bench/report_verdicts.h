// Comparisons with scripted figures, for the tests of what shows them.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "bench/verdicts/verdict.h"

namespace collbench {

/// A timed verdict of 20 rounds per arm whose ratio has an interval of 2 % to each side.
inline Verdict scripted_verdict(const std::string& name, VerdictOutcome outcome, double ratio,
                                const std::string& reason = "a reason") {
  Verdict verdict;
  verdict.name = name;
  verdict.point.algorithm = "ring";
  verdict.point.backend = "shm";
  verdict.point.bytes = {1024};
  verdict.outcome = outcome;
  verdict.metric = "lower quartile of a round";
  verdict.reason = reason;
  Arm base;
  base.rounds_ns.assign(20, 1e5);
  base.typical_ns = base.p25_ns = base.p50_ns = base.p75_ns = base.p95_ns = 1e5;
  base.samples = 200;
  Arm head = base;
  head.typical_ns *= ratio;
  verdict.base = base;
  verdict.head = head;
  RatioEstimate estimate;
  estimate.ratio = ratio;
  estimate.low = ratio * 0.98;
  estimate.high = ratio * 1.02;
  estimate.base_rounds = estimate.head_rounds = 20;
  verdict.ratio = estimate;
  return verdict;
}

inline Comparison scripted_comparison(std::vector<Verdict> verdicts) {
  Comparison comparison;
  comparison.title = "base abc against head def";
  comparison.verdicts = std::move(verdicts);
  comparison.rounds = 20;
  comparison.base = comparison.head = {{"host", "box"}};
  return comparison;
}

}  // namespace collbench
