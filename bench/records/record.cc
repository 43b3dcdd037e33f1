#include "bench/records/record.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/quantile.h"

namespace collbench {
namespace {

// The largest l with P(Binomial(n, 1/2) < l) <= 2.5 %: the l-th smallest and l-th largest of n
// samples enclose the median with at least 95 %. 0 if even the extremes do not (n < 6).
std::size_t interval_rank(std::size_t n) {
  const auto count = static_cast<double>(n);
  if (n >= 1000) {
    const double z = 1.959963984540054;  // 97.5 % of the normal distribution
    return static_cast<std::size_t>(std::floor(count / 2 - z * std::sqrt(count) / 2));
  }
  // In logarithms, for 2^-n underflows; term by term, since lgamma() writes a global and ranks are
  // threads.
  double log_term = -count * std::log(2.0);  // of P(X = l)
  double below = 0;                          // P(X < l + 1)
  for (std::size_t l = 0; l <= n; ++l) {
    below += std::exp(log_term);
    if (below > 0.025) return l;
    const auto k = static_cast<double>(l);
    log_term += std::log((count - k) / (k + 1));
  }
  return n;
}

}  // namespace

std::string value_of(const Environment& environment, const std::string& key,
                     const std::string& otherwise) {
  const auto found = environment.find(key);
  return found == environment.end() ? otherwise : found->second;
}

void add_environment(const Environment& more, Environment& all) {
  for (const auto& [key, value] : more) {
    std::string& kept = all[key];
    if (kept.empty()) kept = value;
    const bool is_known = ("; " + kept + "; ").find("; " + value + "; ") != std::string::npos;
    if (!is_known && !value.empty()) kept += "; " + value;
  }
}

Summary summary_of(std::vector<double> samples_ns) {
  require(!samples_ns.empty(), "a summary needs at least one sample");
  std::vector<double>& sorted = samples_ns;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t l = interval_rank(sorted.size());
  Summary summary;
  summary.n = static_cast<int>(sorted.size());
  summary.median_ns = quantile_of_sorted(sorted, 0.5);
  summary.min_ns = sorted.front();
  summary.p25_ns = quantile_of_sorted(sorted, 0.25);
  summary.p75_ns = quantile_of_sorted(sorted, 0.75);
  summary.p95_ns = quantile_of_sorted(sorted, 0.95);
  summary.p99_ns = quantile_of_sorted(sorted, 0.99);
  summary.interval_low_ns = summary.interval_high_ns = std::numeric_limits<double>::quiet_NaN();
  if (l == 0) return summary;
  summary.interval_low_ns = sorted[l - 1];
  summary.interval_high_ns = sorted[sorted.size() - l];
  return summary;
}

Summary summarize(const std::vector<std::int64_t>& samples_ns) {
  return summary_of({samples_ns.begin(), samples_ns.end()});
}

Summary summarize(const Record& record) { return summary_of(call_times_ns(record)); }

std::vector<double> call_times_ns(const Record& record) {
  const auto& samples = record.measurement.latency_ns;
  std::vector<double> times(samples.begin(), samples.end());
  if (record.point.calls == 1) return times;
  for (double& ns : times) ns /= record.point.calls;
  return times;
}

Bandwidth algorithm_bandwidth(const Record& record, Seconds time) {
  require(time.count() > 0, "a bandwidth needs a time above zero");
  return record.point.bytes / time;
}

Bandwidth bus_bandwidth(const Record& record, Seconds time) {
  const double factor = bus_factor(record.point.collective, group_size(record.point));
  return {algorithm_bandwidth(record, time).bytes_per_second * factor};
}

}  // namespace collbench
