#include "heuristics/structure/carried_residuals.h"

#include <algorithm>
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
constexpr double other_crowding = 0.05;
constexpr double other_work = 0.05;

/// Whether the same was measured there, but for the size.
bool is_own_scale(const ResidualPlace& a, const ResidualPlace& b) {
  return a.name == b.name && a.library == b.library && a.nodes == b.nodes && a.each == b.each &&
         a.axes == b.axes && a.work == b.work;
}

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
  return near * (a.library == b.library ? 1 : other_build) * (other ? other_name : 1) *
         (a.crowded == b.crowded ? 1 : other_crowding) * (a.work == b.work ? 1 : other_work);
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

CarriedResiduals::OwnScale CarriedResiduals::at_own_scale(const ResidualPlace& place) const {
  // The nearest points on either side, of the same name.
  OwnScale own;
  double below = -1;
  double above = -1;
  double deviation_below = 0;
  double deviation_above = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const ResidualPlace& each = places_[i];
    if (!is_own_scale(each, place)) continue;
    const double away = each.size - place.size;
    if (away <= 0 && (below < 0 || -away < below)) {
      below = -away;
      deviation_below = deviations_[i];
    }
    if (away >= 0 && (above < 0 || away < above)) {
      above = away;
      deviation_above = deviations_[i];
    }
  }
  if (below < 0 && above < 0) return own;
  if (below >= 0 && above >= 0) {
    const double share = below + above > 0 ? below / (below + above) : 0;
    return {1, deviation_below + share * (deviation_above - deviation_below)};
  }
  const double away = std::max(below, above);
  return {std::exp(-away / size_length_), below >= 0 ? deviation_below : deviation_above};
}

double CarriedResiduals::at(const ResidualPlace& place) const {
  const OwnScale own = at_own_scale(place);
  if (own.share == 1) return own.deviation;
  double sum = 0;
  double weights = method_pull;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].method != place.method) continue;
    const double w = weight(place, places_[i]);
    sum += w * beyond_family_[i];
    weights += w;
  }
  const double carried = of_family(place) + sum / weights;
  return own.share * own.deviation + (1 - own.share) * carried;
}

}  // namespace collbench
