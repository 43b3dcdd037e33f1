#include "bench/measure/stopping_rule.h"

#include <algorithm>
#include <numeric>

#include "bench/records/record.h"

namespace collbench {

int StoppingRule::expected_iterations(Seconds latency) const {
  if (sampling_.iterations > 0) return sampling_.iterations;
  if (latency.count() * most <= sampling_.max_time.count()) return most;
  return std::clamp(static_cast<int>(sampling_.max_time / latency), fewest, most);
}

int StoppingRule::warmup(Seconds latency) const {
  return std::max(sampling_.warmup, expected_iterations(latency) / 10);
}

int StoppingRule::next(const std::vector<std::int64_t>& latency_ns, Seconds elapsed) const {
  const auto done = static_cast<int>(latency_ns.size());
  if (sampling_.iterations > 0) return std::min(sampling_.iterations - done, longest_batch);
  if (done < fewest) return fewest - done;
  const auto total =
      static_cast<double>(std::accumulate(latency_ns.begin(), latency_ns.end(), std::int64_t{0}));
  const Seconds timed{total * 1e-9};
  const Seconds longest_wall = sampling_.max_time * 4;
  if (done >= most || timed >= sampling_.max_time || elapsed >= longest_wall) return 0;
  const Summary summary = summarize(latency_ns);
  const double half = (summary.interval_high_ns - summary.interval_low_ns) / 2;
  if (half <= sampling_.target_interval * summary.median_ns) return 0;
  // By half again as many, but not beyond the time that is left at the pace so far.
  double batch = std::min({static_cast<double>(std::max(done / 2, fewest)),
                           static_cast<double>(longest_batch), static_cast<double>(most - done)});
  if (timed.count() > 0) batch = std::min(batch, done * ((sampling_.max_time - timed) / timed));
  if (elapsed.count() > 0) batch = std::min(batch, done * ((longest_wall - elapsed) / elapsed));
  return std::max(static_cast<int>(batch), 1);
}

}  // namespace collbench
