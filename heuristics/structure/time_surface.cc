#include "heuristics/structure/time_surface.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/structure/library_choice.h"

namespace collbench {
namespace {

constexpr double bytes_of_element = 4;
constexpr std::size_t most_cells = 4000;
constexpr double unguided_log_us = 4;  // where no form is known

// Standard deviations of what the network model misses in ln(time), and the doublings of size and
// ranks over which that stays alike. Chosen on the measurements of pico (docs/tuning.md).
struct MissedPart {
  double offset;  // at all sizes alike
  double bend;    // differs by size
  double size_length;
  double rank_length;
};
constexpr MissedPart missed_in_common{0.2, 0.3, 2.5, 4};
constexpr MissedPart missed_by_family{0.12, 0.2, 2.5, 3};
constexpr MissedPart missed_by_method{0.12, 0.15, 2, 3};
// Where vectors leave a cache, a method that goes over them once more than another stands out.
constexpr MissedPart missed_by_method_on_host{0.12, 0.25, 2, 3};
constexpr MissedPart missed_by_unknown{0.8, 0.5, 2.5, 3};  // of a method without a form
constexpr MissedPart missed_unguided{3, 1.5, 4, 4};
constexpr double missed_alone = 0.03;  // by each cell
constexpr double most_deviations = 3;  // that what is seen once counts as

double doublings(double a, double b) { return std::abs(std::log2(a / b)); }

double alike(const MissedPart& part, const SurfaceCell& a, const SurfaceCell& b) {
  const auto bytes = [](const SurfaceCell& cell) {
    return static_cast<double>(std::max<std::int64_t>(cell.bytes.count, 1));
  };
  const double size = doublings(bytes(a), bytes(b)) / part.size_length;
  const double ranks = doublings(a.scale.ranks, b.scale.ranks) / part.rank_length;
  return (part.offset * part.offset + part.bend * part.bend * std::exp(-size * size / 2)) *
         std::exp(-ranks);
}

double squared(double x) { return x * x; }

}  // namespace

TimeSurface::TimeSurface(std::vector<SurfaceCell> cells, double drift)
    : cells_(std::move(cells)),
      forms_(cells_.size()),
      drift_(drift),
      ratio_drift_(drift / 2),
      repeats_(cells_.size()) {
  require(cells_.size() <= most_cells,
          fmt::format("{} times are too many to be compared at once; the most are {}",
                      cells_.size(), most_cells));
  const LibraryChoices choices;
  for (std::size_t i = 0; i < size(); ++i) {
    const auto played = played_method(cells_[i].method, cells_[i].scale);
    if (!played) continue;
    const PlayedMethod real = played_for(
        *played, cells_[i].scale.ranks,
        static_cast<double>(std::max<std::int64_t>(cells_[i].bytes.count, 1)), bytes_of_element);
    // What MPICH plays where its rules are not known is known for switches only.
    const bool is_choice = real.form == PlayedForm::library_choice;
    if (is_choice && real.interconnect != Interconnect::switched) continue;
    forms_[i].is_known = true;
    forms_[i].interconnect = real.interconnect;
    forms_[i].played = choices.resolve(real, cells_[i].method, cells_[i].scale,
                                       static_cast<double>(cells_[i].bytes.count));
    interconnects_.insert(real.interconnect);
  }
  linearise();
}

std::vector<FittedConstant> TimeSurface::constants(const NetworkModel& model) const {
  std::vector<PlayedRow> rows;
  for (const Observation& seen : observations_) {
    const Form& form = forms_[seen.cell];
    if (seen.below != size()) continue;
    if (!form.is_known || form.interconnect != model.interconnect) continue;
    const SurfaceCell& cell = cells_[seen.cell];
    rows.push_back(
        {form.played, cell.scale, static_cast<double>(cell.bytes.count), seen.log_us, 1});
  }
  if (!rows.empty()) return fit_constants(model, rows);
  std::vector<FittedConstant> priors;
  for (const NetworkConstant& constant : model.constants) {
    priors.push_back({constant.prior, std::exp(constant.deviation)});
  }
  return priors;
}

void TimeSurface::linearise(const NetworkModel& model) {
  constexpr double step = 0.05;
  std::vector<FittedConstant> at = constants(model);
  for (std::size_t i = 0; i < size(); ++i) {
    Form& form = forms_[i];
    if (!form.is_known || form.interconnect != model.interconnect) continue;
    const auto log_us_there = [&] {
      return log_microseconds(
          model, at, form.played, cells_[i].scale,
          static_cast<double>(std::max<std::int64_t>(cells_[i].bytes.count, 1)));
    };
    form.log_us = log_us_there();
    form.slopes.clear();
    double at_priors = form.log_us;
    for (std::size_t k = 0; k < at.size(); ++k) {
      const double value = std::exchange(at[k].value, at[k].value * std::exp(step));
      form.slopes.push_back((log_us_there() - form.log_us) / step);
      at[k].value = value;
      at_priors += form.slopes.back() * std::log(model.constants[k].prior / value);
    }
    form.log_us = at_priors;
  }
}

void TimeSurface::linearise() {
  linearised_after_ = observations_.size();
  linearised_with_ = drift();
  for (const Interconnect each : interconnects_) linearise(network_model(each));
  if (!interconnects_.empty()) fill_unknown();
  mean_.resize(size());
  covariance_.resize(size() * size());
  for (std::size_t a = 0; a < size(); ++a) {
    mean_[a] = interconnects_.empty() ? unguided_log_us : forms_[a].log_us;
    for (std::size_t b = a; b < size(); ++b) {
      covariance_[a * size() + b] = covariance_[b * size() + a] = prior_covariance(a, b);
    }
  }
  for (const Observation& seen : observations_) observe(seen);
}

// The mean of the known forms of one model at the same scale and size, else of all: of the model
// that most of them have.
void TimeSurface::fill_unknown() {
  using Place = std::tuple<Scale, std::int64_t>;
  std::map<Place, std::map<Interconnect, std::pair<Form, int>>> sums;
  const Place anywhere(Scale(), -1);
  const auto add = [&](const Place& place, const Form& form) {
    auto& [sum, count] = sums[place][form.interconnect];
    sum.slopes.resize(form.slopes.size());
    sum.log_us += form.log_us;
    for (std::size_t k = 0; k < form.slopes.size(); ++k) sum.slopes[k] += form.slopes[k];
    ++count;
  };
  for (std::size_t i = 0; i < size(); ++i) {
    if (!forms_[i].is_known) continue;
    add({cells_[i].scale, cells_[i].bytes.count}, forms_[i]);
    add(anywhere, forms_[i]);
  }
  for (std::size_t i = 0; i < size(); ++i) {
    if (forms_[i].is_known) continue;
    auto found = sums.find({cells_[i].scale, cells_[i].bytes.count});
    if (found == sums.end()) found = sums.find(anywhere);
    const auto& [interconnect, most] = *std::max_element(
        found->second.begin(), found->second.end(),
        [](const auto& a, const auto& b) { return a.second.second < b.second.second; });
    const auto& [sum, count] = most;
    forms_[i].interconnect = interconnect;
    forms_[i].log_us = sum.log_us / count;
    forms_[i].slopes = sum.slopes;
    for (double& slope : forms_[i].slopes) slope /= count;
  }
}

double TimeSurface::prior_covariance(std::size_t a, std::size_t b) const {
  const SurfaceCell& one = cells_[a];
  const SurfaceCell& other = cells_[b];
  double covariance =
      alike(interconnects_.empty() ? missed_unguided : missed_in_common, one, other);
  if (!interconnects_.empty() && forms_[a].interconnect == forms_[b].interconnect) {
    const NetworkModel& model = network_model(forms_[a].interconnect);
    for (std::size_t k = 0; k < forms_[a].slopes.size(); ++k) {
      covariance +=
          forms_[a].slopes[k] * forms_[b].slopes[k] * squared(model.constants[k].deviation);
    }
  }
  const bool same_method = one.method == other.method;
  if (!forms_[a].is_known || !forms_[b].is_known) {
    if (same_method) covariance += alike(missed_by_unknown, one, other);
  } else {
    if (family_of(forms_[a].played) == family_of(forms_[b].played)) {
      covariance += alike(missed_by_family, one, other);
    }
    const bool on_host = forms_[a].interconnect == Interconnect::host_library ||
                         forms_[a].interconnect == Interconnect::host_busy_library;
    if (same_method) {
      covariance += alike(on_host ? missed_by_method_on_host : missed_by_method, one, other);
    }
  }
  return a == b ? covariance + squared(missed_alone) : covariance;
}

void TimeSurface::observe(const Observation& seen) {
  const std::size_t n = size();
  const bool is_ratio = seen.below != n;
  std::vector<double> column(n);
  for (std::size_t i = 0; i < n; ++i) {
    column[i] = covariance(seen.cell, i) - (is_ratio ? covariance(seen.below, i) : 0);
  }
  const double known = column[seen.cell] - (is_ratio ? column[seen.below] : 0);
  const double surprise = seen.log_us - mean_[seen.cell] + (is_ratio ? mean_[seen.below] : 0);
  double variance = known + seen.variance + squared((is_ratio ? ratio_drift_ : drift_).learnt());
  if (is_ratio) variance = std::max(variance, squared(surprise / most_deviations));
  if (variance <= 0) return;  // it is known exactly
  for (std::size_t i = 0; i < n; ++i) {
    const double share = column[i] / variance;
    mean_[i] += share * surprise;
    for (std::size_t j = 0; j < n; ++j) covariance_[i * n + j] -= share * column[j];
  }
}

void TimeSurface::Drift::see(Repeats& repeats, double log) {
  constexpr double expected_repeats = 4;
  if (repeats.count > 0) {
    const double share = repeats.count / (repeats.count + 1.0);
    squares_ += std::min(share * squared(log - repeats.mean), squared(most_deviations * learnt_));
    ++seen_;
    learnt_ =
        std::sqrt((expected_repeats * squared(expected_) + squares_) / (expected_repeats + seen_));
  }
  ++repeats.count;
  repeats.mean += (log - repeats.mean) / repeats.count;
}

// Of a time that is not as sure, more than drift would be seen.
void TimeSurface::learn_drift(const Observation& seen) {
  Drift& drift = seen.below == size() ? drift_ : ratio_drift_;
  if (seen.variance > squared(drift.expected())) return;
  drift.see(seen.below == size() ? repeats_[seen.cell] : ratio_repeats_[{seen.cell, seen.below}],
            seen.log_us);
}

void TimeSurface::measure(std::size_t cell, Seconds time, double deviation) {
  require(time.count() > 0, fmt::format("a measured time must be above 0, not {}", time.count()));
  observations_.push_back({cell, std::log(time.count() * 1e6), squared(deviation), size()});
  learn_drift(observations_.back());
  // The constants move much at first.
  const bool moves = observations_.size() >= linearised_after_ + 1 + linearised_after_ / 4;
  const bool drifts_otherwise = std::abs(std::log(drift() / linearised_with_)) > 0.2;
  if ((moves && !interconnects_.empty()) || (drift() > 0 && drifts_otherwise)) {
    linearise();
  } else {
    observe(observations_.back());
  }
}

void TimeSurface::measure_ratio(std::size_t above, std::size_t below, double log_ratio) {
  observations_.push_back({above, log_ratio, 0, below});
  learn_drift(observations_.back());
  observe(observations_.back());
}

}  // namespace collbench
