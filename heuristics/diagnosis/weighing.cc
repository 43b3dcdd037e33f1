#include "heuristics/diagnosis/weighing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace collbench {
namespace {

/// Whether a fifth of the sizes are slower by a third or more, and all together are slower.
bool is_slow(const Suspicion& healthy, std::span<const Seconds> measured) {
  std::size_t slow = 0;
  double sum = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double slower = std::log(measured[i] / healthy.times[i]);
    slow += slower > std::log(4.0 / 3) ? 1 : 0;
    sum += slower;
  }
  return 5 * slow >= measured.size() && sum > 0;
}

/// Whether most sizes, or the three largest, take so long that no error of the model explains it.
/// By the density alone rows that lie far off count little.
bool is_far_off(const Suspicion& healthy, std::span<const Bytes> sizes,
                std::span<const Seconds> measured, const ModelError& error) {
  constexpr double far = 2;
  const std::size_t n = measured.size();
  const std::size_t last = std::min<std::size_t>(n, 3);
  std::size_t beyond = 0;
  std::size_t largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Deviation at = deviation_of(healthy, i, sizes[i], measured[i]);
    if (measured[i] <= far * error_quantile(error, at, 0.9) * healthy.times[i]) continue;
    ++beyond;
    largest += i + last >= n ? 1 : 0;
  }
  return 2 * beyond > n || largest == last;
}

/// Whether at least half of what a fault would cost, in logarithms, is there at the sizes where it
/// costs something: else it may fit the rest of the curve as it likes, nothing is lost by it. What
/// is nowhere slower than health is no fault.
bool shows(const Suspicion& suspicion, const Suspicion& healthy,
           std::span<const Seconds> measured) {
  if (suspicion.is_unexplained) return is_slow(healthy, measured);
  std::vector<double> costs;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    costs.push_back(std::log(suspicion.times[i] / healthy.times[i]));
  }
  const double notable = std::min(0.15, 0.5 * *std::max_element(costs.begin(), costs.end()));
  double foretold = 0;
  double found = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (costs[i] < notable) continue;
    foretold += costs[i];
    found += std::log(measured[i] / healthy.times[i]);
  }
  return notable > 0 && found >= 0.5 * foretold;
}

/// Whether it foretells far more time than was measured at a size of which the rate is nearly all:
/// what takes so much of the rate would have taken it there, too.
bool takes_too_long(const Suspicion& suspicion, std::span<const Bytes> sizes,
                    std::span<const Seconds> measured, const ModelError& error) {
  constexpr double far = 2;
  constexpr Bytes of_rate{16 << 20};
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (sizes[i] < of_rate) continue;
    const Deviation at = deviation_of(suspicion, i, sizes[i], measured[i]);
    if (far * measured[i] < error_quantile(error, at, 0.1) * suspicion.times[i]) return true;
  }
  return false;
}

/// ln of the sum of those numbers whose suspicion `is_one`.
template <typename IsOne>
double log_sum(const std::vector<Suspicion>& suspicions, std::span<const double> logs,
               IsOne is_one) {
  double largest = -std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const bool sums_up : {false, true}) {
    for (std::size_t i = 0; i < logs.size(); ++i) {
      if (!is_one(suspicions[i])) continue;
      if (sums_up) sum += std::exp(logs[i] - largest);
      largest = std::max(largest, logs[i]);
    }
  }
  return sum > 0 ? largest + std::log(sum) : largest;
}

// Taken from ln of what is no explanation: more than any table takes from that of what is one.
constexpr double never = 1e6;

/// Where a known fault is likelier than health it stands, and need not fit as well as what fits
/// all. Health itself is none for times that are far off.
void exclude(const std::vector<Suspicion>& suspicions, std::span<const Bytes> sizes,
             std::span<const Seconds> measured, const ModelError& error,
             std::vector<double>& logs) {
  const auto is_known = [](const Suspicion& each) {
    return is_fault(each.cause) && !each.is_unexplained;
  };
  const auto is_healthy = [](const Suspicion& each) { return !is_fault(each.cause); };
  const bool stands = log_sum(suspicions, logs, is_known) >= log_sum(suspicions, logs, is_healthy);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const Suspicion& each = suspicions[i];
    if (each.is_unexplained && stands) logs[i] -= never;
    if (is_healthy(each) && is_far_off(each, sizes, measured, error)) logs[i] -= never;
  }
}

}  // namespace

Deviation deviation_of(const Suspicion& suspicion, std::size_t i, Bytes bytes, Seconds measured) {
  const Seconds time = suspicion.times[i];
  return {std::log2(static_cast<double>(bytes.count)), std::min(1.0, suspicion.latency / time),
          std::log(measured / time)};
}

bool is_fault(const Cause* cause) { return cause != nullptr && cause->fault; }

std::vector<Weighed> weigh(const std::vector<Suspicion>& suspicions, std::span<const Bytes> sizes,
                           std::span<const Seconds> measured, const ModelError& error) {
  const ModelError of_faults = with_known_rate(error);
  const ModelError of_unexplained = error_of_unexplained(error);
  constexpr double of_steps = 0.75;  // log_likelihood() has some of them in it
  std::vector<double> logs;
  const Suspicion* healthy = nullptr;  // of the same play
  for (const Suspicion& suspicion : suspicions) {
    if (suspicion.cause == nullptr) healthy = &suspicion;
    std::vector<Deviation> curve;
    std::vector<double> cured;  // without what the fault costs
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      curve.push_back(deviation_of(suspicion, i, sizes[i], measured[i]));
      cured.push_back(curve.back().log_ratio + std::log(healthy->times[i].count()));
    }
    const ModelError& own = suspicion.is_unexplained    ? of_unexplained
                            : is_fault(suspicion.cause) ? of_faults
                                                        : error;
    logs.push_back(std::log(suspicion.weight) +
                   error.trust *
                       (log_likelihood(own, curve) + of_steps * log_of_steps(sizes, cured)));
    const bool can_be =
        !is_fault(suspicion.cause) ||
        (shows(suspicion, suspicions.front(), measured) &&
         (suspicion.is_unexplained || !takes_too_long(suspicion, sizes, measured, own)));
    if (!can_be) logs.back() -= never;
  }
  exclude(suspicions, sizes, measured, error, logs);
  const double largest = *std::max_element(logs.begin(), logs.end());
  std::vector<Weighed> weighed;
  double sum = 0;
  for (std::size_t i = 0; i < suspicions.size(); ++i) {
    weighed.push_back({&suspicions[i], std::exp(logs[i] - largest)});
    sum += weighed.back().probability;
  }
  for (Weighed& each : weighed) each.probability /= sum;
  std::stable_sort(weighed.begin(), weighed.end(), [](const Weighed& a, const Weighed& b) {
    return a.probability > b.probability;
  });
  return weighed;
}

std::vector<WeighedCause> by_cause(const std::vector<Weighed>& weighed) {
  std::vector<WeighedCause> causes;
  for (const Weighed& each : weighed) {
    const Cause* cause = each.suspicion->cause;
    auto found = std::find_if(causes.begin(), causes.end(),
                              [&](const WeighedCause& c) { return c.cause == cause; });
    if (found == causes.end()) found = causes.insert(found, {cause, 0, each.suspicion});
    found->probability += each.probability;
  }
  std::map<std::string_view, double> together;
  const auto of_curve = [&](const WeighedCause& each) -> double& {
    return together[each.cause == nullptr ? "" : curve_of(each.cause->name)];
  };
  for (const WeighedCause& each : causes) of_curve(each) += each.probability;
  std::stable_sort(causes.begin(), causes.end(), [&](const auto& a, const auto& b) {
    return std::pair(of_curve(a), a.probability) > std::pair(of_curve(b), b.probability);
  });
  return causes;
}

std::string_view curve_of(std::string_view cause) {
  constexpr std::array<std::string_view, 3> of_rate = {"nic_missing", "nic_affinity", "congestion"};
  return std::find(of_rate.begin(), of_rate.end(), cause) == of_rate.end() ? cause : of_rate[0];
}

}  // namespace collbench
