// Choosing by measurements: `oracle` knows the point asked for, `measured` interpolates between
// those it has.
//
// Times of one algorithm at one scale are joined by heuristics/calibration/time_curve.h; what lies
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
#include "heuristics/calibration/time_curve.h"
#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

constexpr double worth_leaving = 0.02;  // for each doubling outside the sizes measured
constexpr double repeat_noise = 0.02;   // relative; medians of our runs repeat within it

bool is_of(const MeasuredTime& row, const Question& question) {
  if (!question.backend.empty() && row.library != question.backend) return false;
  return row.algorithm != "auto" && row.bytes.count > 0 && row.time > Seconds{0};
}

bool is_at(const MeasuredTime& row, int workers, int nodes) {
  return row.scale.ranks == workers && (row.scale.nodes == 0 || row.scale.nodes == nodes);
}

std::string curve_name(const MeasuredTime& row) {
  return row.protocol.empty() ? row.algorithm : row.algorithm + "/" + row.protocol;
}

/// Curves by algorithm and protocol. Rows of the asked type and operator count where there are any.
struct CurveTable {
  std::map<std::string, TimeCurve> curves;
  std::map<std::string, std::pair<std::string, std::string>> names;
  std::vector<std::string> warnings;
};

CurveTable table_at(const Question& question, int workers) {
  const auto fits = [&](const MeasuredTime& row, bool exactly) {
    return is_of(row, question) && is_at(row, workers, question.nodes) &&
           (!exactly || (row.type == question.type && row.op == question.op));
  };
  const auto& rows = question.measured;
  const bool exactly =
      std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return fits(row, true); });
  CurveTable table;
  for (const MeasuredTime& row : rows) {
    if (!fits(row, exactly)) continue;
    const std::string name = curve_name(row);
    double& time = table.curves[name][row.bytes.count];
    time = time > 0 ? std::min(time, row.time.count()) : row.time.count();
    table.names[name] = {row.algorithm, row.protocol};
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
void warn_of_size(const CurveTable& table, Bytes bytes, Answer& answer) {
  std::int64_t least = 0;
  std::int64_t most = 0;
  for (const auto& [name, curve] : table.curves) {
    least = least == 0 ? curve.begin()->first : std::min(least, curve.begin()->first);
    most = std::max(most, curve.rbegin()->first);
  }
  if (bytes.count >= least && bytes.count <= most) return;
  const double factor =
      bytes.count < least
          ? static_cast<double>(least) / static_cast<double>(std::max<std::int64_t>(1, bytes.count))
          : static_cast<double>(bytes.count) / static_cast<double>(most);
  answer.warnings.push_back(fmt::format("{} is {:.3g} times beyond the sizes measured, {} to {}",
                                        to_string(bytes), factor, to_string(Bytes{least}),
                                        to_string(Bytes{most})));
}

const TimeCurve& curve_of(const CurveTable& table, const Candidate& c) {
  return table.curves.at(c.protocol.empty() ? c.algorithm : c.algorithm + "/" + c.protocol);
}

/// Among the candidates within the noise of the fastest, the one with the least time over half and
/// twice the size as well.
void settle(const CurveTable& table, Bytes bytes, Answer& answer) {
  const auto& candidates = answer.candidates;
  const double best = candidates.front().time->count();
  const auto around = [&](const Candidate& c) {
    const TimeCurve& curve = curve_of(table, c);
    const auto size = static_cast<double>(std::max<std::int64_t>(bytes.count, 1));
    return std::log(time_at(curve, size / 2)) + 2 * std::log(time_at(curve, size)) +
           std::log(time_at(curve, size * 2));
  };
  const Candidate* chosen = &candidates.front();
  for (const Candidate& c : candidates) {
    if (!c.refused.empty() || !c.time || c.time->count() > best * (1 + repeat_noise)) continue;
    if (around(c) < around(*chosen)) chosen = &c;
  }
  if (chosen == &candidates.front()) return;
  answer.reason = fmt::format("{} is within {:.3g} % of the fastest and ahead at sizes around",
                              chosen->algorithm, 100 * repeat_noise);
  answer.algorithm = chosen->algorithm;
  answer.protocol = chosen->protocol;
}

/// Keeps a library's own choice outside the sizes measured unless enough is gained.
void keep_default(const CurveTable& table, Bytes bytes, Answer& answer) {
  const auto size = static_cast<double>(std::max<std::int64_t>(bytes.count, 1));
  const double best = answer.candidates.front().time->count();
  for (const Candidate& c : answer.candidates) {
    if (!c.refused.empty() || !c.time || !is_library_default(c.algorithm)) continue;
    const double outside = doublings_outside(curve_of(table, c), size);
    if (outside == 0 || best < c.time->count() * (1 - worth_leaving * outside)) return;
    answer.reason = fmt::format(
        "{} is the library's own choice and {:.3g} % from the fastest, "
        "which is too little at a size that was not measured",
        c.algorithm, 100 * (c.time->count() / best - 1));
    answer.algorithm = c.algorithm;
    answer.protocol = c.protocol;
    return;
  }
}

std::vector<Candidate> candidates_of(const CurveTable& table, const Question& question) {
  std::vector<Candidate> candidates;
  const auto size = static_cast<double>(std::max<std::int64_t>(question.bytes.count, 1));
  for (const auto& [name, curve] : table.curves) {
    const auto& [algorithm, protocol] = table.names.at(name);
    const double time = time_at(curve, size);
    const bool exact = curve.count(question.bytes.count) > 0;
    candidates.push_back({algorithm, protocol, Seconds{time},
                          exact ? "measured" : "interpolated between measured sizes",
                          refusal(question, algorithm)});
  }
  return candidates;
}

}  // namespace

Answer ask_measured(const Question& question) {
  const int workers = nearest_workers(question);
  require(workers > 0,
          question.measured.empty()
              ? std::string("nothing is measured: give measurements (--measured)")
              : fmt::format(
                    "of {} measurements none is of {} on {} nodes", question.measured.size(),
                    question.backend.empty() ? "an algorithm" : question.backend, question.nodes));
  const CurveTable table = table_at(question, workers);
  Answer answer = take_fastest(question, candidates_of(table, question));
  settle(table, question.bytes, answer);
  keep_default(table, question.bytes, answer);
  answer.reason = "measured: " + answer.reason;
  answer.warnings.insert(answer.warnings.end(), table.warnings.begin(), table.warnings.end());
  if (workers != question.workers) {
    answer.warnings.push_back(fmt::format("{} workers were not measured; the times are those of {}",
                                          question.workers, workers));
  }
  warn_of_size(table, question.bytes, answer);
  return answer;
}

Answer ask_oracle(const Question& question) {
  CurveTable table = table_at(question, question.workers);
  std::erase_if(table.curves,
                [&](const auto& entry) { return entry.second.count(question.bytes.count) == 0; });
  require(!table.curves.empty(),
          fmt::format("the oracle knows measured points only; {} with {} workers on {} nodes is "
                      "none of them",
                      to_string(question.bytes), question.workers, question.nodes));
  Answer answer = take_fastest(question, candidates_of(table, question));
  answer.reason = "the fastest measured: " + answer.reason;
  return answer;
}

}  // namespace collbench
