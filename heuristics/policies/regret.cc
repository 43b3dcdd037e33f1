#include "heuristics/policies/regret.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "core/error.h"
#include "core/plain_text.h"
#include "core/quantile.h"
#include "core/suggest.h"
#include "heuristics/calibration/fitted_choice.h"
#include "heuristics/policies/policy.h"
#include "heuristics/run_effects.h"
#include "heuristics/time_curve.h"

namespace collbench {
namespace {

/// What is compared: rows that differ in algorithm and protocol only.
using PointKey = std::tuple<std::string, std::string, Scale, DataType, ReduceOp, bool,
                            CollectiveKind, int, Bytes>;
using TimeRows = std::vector<MeasuredTime>;
/// By name. Repeated measurements count with their median, as in a calibration, but what whole runs
/// differ by does not count (heuristics/run_effects.h).
using Candidates = std::map<std::string, MeasuredTime>;

struct Points {
  std::map<PointKey, Candidates> candidates;
  std::map<std::string, TimeRows> by_system;
};

Points gather(std::span<const MeasuredTime> rows) {
  std::map<PointKey, TimeRows> compared;
  Points points;
  for (const MeasuredTime& row : rows) {
    if (row.is_wrong()) continue;
    compared[{row.system, row.library, row.scale, row.type, row.op, row.in_place, row.collective,
              row.root, row.bytes}]
        .push_back(row);
    points.by_system[row.system].push_back(row);
  }
  for (const auto& [key, own] : compared) {
    const TimeRows medians = medians_of(without_run_effects(own));
    if (medians.size() < 2) continue;
    for (const MeasuredTime& row : medians) {
      points.candidates[key].emplace(full_name(row.algorithm, row.protocol), row);
    }
  }
  return points;
}

std::string choose_default(const Candidates& candidates) {
  for (const auto& [name, row] : candidates) {
    if (is_library_default(row.algorithm)) return name;
  }
  throw InvalidArgument("the library's own choice was not measured there");
}

/// The rows of the same build of the library and the same place if they were measured, else of any.
TimeRows nearest_kin(TimeRows rows, const MeasuredTime& asked) {
  const auto keep = [&rows](const auto& is_kin) {
    if (std::ranges::any_of(rows, is_kin)) std::erase_if(rows, std::not_fn(is_kin));
  };
  keep([&](const MeasuredTime& row) { return row.library == asked.library; });
  keep([&](const MeasuredTime& row) { return row.in_place == asked.in_place; });
  return rows;
}

/// The fastest at the largest scale known, of those that can be had here.
std::string choose_at_largest_scale(const Candidates& candidates, TimeRows known) {
  const MeasuredTime& asked = candidates.begin()->second;
  known = nearest_kin(std::move(known), asked);
  std::string best;
  Seconds least{0};
  for (const MeasuredTime& row : medians_of(without_run_effects(
           times_at_largest_scale(known, asked.system, asked.scale, asked.bytes)))) {
    const std::string name = full_name(row.algorithm, row.protocol);
    if (candidates.count(name) == 0 || (!best.empty() && row.time >= least)) continue;
    best = name;
    least = row.time;
  }
  require(!best.empty(), "none of the algorithms there was measured at the largest scale known");
  return best;
}

/// Where methods have trends of their own, the library's own choice is kept for less than 2 %.
/// Algorithms with too few points for a model count with their time here, if it may be seen.
std::string choose_calibrated(const Candidates& candidates, const Calibration& calibration,
                              bool may_see_here) {
  const MeasuredTime& asked = candidates.begin()->second;
  std::vector<MethodKey> methods;
  std::map<MethodKey, std::string> names;
  std::string best;
  Seconds least{0};
  for (const auto& [name, row] : candidates) {
    const MethodKey method = method_of(row);
    names[method] = name;
    const MethodModel* model = calibration.find(method);
    const bool has_trend = model != nullptr && model->method() == method;
    if (has_trend || calibration.structure_of(method, row.scale) != nullptr) {
      methods.push_back(method);
    } else if (may_see_here && (best.empty() || row.time < least)) {
      best = name;
      least = row.time;
    }
  }
  const auto ranked = rank_methods(calibration, methods, asked.scale, asked.bytes);
  require(!best.empty() || !ranked.empty(), "none of the algorithms there can be fitted");
  if (!ranked.empty() && (best.empty() || ranked.front().counted < least)) {
    best = names.at(ranked.front().method);
    least = ranked.front().counted;
  }
  for (const FittedCandidate& each : ranked) {
    if (!is_library_default(each.method.algorithm)) continue;
    if (calibration.structure_of(each.method, asked.scale) != nullptr) continue;
    if (least > each.estimate.time * (1 - worth_leaving_default)) return names.at(each.method);
  }
  return best;
}

std::string ask_policy(const std::string& policy, const Candidates& candidates, TimeRows known) {
  const MeasuredTime& any = candidates.begin()->second;
  Question question;
  question.bytes = any.bytes;
  question.type = any.type;
  question.op = any.op;
  question.collective = any.collective;
  question.workers = any.scale.ranks;
  question.nodes = std::max(any.scale.nodes, 1);
  question.shape = any.scale.shape;
  question.cores = any.scale.cores;
  known = nearest_kin(std::move(known), any);
  for (MeasuredTime& row : known) row.algorithm = lower_case(row.algorithm);  // as policies do
  question.measured = known;
  for (const auto& [name, row] : candidates) {
    question.available.push_back(lower_case(row.algorithm));
  }
  const Answer answer = ask(find_policy(policy), question);
  const std::string chosen = full_name(answer.algorithm, answer.protocol);
  for (const auto& [name, row] : candidates) {
    if (lower_case(name) == lower_case(chosen)) return name;
  }
  return chosen;
}

/// Chooses at the points of one system; calibrations are made once for each size held out.
class Chooser {
 public:
  Chooser(std::string policy, TimeRows rows, bool size_held_out, bool may_see_here)
      : policy_(std::move(policy)),
        rows_(std::move(rows)),
        size_held_out_(size_held_out),
        may_see_here_(may_see_here && !size_held_out) {}

  std::string choose(const Candidates& candidates) {
    if (policy_ == "default") return choose_default(candidates);
    const Bytes size = candidates.begin()->second.bytes;
    if (policy_ == "largest-scale") return choose_at_largest_scale(candidates, known(size));
    if (policy_ != "model") return ask_policy(policy_, candidates, known(size));
    const Bytes key = size_held_out_ ? size : Bytes{};
    auto at = calibrations_.find(key);
    if (at == calibrations_.end()) at = calibrations_.emplace(key, Calibration(known(size))).first;
    return choose_calibrated(candidates, at->second, may_see_here_);
  }

 private:
  TimeRows known(Bytes size) const {
    TimeRows rows = rows_;
    if (size_held_out_) std::erase_if(rows, [&](const auto& row) { return row.bytes == size; });
    return rows;
  }

  std::string policy_;
  TimeRows rows_;
  bool size_held_out_;
  bool may_see_here_;
  std::map<Bytes, Calibration> calibrations_;
};

RegretPoint judge(const Candidates& candidates, Chooser& chooser) {
  RegretPoint point;
  point.best =
      std::min_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
        return a.second.time < b.second.time;
      })->second;
  try {
    const std::string name = chooser.choose(candidates);
    const auto found = candidates.find(name);
    require(found != candidates.end(), fmt::format("'{}' was not measured there", name));
    point.chosen = name;
    point.time = found->second.time;
  } catch (const InvalidArgument& e) {
    point.why_not = e.what();
  }
  return point;
}

/// One of those that a question can be put to, or of the two that only know measurements.
void require_policy(const std::string& policy) {
  std::vector<std::string> names = {"default", "largest-scale"};
  for (const Policy& each : policies()) names.emplace_back(each.name);
  index_of("policy", policy, names);
}

}  // namespace

RegretSummary summarize_regret(std::span<const RegretPoint> points) {
  RegretSummary summary;
  std::vector<double> regrets;
  for (const RegretPoint& point : points) {
    if (point.chosen.empty()) {
      ++summary.unanswered;
    } else {
      regrets.push_back(point.regret());
    }
  }
  if (regrets.empty()) return summary;
  summary.points = static_cast<int>(regrets.size());
  summary.mean = std::accumulate(regrets.begin(), regrets.end(), 0.0) / summary.points;
  summary.p95 = quantile(regrets, 0.95);
  summary.worst = quantile(std::move(regrets), 1);
  return summary;
}

std::vector<RegionRegret> regret_by_region(std::span<const RegretPoint> points) {
  std::map<std::pair<std::size_t, int>, std::vector<RegretPoint>> regions;
  for (const RegretPoint& point : points) {
    regions[{band_of(point.best.bytes), point.best.scale.ranks}].push_back(point);
  }
  std::vector<RegionRegret> found;
  for (const auto& [region, own] : regions) {
    found.push_back({size_bands[region.first].name, region.second, summarize_regret(own)});
  }
  return found;
}

std::vector<RegretPoint> regret_of(const std::string& policy, std::span<const MeasuredTime> rows,
                                   const RegretKnowledge& knowledge) {
  require_policy(policy);
  const Points points = gather(rows);
  const bool in_sample = !knowledge.fitted_to.has_value();
  std::map<std::string, Chooser> choosers;
  for (const auto& each : points.by_system) {
    const std::string& system = each.first;
    TimeRows known = in_sample ? each.second : *knowledge.fitted_to;
    if (!in_sample) {
      std::erase_if(
          known, [&](const MeasuredTime& row) { return row.system != system || row.is_wrong(); });
    }
    choosers.try_emplace(system, policy, std::move(known), knowledge.size_held_out, in_sample);
  }
  std::vector<RegretPoint> judged;
  for (const auto& [key, candidates] : points.candidates) {
    judged.push_back(judge(candidates, choosers.at(std::get<0>(key))));
  }
  return judged;
}

}  // namespace collbench
