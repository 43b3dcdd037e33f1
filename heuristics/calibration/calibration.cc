#include "heuristics/calibration/calibration.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/plain_text.h"
#include "core/quantile.h"
#include "heuristics/calibration/plausible.h"
#include "heuristics/structure/ignored_requests.h"

namespace collbench {
namespace {

constexpr std::size_t least_points = 4;
constexpr double least_span = 16;              // of sizes, largest over smallest
constexpr std::size_t least_named_points = 6;  // of methods that play a known form

/// Rows by a property of theirs, without those whose results are wrong and those of one rank.
template <typename Key>
auto grouped(std::vector<MeasuredTime> rows, Key key) {
  std::map<decltype(key(rows[0])), std::vector<MeasuredTime>> groups;
  for (MeasuredTime& row : rows) {
    if (!row.is_wrong() && row.scale.ranks != 1) groups[key(row)].push_back(std::move(row));
  }
  return groups;
}

/// Why a method cannot be fitted; empty if it can.
std::string lacking(const std::vector<MeasuredTime>& rows) {
  std::set<std::int64_t> sizes;
  for (const MeasuredTime& row : rows) sizes.insert(row.bytes.count);
  if (sizes.size() < least_points) {
    return fmt::format("{}, at least {} are needed", counted(std::ssize(sizes), "size"),
                       least_points);
  }
  const double span = static_cast<double>(*sizes.rbegin()) / static_cast<double>(*sizes.begin());
  if (span < least_span) {
    return fmt::format("sizes from {} to {}, they must span {} times to tell latency from rate",
                       to_string(Bytes{*sizes.begin()}), to_string(Bytes{*sizes.rbegin()}),
                       least_span);
  }
  return {};
}

std::vector<MeasuredTime> without_ignored_by_system(std::vector<MeasuredTime> rows,
                                                    std::vector<std::string>& notes) {
  std::vector<MeasuredTime> kept;
  const auto system_of = [](const MeasuredTime& row) { return row.system; };
  for (auto& [system, own] : grouped(std::move(rows), system_of)) {
    for (MeasuredTime& row : without_ignored_requests(std::move(own), notes)) {
      kept.push_back(std::move(row));
    }
  }
  return kept;
}

void note_unknown_nodes(const std::vector<MeasuredTime>& rows, std::vector<std::string>& notes) {
  const auto unknown = std::count_if(rows.begin(), rows.end(), [](const MeasuredTime& row) {
    return row.scale.nodes == 0 && row.scale.ranks > 1;
  });
  if (unknown == 0) return;
  notes.push_back(
      fmt::format("how many nodes is not said of {}; taken as one node. Add it: FILE,nodes=2",
                  counted(unknown, "row")));
}

void note_single_ranks(const std::vector<MeasuredTime>& rows, std::vector<std::string>& notes) {
  const auto single = std::ranges::count(rows, 1, [](const auto& row) { return row.scale.ranks; });
  if (single == 0) return;
  notes.push_back(
      fmt::format("{} of one rank, which sends nothing, left out", counted(single, "row")));
}

/// How many points are of methods that play one known form. Repeats are one, as in a file.
std::size_t named_points(const std::vector<MeasuredTime>& rows) {
  return static_cast<std::size_t>(std::ranges::count_if(medians_of(rows), [](const auto& row) {
    const auto played = played_method(method_of(row), row.scale);
    return played && played->form != PlayedForm::library_choice;
  }));
}

std::string of_which_system(const std::string& system) {
  return fmt::format(
      "rows of a system that is not in the fit are predicted as those of '{}', one of several",
      system);
}

/// Names of hosts' libraries that have no form; NCCL's are meant to have trends.
bool is_unknown(const std::vector<MeasuredTime>& rows) {
  const MeasuredTime& first = rows.front();
  const bool between = std::any_of(rows.begin(), rows.end(), [](const MeasuredTime& row) {
    return row.scale.nodes > 1 && row.scale.nodes == row.scale.ranks;
  });
  return between && lower_case(first.library).find("ccl") == std::string::npos &&
         !is_library_default(first.algorithm) &&
         !played_method(method_of(first), {.ranks = 2, .nodes = 2});
}

bool matches(const std::string& asked, const std::string& own) {
  return asked.empty() || asked == own;
}

/// Standard deviation of ln(time) beside that of a trend whose measurements were of `own`.
double other_work_noise(const MethodKey& own, const MethodKey& asked) {
  return own.type == asked.type && own.op == asked.op ? 0 : other_build_noise;
}

/// A library's own choice is one of its algorithms, but one algorithm is not another.
bool stands_for(const std::string& own, const std::string& asked) {
  return own == asked || own == "auto" || asked == "auto";
}

}  // namespace

ErrorSummary summarize_errors(std::vector<double> errors) {
  ErrorSummary summary;
  summary.within = -1;
  if (errors.empty()) return summary;
  for (double& error : errors) error = std::abs(error);
  summary.points = static_cast<int>(errors.size());
  summary.median = quantile(errors, 0.5);
  summary.p90 = quantile(errors, 0.9);
  summary.worst = quantile(std::move(errors), 1);
  return summary;
}

struct Calibration::Points {
  std::vector<MeasuredTime> rows;
  std::vector<MeasuredMethod> methods;
};

Calibration::Calibration(std::vector<MeasuredTime> rows, std::span<const StoredFit> stored,
                         std::span<const StoredNoise> noises) {
  const bool any = !rows.empty();
  require(!any || std::ranges::any_of(rows, [](const auto& row) { return row.scale.ranks != 1; }),
          "all measurements are of one rank, which sends nothing: two ranks or more are needed");
  refuse_impossible(rows);
  note_single_ranks(rows, notes_);
  // Rows with a fit made before are those that it kept.
  if (stored.empty()) rows = without_ignored_by_system(std::move(rows), notes_);
  if (stored.empty()) note_unknown_nodes(rows, notes_);
  refuse_contradictions(rows);
  rows = take_structures(std::move(rows), stored);
  for (auto& [method, own] : grouped(std::move(rows), method_of)) {
    const std::string lack = lacking(own);
    if (!lack.empty()) {
      notes_.push_back(fmt::format("'{}' is left out: {}", to_string(method), lack));
      continue;
    }
    if (is_unknown(own)) {
      notes_.push_back(fmt::format("'{}' has a trend of its own: it is not known what it plays",
                                   to_string(method)));
    }
    const auto noise = std::ranges::find(noises, method, &StoredNoise::method);
    models_.emplace_back(std::move(own), noise == noises.end() ? 0 : noise->noise);
    if (const std::size_t more = models_.back().points_left_out(); more > 0) {
      const std::size_t kept = models_.back().points().size();
      notes_.push_back(fmt::format("'{}' rests on {} of its {} points, evenly spread over them",
                                   to_string(method), kept, kept + more));
    }
  }
  require(!models_.empty() || !structures_.empty(),
          !any ? "no measurements to calibrate with"
               : fmt::format("too few measurements: {}",
                             notes_.empty() ? "all have wrong results" : notes_.front()));
  points_ = std::make_shared<const Points>(all_points());
}

std::vector<MeasuredTime> Calibration::take_structures(std::vector<MeasuredTime> rows,
                                                       std::span<const StoredFit> stored) {
  const auto structure_key = [](const MeasuredTime& row) {
    const auto played = played_method(method_of(row), row.scale);
    return std::tuple(row.system, played ? std::optional(played->interconnect) : std::nullopt,
                      row.scale.cores);
  };
  std::vector<MeasuredTime> rest;
  for (auto& [key, own] : grouped(std::move(rows), structure_key)) {
    const auto& [system, interconnect, cores] = key;
    if (!interconnect || !lacking(own).empty() || named_points(own) < least_named_points) {
      std::ranges::move(own, std::back_inserter(rest));
      continue;
    }
    std::optional<NetworkFit> fit;
    for (const StoredFit& each : stored) {
      if (each.system == system && each.interconnect == *interconnect && each.cores == cores) {
        fit = each.fit;
      }
    }
    structures_.emplace_back(*interconnect, own, std::move(fit));
  }
  return rest;
}

int Calibration::cores_of(const std::string& system) const {
  int cores = 0;
  std::size_t most = 0;
  for (const StructuralModel& structure : structures_) {
    const std::size_t points = structure.points().size();
    if (structure.system() != system || structure.cores() == 0 || points <= most) continue;
    cores = structure.cores();
    most = points;
  }
  return cores;
}

Calibration::Points Calibration::all_points() const {
  std::map<MethodKey, std::vector<const MeasuredTime*>> by_method;
  const auto add = [&](const std::vector<MeasuredTime>& rows) {
    for (const MeasuredTime& row : rows) by_method[method_of(row)].push_back(&row);
  };
  for (const StructuralModel& structure : structures_) add(structure.points());
  for (const MethodModel& model : models_) add(model.points());
  Points all;
  std::size_t size = 0;
  for (const auto& [method, rows] : by_method) size += rows.size();
  all.rows.reserve(size);  // spans of it follow
  for (const auto& [method, rows] : by_method) {
    for (const MeasuredTime* row : rows) all.rows.push_back(*row);
  }
  std::span<const MeasuredTime> rest = all.rows;
  for (const auto& [method, rows] : by_method) {
    all.methods.push_back({method, rest.first(rows.size())});
    rest = rest.subspan(rows.size());
  }
  return all;
}

std::span<const MeasuredMethod> Calibration::measured() const { return points_->methods; }
std::span<const MeasuredTime> Calibration::points() const& { return points_->rows; }

const StructuralModel* Calibration::structure_of(const MethodKey& method,
                                                 const Scale& scale) const {
  const auto is_nearer = [&](const StructuralModel& a, const StructuralModel& b) {
    const auto nearness = [&](const StructuralModel& structure) {
      const bool same_build = std::ranges::any_of(
          structure.points(), [&](const auto& row) { return row.library == method.library; });
      return std::tuple(structure.has_measured(method), same_build, structure.points().size());
    };
    return nearness(a) > nearness(b);
  };
  const StructuralModel* nearest = nullptr;
  const bool is_any = is_any_system(method.system);
  for (const StructuralModel& structure : structures_) {
    const bool is_of_system = is_any || structure.system() == method.system;
    if (!is_of_system || !structure.can_predict(method, scale)) continue;
    if (nearest == nullptr || is_nearer(structure, *nearest)) nearest = &structure;
  }
  return nearest;
}

bool Calibration::is_any_system(const std::string& system) const {
  return system.empty() && std::ranges::none_of(points_->methods, [](const MeasuredMethod& each) {
           return each.method.system.empty();
         });
}

bool Calibration::is_of_several_systems() const {
  return std::ranges::any_of(points_->methods, [&](const MeasuredMethod& each) {
    return each.method.system != points_->methods.front().method.system;
  });
}

std::optional<Estimate> Calibration::estimate(const MethodKey& method, const Scale& scale,
                                              Bytes bytes, std::string* instead) const {
  if (const StructuralModel* structure = structure_of(method, scale)) {
    const bool is_any = is_any_system(method.system) && is_of_several_systems();
    if (instead != nullptr && !structure->has_measured(method)) {
      *instead = fmt::format("'{}' is not measured: predicted by its schedule from {}{}",
                             to_string(method), structure->basis(),
                             is_any ? " of '" + structure->system() + "'" : "");
    } else if (instead != nullptr && is_any) {
      *instead = of_which_system(structure->system());
    }
    return structure->estimate(method, scale, bytes);
  }
  const MethodModel* model = find(method, instead);
  if (model == nullptr) return {};
  return model->estimate(scale, bytes, other_work_noise(model->method(), method));
}

const MethodModel* Calibration::find(const MethodKey& method, std::string* instead) const {
  const MethodModel* best = nullptr;
  int best_score = -1;
  const bool is_any = is_any_system(method.system);
  for (const MethodModel& model : models_) {
    const MethodKey& own = model.method();
    if (own.collective != method.collective) continue;
    if (!is_any && own.system != method.system) continue;
    if (!matches(method.library, own.library)) continue;
    if (!method.algorithm.empty() && !stands_for(own.algorithm, method.algorithm)) continue;
    // What makes the most difference counts the most; more points break ties.
    const int score = 8 * matches(method.algorithm, own.algorithm) +
                      4 * (method.protocol == own.protocol) + 2 * (method.type == own.type) +
                      (method.op == own.op && method.in_place == own.in_place);
    if (score < best_score) continue;
    if (score == best_score && model.points().size() <= best->points().size()) continue;
    best = &model;
    best_score = score;
  }
  const bool is_other = best != nullptr && (best_score < 14 || best->method().op != method.op);
  if (is_other && instead != nullptr) {
    *instead = fmt::format("predicted as '{}', for '{}' is not measured", to_string(best->method()),
                           to_string(method));
  } else if (best != nullptr && instead != nullptr && is_any && is_of_several_systems()) {
    *instead = of_which_system(best->method().system);
  }
  return best;
}

}  // namespace collbench
