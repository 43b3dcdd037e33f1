#include "bench/tuning/measure_cell.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

constexpr double surprising = 3;  // standard deviations
constexpr Seconds quick{0.03};
constexpr Seconds turns{0.5};  // of the scheduler, 3 to 4 ms each; a barrier may take ten

bool shares_cores_busily(const TuningPlan& plan, const Case& point) {
  return plan.waits_busily && point.workers > usable_cores();
}

// Of the logarithm: normal samples of this quartile range would have it.
CellTime median_of(const Measurement& measured) {
  const Summary summary = summarize(measured.latency_ns);
  const double median = std::max(summary.median_ns, 1.0);
  const double spread = (summary.p75_ns - summary.p25_ns) / 1.349 / median;
  const auto samples = static_cast<double>(measured.latency_ns.size());
  return {Seconds{median * 1e-9}, 1.253 * spread / std::sqrt(samples)};
}

CellTime mean_of(const Measurement& measured) {
  double sum = 0;
  for (const std::int64_t ns : measured.latency_ns) sum += static_cast<double>(ns);
  const auto samples = static_cast<double>(measured.latency_ns.size());
  const double mean = std::max(sum / samples, 1.0);
  double squares = 0;
  for (const std::int64_t ns : measured.latency_ns) {
    squares += (static_cast<double>(ns) - mean) * (static_cast<double>(ns) - mean);
  }
  return {Seconds{mean * 1e-9}, std::sqrt(squares / std::max(samples - 1, 1.0) / samples) / mean};
}

}  // namespace

Seconds cell_time(const TuningPlan& plan, const Case& point) {
  return shares_cores_busily(plan, point) ? turns : quick;
}

Sampling sampling_for(const TuningPlan& plan, const Case& point, bool check) {
  Sampling sampling;
  sampling.max_time = cell_time(plan, point);
  sampling.warmup = 1;
  sampling.timeout = plan.timeout;
  sampling.back_to_back = false;
  sampling.check = check;
  return sampling;
}

void require_right(const Measurement& measured, const Case& point) {
  if (measured.wrong <= 0) return;
  throw WrongResult(fmt::format("{} of {} workers, {}: {} elements are wrong", point.algorithm,
                                point.workers, to_string(point.bytes), measured.wrong));
}

CellTime time_of(const TuningPlan& plan, const Case& point, const Measurement& measured) {
  return shares_cores_busily(plan, point) ? mean_of(measured) : median_of(measured);
}

bool is_surprising(const TimeSurface& surface, std::size_t cell, const CellTime& seen) {
  const double above = std::log(seen.time.count() * 1e6) - surface.log_us(cell);
  return above > surprising * std::hypot(std::sqrt(surface.covariance(cell, cell)), surface.drift(),
                                         seen.deviation);
}

CellMeasurement measure_cell(const TuningPlan& plan, Race& race, std::size_t cell) {
  const Case& point = plan.cells[cell];
  const auto measure = [&](bool check) -> std::optional<CellTime> {
    const Measurement measured = plan.measure(point, sampling_for(plan, point, check));
    if (measured.latency_ns.empty()) return std::nullopt;
    require_right(measured, point);
    return time_of(plan, point, measured);
  };
  CellMeasurement made{measure(!race.is_measured(cell)), 1};
  if (!made.seen) return made;
  if (is_surprising(race.surface(), cell, *made.seen)) {
    const auto again = measure(false);
    ++made.looks;
    if (!again) return {};
    if (again->time < made.seen->time) made.seen = again;
  }
  race.measured(cell, made.seen->time, made.seen->deviation);
  return made;
}

}  // namespace collbench
