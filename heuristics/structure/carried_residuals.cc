#include "heuristics/structure/carried_residuals.h"

#include <cmath>
#include <utility>

namespace collbench {
namespace {

constexpr double nodes_reach = 3;  // doublings
constexpr double ports_reach = 3;
constexpr double family_pull = 1;
constexpr double method_pull = 0.3;
constexpr double other_build = 0.3;
constexpr double other_name = 0.5;

}  // namespace

CarriedResiduals::CarriedResiduals(std::vector<ResidualPlace> places,
                                   std::vector<double> deviations, double size_length)
    : places_(std::move(places)), deviations_(std::move(deviations)), size_length_(size_length) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    beyond_family_.push_back(deviations_[i] - of_family(places_[i]));
  }
}

double CarriedResiduals::weight(const ResidualPlace& a, const ResidualPlace& b) const {
  const double near = std::exp(-std::abs(a.size - b.size) / size_length_ -
                               std::abs(a.nodes - b.nodes) / nodes_reach -
                               std::abs(a.ports - b.ports) / ports_reach);
  const bool other = a.method == b.method && a.name != b.name && a.ports == b.ports;
  return near * (a.library == b.library ? 1 : other_build) * (other ? other_name : 1);
}

double CarriedResiduals::of_family(const ResidualPlace& place) const {
  double sum = 0;
  double weights = family_pull;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].family != place.family) continue;
    const double w = weight(place, places_[i]);
    sum += w * deviations_[i];
    weights += w;
  }
  return sum / weights;
}

double CarriedResiduals::at(const ResidualPlace& place) const {
  double sum = 0;
  double weights = method_pull;
  double nearest = 0;
  double nearest_deviation = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].method != place.method) continue;
    const double w = weight(place, places_[i]);
    sum += w * beyond_family_[i];
    weights += w;
    if (places_[i].nodes != place.nodes || w <= nearest) continue;
    nearest = w;
    nearest_deviation = beyond_family_[i];
  }
  const double own = nearest * nearest_deviation + (1 - nearest) * sum;
  return of_family(place) + own / (nearest + (1 - nearest) * weights);
}

}  // namespace collbench
