#include "heuristics/time_curve.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace collbench {
namespace {

struct CurvePoint {
  double size;  // natural logarithms
  double time;
};

CurvePoint logarithms(const TimeCurve::value_type& entry) {
  return {std::log(static_cast<double>(entry.first)), std::log(entry.second)};
}

/// Slopes of all-reduces are between those of latency and bandwidth.
double slope(const CurvePoint& a, const CurvePoint& b) {
  return std::clamp((b.time - a.time) / (b.size - a.size), 0.0, 1.0);
}

}  // namespace

double time_at(const TimeCurve& curve, double bytes) {
  const auto above = std::find_if(curve.begin(), curve.end(), [&](const auto& entry) {
    return static_cast<double>(entry.first) >= bytes;
  });
  if (above == curve.end()) {
    const auto& [largest, time] = *curve.rbegin();
    return time * bytes / static_cast<double>(largest);
  }
  if (above == curve.begin() || static_cast<double>(above->first) == bytes) return above->second;
  const auto below = std::prev(above);
  const CurvePoint left = logarithms(*below);
  const CurvePoint right = logarithms(*above);
  const double size = std::log(bytes);
  const double share = (size - left.size) / (right.size - left.size);
  const double chord = left.time * (1 - share) + right.time * share;
  double bound = std::max(left.time, right.time - (right.size - size));
  if (below != curve.begin()) {
    const double before = slope(logarithms(*std::prev(below)), left);
    bound = std::max(bound, left.time + before * (size - left.size));
  }
  if (std::next(above) != curve.end()) {
    const double after = slope(right, logarithms(*std::next(above)));
    bound = std::max(bound, right.time - after * (right.size - size));
  }
  return std::exp((chord + std::min(bound, chord)) / 2);
}

double doublings_outside(const TimeCurve& curve, double bytes) {
  const auto least = static_cast<double>(curve.begin()->first);
  const auto most = static_cast<double>(curve.rbegin()->first);
  return std::max({0.0, std::log2(least / bytes), std::log2(bytes / most)});
}

}  // namespace collbench
