// Choosing by measurements: `oracle` knows the point asked for, `measured` interpolates between
// those it has.
//
// Times of one algorithm at one scale are joined by heuristics/time_curve.h; what lies
// outside the sizes measured is said. Medians differ by chance, so among algorithms within the
// noise the one that is also best at the neighbouring sizes is taken, which keeps a table of
// choices from flickering. Outside the sizes measured a library's own choice is left only for a
// gain of 2 % for every doubling that the size is away.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/policies/policy.h"
#include "heuristics/time_curve.h"

namespace collbench {
namespace {

constexpr double repeat_noise = 0.02;  // relative; medians of our runs repeat within it

bool is_of(const MeasuredTime& row, const Question& question) {
  if (!question.backend.empty() && row.library != question.backend) return false;
  return row.algorithm != "auto" && row.bytes.count > 0 && row.time > Seconds{0};
}

struct MeasuredCurve {
  std::string algorithm;
  std::string protocol;
  TimeCurve times;
};

/// By full name. Rows of the asked type and operator count where there are any.
struct CurveTable {
  std::map<std::string, MeasuredCurve> curves;
  std::vector<std::string> warnings;

  const TimeCurve& of(const Candidate& c) const {
    return curves.at(full_name(c.algorithm, c.protocol)).times;
  }
};

double size_in(const Question& question) {
  return static_cast<double>(std::max<std::int64_t>(question.bytes.count, 1));
}

CurveTable table_at(const Question& question, int workers) {
  const auto fits = [&](const MeasuredTime& row, bool exactly) {
    return is_measured_at(row, question, workers) &&
           (!exactly || (row.type == question.type && row.op == question.op));
  };
  const auto& rows = question.measured;
  const bool exactly =
      std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return fits(row, true); });
  CurveTable table;
  for (const MeasuredTime& row : rows) {
    if (!fits(row, exactly)) continue;
    MeasuredCurve& curve = table.curves
                               .try_emplace(full_name(row.algorithm, row.protocol),
                                            MeasuredCurve{row.algorithm, row.protocol, {}})
                               .first->second;
    const double time = row.time.count();
    const auto [at, is_new] = curve.times.try_emplace(row.bytes.count, time);
    if (!is_new) at->second = std::min(at->second, time);
  }
  if (!exactly && !table.curves.empty()) {
    table.warnings.push_back(fmt::format("measured with another type or operator than {} {}",
                                         to_string(question.type), to_string(question.op)));
  }
  return table;
}

/// The measured scale with the nearest number of workers; 0 if nothing is measured.
int nearest_workers(const Question& question) {
  int nearest = 0;
  double least = 0;
  for (const MeasuredTime& row : question.measured) {
    if (!is_of(row, question) || row.scale.ranks < 2) continue;
    const double away = std::abs(std::log(static_cast<double>(row.scale.ranks) / question.workers));
    if (nearest != 0 && away >= least) continue;
    if (row.scale.nodes != 0 && row.scale.nodes != question.nodes) continue;
    nearest = row.scale.ranks;
    least = away;
  }
  return nearest;
}

/// Says how far a size is from those measured of all algorithms together.
void warn_of_size(const CurveTable& table, const Question& question, Answer& answer) {
  TimeCurve all;
  for (const auto& [name, curve] : table.curves) all.insert(curve.times.begin(), curve.times.end());
  const double outside = doublings_outside(all, size_in(question));
  if (outside == 0) return;
  answer.warnings.push_back(fmt::format("{} is {:.3g} times beyond the sizes measured, {} to {}",
                                        to_string(question.bytes), std::exp2(outside),
                                        to_string(Bytes{all.begin()->first}),
                                        to_string(Bytes{all.rbegin()->first})));
}

void take(const Candidate& candidate, std::string reason, Answer& answer) {
  answer.algorithm = candidate.algorithm;
  answer.protocol = candidate.protocol;
  answer.reason = std::move(reason);
}

/// Among the candidates within the noise of the fastest, the one with the least time over half and
/// twice the size as well.
void settle(const CurveTable& table, double size, Answer& answer) {
  const auto& candidates = answer.candidates;
  const Seconds best = *candidates.front().time;
  const auto around = [&](const Candidate& c) {
    const TimeCurve& curve = table.of(c);
    return std::log(time_at(curve, size / 2)) + 2 * std::log(time_at(curve, size)) +
           std::log(time_at(curve, size * 2));
  };
  const Candidate* chosen = &candidates.front();
  for (const Candidate& c : candidates) {
    if (!c.refused.empty() || *c.time > best * (1 + repeat_noise)) continue;
    if (around(c) < around(*chosen)) chosen = &c;
  }
  if (chosen == &candidates.front()) return;
  take(*chosen,
       fmt::format("{} is within {:.3g} % of the fastest and ahead at sizes around",
                   chosen->algorithm, 100 * repeat_noise),
       answer);
}

/// Keeps a library's own choice outside the sizes measured unless enough is gained.
void keep_default(const CurveTable& table, double size, Answer& answer) {
  const Seconds best = *answer.candidates.front().time;
  for (const Candidate& c : answer.candidates) {
    if (!c.refused.empty() || !is_library_default(c.algorithm)) continue;
    const double outside = doublings_outside(table.of(c), size);
    if (outside == 0 || best < *c.time * (1 - worth_leaving_default * outside)) return;
    take(c,
         fmt::format("{} is the library's own choice and {:.3g} % from the fastest, "
                     "which is too little at a size that was not measured",
                     c.algorithm, 100 * (*c.time / best - 1)),
         answer);
    return;
  }
}

std::vector<Candidate> candidates_of(const CurveTable& table, const Question& question) {
  std::vector<Candidate> candidates;
  for (const auto& [name, curve] : table.curves) {
    const bool exact = curve.times.count(question.bytes.count) > 0;
    candidates.push_back({curve.algorithm, curve.protocol,
                          Seconds{time_at(curve.times, size_in(question))},
                          exact ? "measured" : "interpolated between measured sizes",
                          refusal(question, curve.algorithm)});
  }
  return candidates;
}

}  // namespace

bool is_measured_at(const MeasuredTime& row, const Question& question, int workers) {
  return is_of(row, question) && row.collective == question.collective &&
         row.scale.ranks == workers && (row.scale.nodes == 0 || row.scale.nodes == question.nodes);
}

Answer ask_measured(const Question& question) {
  const int workers = nearest_workers(question);
  require(workers > 0,
          question.measured.empty()
              ? std::string("nothing is measured: give measurements (--measured)")
              : fmt::format(
                    "of {} measurements none is of {} on {} nodes", question.measured.size(),
                    question.backend.empty() ? "an algorithm" : question.backend, question.nodes));
  const CurveTable table = table_at(question, workers);
  Answer answer = take_fastest(candidates_of(table, question));
  settle(table, size_in(question), answer);
  keep_default(table, size_in(question), answer);
  answer.reason = "measured: " + answer.reason;
  answer.warnings.insert(answer.warnings.end(), table.warnings.begin(), table.warnings.end());
  if (workers != question.workers) {
    answer.warnings.push_back(fmt::format("{} workers were not measured; the times are those of {}",
                                          question.workers, workers));
  }
  warn_of_size(table, question, answer);
  warn_of_counts(question, answer);
  return answer;
}

Answer ask_oracle(const Question& question) {
  CurveTable table = table_at(question, question.workers);
  std::erase_if(table.curves, [&](const auto& entry) {
    return entry.second.times.count(question.bytes.count) == 0;
  });
  require(!table.curves.empty(),
          fmt::format("the oracle knows measured points only; {} with {} workers on {} nodes is "
                      "none of them",
                      to_string(question.bytes), question.workers, question.nodes));
  Answer answer = take_fastest(candidates_of(table, question));
  answer.reason = "the fastest measured: " + answer.reason;
  warn_of_counts(question, answer);
  return answer;
}

}  // namespace collbench
