// Choosing by measurements: `oracle` knows the point asked for, `measured` interpolates between
// those it has.
//
// Times of one algorithm at one scale are joined by heuristics/time_curve.h; what lies
// outside the sizes measured of it is said. Medians differ by chance, so among algorithms within
// the noise the one that is also best at the neighbouring sizes is taken, which keeps a table of
// choices from flickering. Outside the sizes measured a library's own choice is left only for a
// gain of 2 % for every doubling that the size is away, and so is any algorithm for another one
// whose sizes end further away.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/plain_text.h"
#include "heuristics/policies/policy.h"
#include "heuristics/run_effects.h"
#include "heuristics/time_curve.h"

namespace collbench {
namespace {

constexpr double repeat_noise = 0.02;  // relative; medians of our runs repeat within it

/// "auto" is a library's own choice, but of a back end of ours what is asked here.
bool is_of(const MeasuredTime& row, const Question& question) {
  const bool is_other = row.library != question.backend || row.algorithm == "auto";
  if (!question.backend.empty() && is_other) return false;
  return row.collective == question.collective && !row.is_wrong() && row.bytes.count > 0 &&
         row.time > Seconds{0};
}

/// Library, empty if all curves are of one, algorithm and protocol.
using CurveKey = std::tuple<std::string, std::string, std::string>;

/// Rows of the asked type and operator count where there are any.
struct CurveTable {
  std::map<CurveKey, TimeCurve> curves;
  std::vector<std::string> warnings;

  const TimeCurve& of(const Candidate& c) const {
    return curves.at({c.library, c.algorithm, c.protocol});
  }
};

double size_in(const Question& question) {
  return static_cast<double>(std::max<std::int64_t>(question.bytes.count, 1));
}

bool has_workers(const MeasuredTime& row, const Question& question, int workers) {
  return is_of(row, question) && row.scale.ranks == workers &&
         (row.scale.nodes == 0 || row.scale.nodes == question.nodes);
}

/// What rows say of the place where they were measured; empty: nothing.
std::string shape_text(const Scale& scale) {
  const std::string shape = to_string(scale.shape);
  return shape.empty() ? "" : shape + " nodes";
}
std::string cores_text(const Scale& scale) {
  return scale.cores > 0 ? counted(scale.cores, "core") : "";
}

/// Keeps the rows of the place asked for and those that do not say theirs; if there are none, those
/// of the place with the most points, which a warning names.
void keep_one_place(const std::string& asked, std::string (*place_of)(const Scale&),
                    std::vector<MeasuredTime>& rows, std::vector<std::string>& warnings) {
  std::map<std::string, std::size_t> points;
  for (const MeasuredTime& row : rows) ++points[place_of(row.scale)];
  std::string kept = asked;
  const bool is_known = points.count("") > 0;
  points.erase("");
  if (points.count(asked) == 0 && !(is_known && !asked.empty()) && !points.empty()) {
    kept =
        std::ranges::max_element(points, {}, [](const auto& each) { return each.second; })->first;
    if (!asked.empty()) {
      warnings.push_back(fmt::format("measured on {}, not on {}", kept, asked));
    } else if (points.size() > 1) {
      warnings.push_back(
          fmt::format("measured on {} of {} kinds that tables have, none of which has more points",
                      kept, points.size()));
    }
  }
  std::erase_if(rows, [&](const MeasuredTime& row) {
    const std::string place = place_of(row.scale);
    return !place.empty() && place != kept;
  });
}

template <typename IsWanted>
std::vector<MeasuredTime> rows_at(const Question& question, IsWanted is_wanted, CurveTable& table) {
  const auto same_work = [&](const MeasuredTime& row) {
    return row.type == question.type && row.op == question.op;
  };
  std::vector<MeasuredTime> rows;
  std::ranges::copy_if(question.measured, std::back_inserter(rows), is_wanted);
  if (rows.empty()) return rows;
  if (std::ranges::any_of(rows, same_work)) {
    std::erase_if(rows, [&](const MeasuredTime& row) { return !same_work(row); });
  } else {
    table.warnings.push_back(fmt::format("measured with another type or operator than {} {}",
                                         to_string(question.type), to_string(question.op)));
  }
  std::map<std::string, std::size_t> points;
  for (const MeasuredTime& row : rows) ++points[row.system];
  const std::string system = fullest_system(points, "the measurements are of", table.warnings);
  std::erase_if(rows, [&](const MeasuredTime& row) { return row.system != system; });
  const Scale asked{.shape = question.shape, .cores = question.cores};
  keep_one_place(shape_text(asked), shape_text, rows, table.warnings);
  keep_one_place(cores_text(asked), cores_text, rows, table.warnings);
  return rows;
}

/// Those of the libraries that most of what is available is of.
void keep_listed_libraries(const Question& question, std::vector<MeasuredTime>& rows,
                           std::vector<std::string>& warnings) {
  std::map<std::string, NameCounts> names;
  for (const MeasuredTime& row : rows) ++names[row.library][row.algorithm].first;
  const std::set<std::string> libraries = libraries_listed(names, question.available, warnings);
  std::erase_if(rows, [&](const MeasuredTime& row) { return libraries.count(row.library) == 0; });
}

/// How much a row says of where it was measured: of rows of one method and size the one that says
/// the most counts, for the others may be from elsewhere.
int said_of_place(const MeasuredTime& row) {
  return (row.scale.nodes > 0 ? 1 : 0) + (row.scale.shape != GridShape{} ? 1 : 0) +
         (row.scale.cores > 0 ? 1 : 0);
}

template <typename IsWanted>
CurveTable table_at(const Question& question, IsWanted is_wanted) {
  CurveTable table;
  std::vector<MeasuredTime> rows = rows_at(question, is_wanted, table);
  keep_listed_libraries(question, rows, table.warnings);
  NameCounts names;
  for (const MeasuredTime& row : rows) ++names[row.algorithm].first;
  const std::map<std::string, std::string> listed = listed_names(names, question.available);
  const bool several = std::ranges::any_of(
      rows, [&](const MeasuredTime& row) { return row.library != rows.front().library; });
  // Of what was measured in place and out of place, the latter comes first and counts.
  std::vector<MeasuredTime> medians = medians_of(without_run_effects(rows));
  std::ranges::stable_sort(medians, std::greater(), said_of_place);
  for (const MeasuredTime& row : medians) {
    const auto name = listed.find(row.algorithm);
    const CurveKey key{several ? row.library : "",
                       name == listed.end() ? row.algorithm : name->second, row.protocol};
    table.curves[key].try_emplace(row.bytes.count, row.time.count());
  }
  return table;
}

/// The measured numbers of workers nearest to those asked: one, or two where one is as many times
/// less as the other is more. Empty if nothing is measured.
std::set<int> nearest_workers(const Question& question) {
  std::map<double, std::set<int>> by_distance;  // how many times apart
  for (const MeasuredTime& row : question.measured) {
    if (!is_of(row, question) || row.scale.ranks < 2) continue;
    if (row.scale.nodes != 0 && row.scale.nodes != question.nodes) continue;
    const auto [few, many] = std::minmax(row.scale.ranks, question.workers);
    by_distance[static_cast<double>(many) / few].insert(row.scale.ranks);
  }
  return by_distance.empty() ? std::set<int>{} : by_distance.begin()->second;
}

/// On how many nodes else; empty where that is not known.
std::string measured_elsewhere(const Question& question) {
  std::set<int> nodes;
  for (const MeasuredTime& row : question.measured) {
    if (is_of(row, question) && row.scale.ranks > 1 && row.scale.nodes > 0) {
      nodes.insert(row.scale.nodes);
    }
  }
  if (nodes.empty()) return "";
  return fmt::format("; they are on {} nodes: name one by --nodes", fmt::join(nodes, ", "));
}

/// "8 times beyond the sizes measured of ring, 1 KiB to 1 MiB"; empty between them.
std::string beyond_sizes(const TimeCurve& curve, const std::string& name, double size) {
  const double outside = doublings_outside(curve, size);
  if (outside == 0) return {};
  return fmt::format("{:.3g} times beyond the sizes measured of {}, {} to {}", std::exp2(outside),
                     name, to_string(Bytes{curve.begin()->first}),
                     to_string(Bytes{curve.rbegin()->first}));
}

/// Says how far a size is from those measured of the choice.
void warn_of_size(const CurveTable& table, const Question& question, Answer& answer) {
  const Candidate chosen{answer.algorithm, answer.protocol, {}, "", "", answer.library};
  const std::string beyond = beyond_sizes(table.of(chosen), name_of(chosen), size_in(question));
  if (beyond.empty()) return;
  answer.warnings.push_back(fmt::format("{} is {}", to_string(question.bytes), beyond));
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
  answer.take(*chosen);
  answer.reason = fmt::format("{} is within {:.3g} % of the fastest and ahead at sizes around",
                              name_of(*chosen), 100 * repeat_noise);
}

/// Keeps a library's own choice outside the sizes measured unless enough is gained.
void keep_default(const CurveTable& table, double size, Answer& answer) {
  const Seconds best = *answer.candidates.front().time;
  for (const Candidate& c : answer.candidates) {
    if (!c.refused.empty() || !is_library_default(c.algorithm)) continue;
    const double outside = doublings_outside(table.of(c), size);
    if (outside == 0 || best < *c.time * (1 - worth_leaving_default * outside)) return;
    answer.take(c);
    answer.reason = fmt::format(
        "{} is the library's own choice and {:.3g} % from the fastest, which is too little at a "
        "size that was not measured",
        name_of(c), 100 * (*c.time / best - 1));
    return;
  }
}

/// Takes the fastest of those whose sizes end less far away than those of the choice, unless the
/// choice gains enough.
void keep_better_known(const CurveTable& table, double size, Answer& answer) {
  const auto outside = [&](const Candidate& c) { return doublings_outside(table.of(c), size); };
  const Candidate chosen = *std::ranges::find_if(answer.candidates, [&](const Candidate& c) {
    return std::tie(c.library, c.algorithm, c.protocol) ==
           std::tie(answer.library, answer.algorithm, answer.protocol);
  });
  for (const Candidate& c : answer.candidates) {
    const double nearer = outside(chosen) - outside(c);
    if (!c.refused.empty() || nearer <= 0) continue;
    if (*chosen.time < *c.time * (1 - worth_leaving_default * nearer)) continue;
    answer.take(c);
    answer.reason = fmt::format("{} with {}; {} would take {}, but that is {}", name_of(c),
                                to_string(*c.time), name_of(chosen), to_string(*chosen.time),
                                beyond_sizes(table.of(chosen), "it", size));
    return;
  }
}

std::string how_known(const TimeCurve& curve, const Question& question) {
  if (curve.count(question.bytes.count) > 0) return "measured";
  const std::string beyond = beyond_sizes(curve, "it", size_in(question));
  return beyond.empty() ? "interpolated between measured sizes" : "extrapolated, " + beyond;
}

std::vector<Candidate> candidates_of(const CurveTable& table, const Question& question) {
  std::vector<Candidate> candidates;
  for (const auto& [key, curve] : table.curves) {
    const auto& [library, algorithm, protocol] = key;
    candidates.push_back({algorithm, protocol, Seconds{time_at(curve, size_in(question))},
                          how_known(curve, question), refusal(question, algorithm, true), library});
  }
  return candidates;
}

}  // namespace

bool is_measured_at(const MeasuredTime& row, const Question& question, int workers) {
  const bool is_shape_known = row.scale.shape != GridShape{} && question.shape != GridShape{};
  const bool are_cores_known = row.scale.cores > 0 && question.cores > 0;
  return has_workers(row, question, workers) &&
         (!is_shape_known || row.scale.shape == question.shape) &&
         (!are_cores_known || row.scale.cores == question.cores);
}

std::string place_text(const Question& question) {
  if (!question.backend.empty() && question.cores > 0) return counted(question.cores, "core");
  const std::string shape = to_string(question.shape);
  return shape.empty() ? counted(question.nodes, "node") : shape + " nodes";
}

Answer ask_measured(const Question& question) {
  const std::set<int> nearest = nearest_workers(question);
  require(!nearest.empty(),
          question.measured.empty()
              ? std::string("nothing is measured: give measurements (--measured)")
              : fmt::format("of {} measurements none is of a correct {}{} on {}",
                            question.measured.size(), to_string(question.collective),
                            question.backend.empty() ? "" : " with " + question.backend,
                            counted(question.nodes, "node")) +
                    measured_elsewhere(question));
  const int workers = *nearest.rbegin();
  const CurveTable table = table_at(
      question, [&](const MeasuredTime& row) { return has_workers(row, question, workers); });
  Answer answer = take_fastest(candidates_of(table, question));
  settle(table, size_in(question), answer);
  keep_default(table, size_in(question), answer);
  keep_better_known(table, size_in(question), answer);
  answer.reason = "measured: " + answer.reason;
  answer.warnings.insert(answer.warnings.end(), table.warnings.begin(), table.warnings.end());
  if (workers != question.workers) {
    answer.warnings.push_back(fmt::format(
        "{} workers were not measured; the times are those of {}{}", question.workers, workers,
        nearest.size() > 1 ? fmt::format(", and {} are as near", *nearest.begin()) : ""));
  }
  warn_of_size(table, question, answer);
  warn_of_counts(question, answer);
  return answer;
}

Answer ask_oracle(const Question& question) {
  CurveTable table = table_at(question, [&](const MeasuredTime& row) {
    return is_measured_at(row, question, question.workers);
  });
  std::erase_if(table.curves,
                [&](const auto& entry) { return entry.second.count(question.bytes.count) == 0; });
  require(!table.curves.empty(),
          fmt::format("the oracle knows measured points only; {} with {} workers on {} is "
                      "none of them",
                      to_string(question.bytes), question.workers, place_text(question)));
  Answer answer = take_fastest(candidates_of(table, question));
  answer.reason = "the fastest measured: " + answer.reason;
  answer.warnings = table.warnings;
  warn_of_counts(question, answer);
  return answer;
}

}  // namespace collbench
