#include "heuristics/structure/structural_model.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/quantile.h"
#include "heuristics/measured_range.h"
#include "heuristics/structure/library_choice.h"
#include "heuristics/structure/noise_of_repeats.h"
#include "heuristics/structure/residual_place.h"
#include "heuristics/time_curve.h"

namespace collbench {
namespace {

constexpr double element_bytes = 4;  // of the tables measured
constexpr double unseen_noise = 0.15;
constexpr double unseen_family_noise = 0.25;
constexpr double per_size_doubling = 0.055;
constexpr double per_rank_doubling = 0.4;  // of a node; as trends have it, results/published
constexpr double least_per_doubling = 0.05;
constexpr double most_per_doubling = 0.6;
constexpr double prior_scales = 2;    // that the network's own uncertainty counts as
constexpr double of_normal = 0.6745;  // median of the absolute value of a standard normal variable
constexpr double eighty_percent = 1.2816;
constexpr double curve_share = 0.5;
constexpr double change_penalty = 1.05;
constexpr double unseen_penalty = 1.02;

double bytes_of(Bytes bytes) { return static_cast<double>(std::max<std::int64_t>(bytes.count, 1)); }

/// Doublings of the nodes from one scale to another; of a torus those of its axes, where each that
/// one axis gains and another loses counts once.
double doublings_apart(const Scale& a, const Scale& b, Interconnect interconnect) {
  const double extents = std::abs(std::log2(1.0 * a.extent() / b.extent()));
  if (interconnect != Interconnect::torus || a.shape == b.shape) return extents;
  std::vector<int> axes = torus_axes(a);
  std::vector<int> others = torus_axes(b);
  axes.resize(std::max(axes.size(), others.size()), 1);
  others.resize(axes.size(), 1);
  std::ranges::sort(axes);
  std::ranges::sort(others);
  double sum = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    sum += std::abs(std::log2(1.0 * axes[i] / others[i]));
  }
  return std::max(extents, sum / 2);
}

/// Doublings of the ranks of a node.
double rank_doublings_apart(const Scale& a, const Scale& b) {
  if (a.is_host()) return 0;
  return std::abs(std::log2(1.0 * a.ranks / a.extent()) - std::log2(1.0 * b.ranks / b.extent()));
}

/// Residuals that are made when they are first asked for: of a file's many systems a question is
/// about one. A copy makes its own. Thread safety: get() may run on any number of threads.
class ResidualsOnDemand {
 public:
  ResidualsOnDemand() = default;
  ResidualsOnDemand(const ResidualsOnDemand&) {}
  ResidualsOnDemand& operator=(const ResidualsOnDemand&) = delete;

  template <typename Make>
  const CarriedResiduals& get(const Make& make) const {
    std::call_once(made_, [&] { residuals_ = make(); });
    return residuals_;
  }

 private:
  mutable std::once_flag made_;
  mutable CarriedResiduals residuals_;
};

}  // namespace

struct StructuralModel::Data {
  std::string system;
  const NetworkModel* model = nullptr;
  std::vector<MeasuredTime> points;
  LibraryChoices choices;
  NetworkFit fit;
  ResidualsOnDemand residuals;
  MeasuredRange range;
  std::map<std::string, MeasuredRange> by_algorithm;
  std::set<PlayedFamily> families;
  std::map<VectorWork, int> works;  // with their points
  std::map<std::pair<MethodKey, Scale>, TimeCurve> curves;

  PlayedMethod named(const MethodKey& method, const Scale& scale) const {
    return *played_method(method, scale);
  }
  PlayedMethod played_as(const PlayedMethod& named, const MethodKey& method, const Scale& scale,
                         Bytes bytes) const {
    const PlayedMethod chosen = choices.resolve(named, method, scale, bytes_of(bytes));
    return played_for(chosen, scale.ranks, bytes_of(bytes), element_bytes);
  }
  PlayedMethod played(const MethodKey& method, const Scale& scale, Bytes bytes) const {
    return played_as(named(method, scale), method, scale, bytes);
  }
  double log_us(const MethodKey& method, const Scale& scale, Bytes bytes) const {
    return log_microseconds(*model, fit.constants, played(method, scale, bytes), scale,
                            bytes_of(bytes));
  }
  /// By how much times at the place differ from what the rounds take: the logarithm.
  double residual(const MethodKey& method, const Scale& scale, Bytes bytes) const {
    const CarriedResiduals& all = residuals.get([this] { return carried_residuals(); });
    ResidualPlace place = residual_place(named(method, scale), played(method, scale, bytes), method,
                                         scale, bytes_of(bytes));
    // What is known of no such sums is that of those measured most.
    if (!works.contains(place.work)) place.work = most_measured_work();
    return all.at(place);
  }
  VectorWork most_measured_work() const {
    return std::ranges::max_element(works, {}, [](const auto& each) { return each.second; })->first;
  }
  double deviation(const MethodKey& method, const Scale& scale, Bytes bytes) const;

  /// By the rounds and what they miss; between two sizes measured at the very scale, the middle of
  /// that and the curve through the measured times, which knows of no round but of every bend.
  double log_time(const MethodKey& method, const Scale& scale, Bytes bytes) const {
    const double by_rounds = log_us(method, scale, bytes) + residual(method, scale, bytes);
    const auto curve = curves.find({method, scale});
    if (curve == curves.end() || doublings_outside(curve->second, bytes_of(bytes)) > 0) {
      return by_rounds;
    }
    return by_rounds +
           curve_share * (std::log(time_at(curve->second, bytes_of(bytes)) * 1e6) - by_rounds);
  }

  /// Of names that were not measured.
  double unseen(const MethodKey& method, const Scale& scale, Bytes bytes) const {
    if (by_algorithm.contains(method.algorithm)) return 0;
    return families.contains(family_of(played(method, scale, bytes))) ? unseen_noise
                                                                      : unseen_family_noise;
  }

  /// By their names: a ring that is played by doubling for want of elements tells little of
  /// doubling.
  std::set<PlayedFamily> measured_families() const {
    std::set<PlayedFamily> known;
    for (const MeasuredTime& point : points) {
      const MethodKey method = method_of(point);
      PlayedFamily family = family_of(named(method, point.scale));
      if (family == PlayedFamily::choice) {
        family = family_of(played(method, point.scale, point.bytes));
      }
      known.insert(family);
    }
    return known;
  }

  bool keeps_standing_for_one(const MethodKey& method, const Scale& scale, Bytes bytes) const;
  std::vector<PlayedRow> rows_to_fit() const;
  CarriedResiduals carried_residuals() const;
  double error_per_doubling() const;
};

/// Whether a name that falls back takes, by the rounds, just what one and the same method with a
/// schedule of its own takes, at this scale and at the largest one where the name was measured.
bool StructuralModel::Data::keeps_standing_for_one(const MethodKey& method, const Scale& scale,
                                                   Bytes bytes) const {
  Scale known;
  for (const MeasuredTime& point : points) {
    if (point.algorithm == method.algorithm) known = std::max(known, point.scale);
  }
  if (known.ranks == 0) return false;
  const auto is_alike = [&](const MethodKey& other, const Scale& at) {
    return std::abs(log_us(other, at, bytes) - log_us(method, at, bytes)) < 1e-9;
  };
  return std::ranges::any_of(points, [&](const MeasuredTime& point) {
    const MethodKey other = method_of(point);
    if (named(other, known).falls_back || family_of(named(other, known)) == PlayedFamily::choice) {
      return false;
    }
    return is_alike(other, known) && is_alike(other, scale);
  });
}

/// Choices by rules that are not known say nothing about the constants.
std::vector<PlayedRow> StructuralModel::Data::rows_to_fit() const {
  std::vector<PlayedRow> rows;
  for (const MeasuredTime& point : points) {
    const MethodKey method = method_of(point);
    if (named(method, point.scale).form == PlayedForm::library_choice) continue;
    rows.push_back({played(method, point.scale, point.bytes), point.scale, bytes_of(point.bytes),
                    std::log(point.time.count() * 1e6)});
  }
  return rows;
}

CarriedResiduals StructuralModel::Data::carried_residuals() const {
  std::vector<ResidualPlace> places;
  std::vector<double> deviations;
  for (const MeasuredTime& point : points) {
    const MethodKey method = method_of(point);
    const PlayedMethod called = named(method, point.scale);
    const PlayedMethod real = played_as(called, method, point.scale, point.bytes);
    const double bytes = bytes_of(point.bytes);
    places.push_back(residual_place(called, real, method, point.scale, bytes));
    deviations.push_back(std::log(point.time.count() * 1e6) -
                         log_microseconds(*model, fit.constants, real, point.scale, bytes));
  }
  return {std::move(places), std::move(deviations), model->size_length};
}

/// Standard, of ln(time): from the measured point that tells the most, which is near in nodes, size
/// and all else at once; one measured on as many nodes at another size says nothing of this size.
double StructuralModel::Data::deviation(const MethodKey& method, const Scale& scale,
                                        Bytes bytes) const {
  const bool is_named = by_algorithm.contains(method.algorithm);
  double least = std::numeric_limits<double>::infinity();
  for (const MeasuredTime& point : points) {
    if (is_named && point.algorithm != method.algorithm) continue;
    const double size = std::abs(std::log2(bytes_of(bytes) / bytes_of(point.bytes)));
    const bool is_other = point.library != method.library || point.type != method.type ||
                          point.op != method.op || point.in_place != method.in_place ||
                          point.protocol != method.protocol;
    const double away = std::hypot(
        std::hypot(fit.per_doubling * doublings_apart(point.scale, scale, model->interconnect),
                   per_rank_doubling * rank_doublings_apart(point.scale, scale)),
        per_size_doubling * size, is_other ? other_build_noise : 0);
    least = std::min(least, away);
  }
  return std::hypot(fit.noise, least, unseen(method, scale, bytes));
}

/// Whether another of the extents is on the same side: ranks that share cores say little about
/// ranks that do not.
bool has_alike(const std::set<int>& extents, int extent, int cores) {
  return std::ranges::any_of(extents, [&](int other) {
    return other != extent && (cores == 0 || (other > cores) == (extent > cores));
  });
}

/// From predicting each scale by a fit to the others; the prior of the network where only one is
/// known.
double StructuralModel::Data::error_per_doubling() const {
  double squares = prior_scales * model->per_doubling * model->per_doubling;
  double scales = prior_scales;
  const int cores = points.front().scale.cores;
  for (const int extent : range.extents()) {
    if (!has_alike(range.extents(), extent, cores)) continue;
    Data others = *this;
    std::erase_if(others.points, [&](const auto& point) { return point.scale.extent() == extent; });
    others.range = {};
    for (const MeasuredTime& point : others.points) others.range.add(point);
    others.choices = LibraryChoices(others.points);
    others.fit.constants = fit_constants(*model, others.rows_to_fit(), fit.constants);
    std::vector<double> errors;
    for (const MeasuredTime& point : points) {
      if (point.scale.extent() != extent) continue;
      const MethodKey method = method_of(point);
      const double carried = others.residual(method, point.scale, point.bytes);
      errors.push_back(std::abs(others.log_us(method, point.scale, point.bytes) + carried -
                                std::log(point.time.count() * 1e6)));
    }
    const double away = std::max(others.range.doublings_to(extent), 1.0);
    const double deviation = quantile(std::move(errors), 0.5) / of_normal;
    squares += std::max(0.0, deviation * deviation - fit.noise * fit.noise) / (away * away);
    scales += 1;
  }
  return std::clamp(std::sqrt(squares / scales), least_per_doubling, most_per_doubling);
}

StructuralModel::StructuralModel(Interconnect interconnect, const std::vector<MeasuredTime>& rows,
                                 std::optional<NetworkFit> fit) {
  assert(!rows.empty());
  auto data = std::make_shared<Data>();
  data->system = rows.front().system;
  data->model = &network_model(interconnect);
  data->points = medians_of(rows);
  for (const MeasuredTime& point : data->points) {
    data->range.add(point);
    data->by_algorithm[point.algorithm].add(point);
    ++data->works[work_of(method_of(point))];
    data->curves[{method_of(point), point.scale}][point.bytes.count] = point.time.count();
  }
  data->choices = LibraryChoices(data->points);
  if (fit) {
    data->fit = *std::move(fit);
    if (data->fit.noise == 0) data->fit.noise = data->model->noise;
  } else {
    data->fit.noise = std::max(data->model->noise, noise_of_repeats(rows));
    data->fit.constants = fit_constants(*data->model, data->rows_to_fit());
    data->fit.per_doubling = data->error_per_doubling();
  }
  data->families = data->measured_families();
  data_ = std::move(data);
}

const std::string& StructuralModel::system() const { return data_->system; }
Interconnect StructuralModel::interconnect() const { return data_->model->interconnect; }
int StructuralModel::cores() const { return data_->points.front().scale.cores; }
const NetworkFit& StructuralModel::fit() const { return data_->fit; }
const std::vector<MeasuredTime>& StructuralModel::points() const { return data_->points; }

std::vector<MethodKey> StructuralModel::methods() const {
  std::set<MethodKey> methods;
  for (const MeasuredTime& point : data_->points) methods.insert(method_of(point));
  return {methods.begin(), methods.end()};
}

std::string StructuralModel::basis() const {
  const Scale& scale = data_->points.front().scale;
  const std::string where =
      scale.is_host() ? fmt::format("ranks on {} cores", scale.cores) : "nodes";
  return fmt::format("{} times of {} methods on {} {}", data_->points.size(),
                     data_->by_algorithm.size(), fmt::join(data_->range.extents(), ", "), where);
}

bool StructuralModel::has_measured(const MethodKey& method) const {
  return data_->by_algorithm.count(method.algorithm) > 0;
}

bool StructuralModel::can_predict(const MethodKey& method, const Scale& scale) const {
  const auto played = played_method(method, scale);
  return played && played->interconnect == interconnect() &&
         scale.cores == data_->points.front().scale.cores;
}

Estimate StructuralModel::estimate(const MethodKey& method, const Scale& scale, Bytes bytes) const {
  assert(can_predict(method, scale));
  const Data& data = *data_;
  const auto own = data.by_algorithm.find(method.algorithm);
  const MeasuredRange& range = own == data.by_algorithm.end() ? data.range : own->second;
  const double deviation = data.deviation(method, scale, bytes);
  Estimate estimate;
  estimate.time = Seconds{std::exp(data.log_time(method, scale, bytes)) * 1e-6};
  estimate.low = estimate.time * std::exp(-eighty_percent * deviation);
  estimate.high = estimate.time * std::exp(eighty_percent * deviation);
  estimate.extrapolates = range.beyond(scale, bytes);
  return estimate;
}

bool StructuralModel::may_change(const MethodKey& method, const Scale& scale, Bytes bytes) const {
  const auto own = data_->by_algorithm.find(method.algorithm);
  if (own != data_->by_algorithm.end() && own->second.extents().count(scale.extent()) > 0)
    return false;
  const PlayedMethod named = data_->named(method, scale);
  if (named.falls_back) return !data_->keeps_standing_for_one(method, scale, bytes);
  return family_of(named) == PlayedFamily::choice ||
         is_replaced(named, scale.ranks, bytes_of(bytes), element_bytes);
}

double StructuralModel::preference(const MethodKey& method, const Scale& scale, Bytes bytes) const {
  return (has_measured(method) ? 1 : unseen_penalty) *
         (may_change(method, scale, bytes) ? change_penalty : 1);
}

}  // namespace collbench
