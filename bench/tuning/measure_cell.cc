#include "bench/tuning/measure_cell.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

constexpr double surprising = 3;  // standard deviations

}  // namespace

Sampling sampling_for(Seconds timeout, bool check) {
  Sampling sampling;
  sampling.max_time = cell_time;
  sampling.warmup = 1;
  sampling.timeout = timeout;
  sampling.back_to_back = false;
  sampling.check = check;
  return sampling;
}

void require_right(const Measurement& measured, const Case& point) {
  if (measured.wrong <= 0) return;
  throw WrongResult(fmt::format("{} of {} workers, {}: {} elements are wrong", point.algorithm,
                                point.workers, to_string(point.bytes), measured.wrong));
}

Seconds median_of(const Measurement& measured) {
  return Seconds{std::max(summarize(measured.latency_ns).median_ns, 1.0) * 1e-9};
}

// Of the logarithm of the median: normal samples of this quartile range would have it.
double deviation_of(const Measurement& measured) {
  const Summary summary = summarize(measured.latency_ns);
  const double spread =
      (summary.p75_ns - summary.p25_ns) / 1.349 / std::max(summary.median_ns, 1.0);
  return 1.253 * spread / std::sqrt(static_cast<double>(measured.latency_ns.size()));
}

bool is_surprising(const TimeSurface& surface, std::size_t cell, const Measurement& measured) {
  const double above = std::log(median_of(measured).count() * 1e6) - surface.log_us(cell);
  return above > surprising * std::hypot(std::sqrt(surface.covariance(cell, cell)), surface.drift(),
                                         deviation_of(measured));
}

CellMeasurement measure_cell(const TuningPlan& plan, Race& race, std::size_t cell) {
  const Case& point = plan.cells[cell];
  const bool is_first = !race.is_measured(cell);
  CellMeasurement seen{plan.measure(point, sampling_for(plan.timeout, is_first)), 1};
  if (seen.measured.latency_ns.empty()) return seen;
  require_right(seen.measured, point);
  if (is_surprising(race.surface(), cell, seen.measured)) {
    Measurement again = plan.measure(point, sampling_for(plan.timeout, false));
    if (again.latency_ns.empty()) return {};
    ++seen.looks;
    if (median_of(again) < median_of(seen.measured)) seen.measured = std::move(again);
  }
  race.measured(cell, median_of(seen.measured), deviation_of(seen.measured));
  return seen;
}

}  // namespace collbench
