#include "heuristics/run_effects.h"

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/quantile.h"

namespace collbench {
namespace {

using PointOfRuns = std::tuple<std::string, std::string, Scale, DataType, ReduceOp, bool,
                               CollectiveKind, int, Bytes>;
using RunName = std::string;
using AlgorithmName = std::pair<std::string, std::string>;  // and its protocol

PointOfRuns point_of_runs(const MeasuredTime& row) {
  return {row.system,   row.library,    row.scale, row.type, row.op,
          row.in_place, row.collective, row.root,  row.bytes};
}

AlgorithmName name_in_run(const MeasuredTime& row) { return {row.algorithm, row.protocol}; }

/// ln(time) by algorithm and run, of one point.
class RunsOfPoint {
 public:
  void add(const MeasuredTime& row) {
    logs_[name_in_run(row)][row.batch].push_back(std::log(row.time.count()));
    runs_[row.batch].insert(name_in_run(row));
  }

  /// Whether a run lacks what another one has.
  bool differ() const {
    for (const auto& [run, algorithms] : runs_) {
      if (algorithms.size() != logs_.size()) return true;
    }
    return false;
  }

  /// By alternation: what an algorithm takes in a usual run, then what runs differ by from that.
  std::map<RunName, double> effects() const {
    constexpr int rounds = 50;
    std::map<RunName, double> effects;
    for (const auto& run : runs_) effects[run.first] = 0;
    for (int round = 0; round < rounds; ++round) {
      const std::map<RunName, double> before = effects;
      for (auto& [run, effect] : effects) effect = effect_of(run, before);
    }
    double mean = 0;
    for (const auto& each : effects) mean += each.second / static_cast<double>(effects.size());
    for (auto& each : effects) each.second -= mean;
    return effects;
  }

 private:
  double effect_of(const RunName& run, const std::map<RunName, double>& before) const {
    std::vector<double> differences;
    for (const AlgorithmName& algorithm : runs_.at(run)) {
      const auto& by_run = logs_.at(algorithm);
      if (by_run.size() < 2) continue;
      double usual = 0;
      for (const auto& [other, logs] : by_run) {
        usual += (quantile(logs, 0.5) - before.at(other)) / static_cast<double>(by_run.size());
      }
      differences.push_back(quantile(by_run.at(run), 0.5) - usual);
    }
    return differences.empty() ? 0 : quantile(std::move(differences), 0.5);
  }

  std::map<AlgorithmName, std::map<RunName, std::vector<double>>> logs_;
  std::map<RunName, std::set<AlgorithmName>> runs_;
};

}  // namespace

std::vector<MeasuredTime> without_run_effects(std::span<const MeasuredTime> rows) {
  std::map<PointOfRuns, RunsOfPoint> points;
  for (const MeasuredTime& row : rows) points[point_of_runs(row)].add(row);
  std::map<PointOfRuns, std::map<RunName, double>> effects;
  for (const auto& [point, runs] : points) {
    if (runs.differ()) effects[point] = runs.effects();
  }
  std::vector<MeasuredTime> usual(rows.begin(), rows.end());
  for (MeasuredTime& row : usual) {
    const auto found = effects.find(point_of_runs(row));
    if (found == effects.end()) continue;
    const double factor = std::exp(-found->second.at(row.batch));
    row.time *= factor;
    row.low *= factor;
    row.high *= factor;
  }
  return usual;
}

}  // namespace collbench
