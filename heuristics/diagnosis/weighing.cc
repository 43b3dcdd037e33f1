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
    if (chance_below(error, at, at.log_ratio - std::log(far)) <= 0.9) continue;
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
    if (chance_below(error, at, at.log_ratio + std::log(far)) < 0.1) return true;
  }
  return false;
}

constexpr double impossible = -std::numeric_limits<double>::infinity();

/// ln of the sum of those numbers whose suspicion `is_one`.
template <typename IsOne>
double log_sum(const std::vector<Suspicion>& suspicions, std::span<const double> logs,
               IsOne is_one) {
  double largest = impossible;
  double sum = 0;
  for (const bool sums_up : {false, true}) {
    for (std::size_t i = 0; i < logs.size(); ++i) {
      if (logs[i] == impossible || !is_one(suspicions[i])) continue;
      if (sums_up) sum += std::exp(logs[i] - largest);
      largest = std::max(largest, logs[i]);
    }
  }
  return sum > 0 ? largest + std::log(sum) : largest;
}

// Taken from ln of what is no explanation: more than any table takes from that of what is one.
constexpr double never = 1e6;

/// ln of how likely the times are, whatever speaks against it; `healthy` is of the same play.
double log_of(const Suspicion& suspicion, const Suspicion& healthy, std::span<const Bytes> sizes,
              std::span<const Seconds> measured, const ModelError& error) {
  constexpr double of_steps = 0.75;  // log_likelihood() has some of them in it
  std::vector<Deviation> curve;
  std::vector<double> cured;  // without what the fault costs
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    curve.push_back(deviation_of(suspicion, i, sizes[i], measured[i]));
    cured.push_back(curve.back().log_ratio + std::log(healthy.times[i].count()));
  }
  return std::log(suspicion.weight) +
         error.trust * (log_likelihood(error, curve) + of_steps * log_of_steps(sizes, cured));
}

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
  const auto error_of = [&](const Suspicion& each) -> const ModelError& {
    if (each.is_unexplained) return of_unexplained;
    return is_fault(each.cause) ? of_faults : error;
  };
  const auto can_be = [&](const Suspicion& each) {
    if (!is_fault(each.cause)) return true;
    return shows(each, suspicions.front(), measured) &&
           (each.is_unexplained || !takes_too_long(each, sizes, measured, of_faults));
  };
  std::vector<const Suspicion*> healthy;  // of the same play as each
  for (const Suspicion& each : suspicions) {
    healthy.push_back(each.cause == nullptr ? &each : healthy.back());
  }
  const auto log = [&](std::size_t i) {
    return log_of(suspicions[i], *healthy[i], sizes, measured, error_of(suspicions[i]));
  };
  // Most of what cannot be would take the most time to weigh.
  std::vector<double> logs;
  for (std::size_t i = 0; i < suspicions.size(); ++i) {
    logs.push_back(can_be(suspicions[i]) ? log(i) : impossible);
  }
  exclude(suspicions, sizes, measured, error, logs);
  if (*std::max_element(logs.begin(), logs.end()) < -0.5 * never) {
    // Nothing explains the times: then what comes nearest.
    for (std::size_t i = 0; i < suspicions.size(); ++i) {
      if (logs[i] == impossible) logs[i] = log(i) - never;
    }
  }
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
