// Runs for `run_ab` that need no machine: synthetic noise, and rounds that were kept from real
// jobs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/verdicts/ab.h"
#include "core/random.h"

namespace collbench {

/// Noise of one runner. Times are lognormal about a level that drifts for all processes alike, with
/// spikes: a share of processes that somebody else's load slows.
struct Noise {
  double sigma = 0.05;   // of the logarithm, from process to process
  double drift = 0.02;   // of the logarithm of the level, from process to process
  double memory = 0.98;  // how much of the level's deviation stays
  double spike_share = 0.05;
  double spike = 1.0;  // of the logarithm, mean (exponential)
  Seconds start_cost{0.03};
  Seconds case_cost{0.03};
};

/// Processes that "measure" cases in no time. Head is slower by `slowdown` in the first
/// `slow_cases` cases.
class SyntheticRuns {
 public:
  SyntheticRuns(const Noise& noise, int cases, double slowdown, int slow_cases, std::uint64_t seed)
      : noise_(noise),
        slowdown_(slowdown),
        slow_cases_(slow_cases),
        random_(random_engine(seed, "synthetic")) {
    for (int i = 0; i < cases; ++i) {
      Case point;
      point.algorithm = "ring";
      point.backend = "shm";
      point.workers = 2 + i;
      point.bytes = Bytes{1024};
      cases_.push_back(point);
    }
  }

  std::optional<RecordFile> measure(const AbTask& task) {
    ++processes_;
    elapsed_ += noise_.start_cost;
    level_ = noise_.memory * level_ + noise_.drift * normal_(random_);
    RecordFile file;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const bool wanted = task.only.empty() ||
                          std::any_of(task.only.begin(), task.only.end(), [&](const Case& one) {
                            return one.workers == cases_[i].workers;
                          });
      if (!wanted) continue;
      elapsed_ += noise_.case_cost;
      const bool slowed = task.arm == AbArm::head && static_cast<int>(i) < slow_cases_;
      double log_time = std::log(1e7) + level_ + noise_.sigma * normal_(random_);
      if (uniform_(random_) < noise_.spike_share) log_time += noise_.spike * exponential_(random_);
      Record record;
      record.point = cases_[i];
      record.measurement.latency_ns = {
          std::llround(std::exp(log_time) * (slowed ? 1 + slowdown_ : 1))};
      record.measurement.wrong = 0;
      file.records.push_back(record);
    }
    return file;
  }
  int processes() const { return processes_; }
  /// What the processes would have taken.
  Seconds elapsed() const { return elapsed_; }

 private:
  Noise noise_;
  double slowdown_;
  int slow_cases_;
  RandomEngine random_;
  std::vector<Case> cases_;
  std::normal_distribution<double> normal_;
  std::exponential_distribution<double> exponential_;
  std::uniform_real_distribution<double> uniform_;
  double level_ = 0;
  int processes_ = 0;
  Seconds elapsed_{0};
};

/// A plan of the fixed design over any source of records, without a clock.
template <typename Runs>
AbPlan plan_over(Runs& runs, std::uint64_t seed) {
  AbPlan plan;
  plan.measure = [&runs](const AbTask& task) { return runs.measure(task); };
  plan.now = [] { return Seconds{0}; };
  plan.seed = seed;
  return plan;
}

/// The sequential design, with the time that the processes would take.
template <typename Runs>
AbPlan sequential_over(Runs& runs, std::uint64_t seed, Seconds budget) {
  AbPlan plan = plan_over(runs, seed);
  plan.design = AbDesign::sequential;
  plan.now = [&runs] { return runs.elapsed(); };
  plan.budget = budget;
  return plan;
}

}  // namespace collbench
