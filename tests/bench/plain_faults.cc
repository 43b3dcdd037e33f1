// Faults as reports of them describe the curve, without any model of a library: a is the time of
// the smallest size, c that of a byte at the largest, and the fault changes either. What it does
// between them is drawn from six ways, of which heuristics/diagnosis/suspicion_list.cc knows the
// first four. A second generator, by which to see whether diagnoses rest on the first one's model.
#include "tests/bench/plain_faults.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "heuristics/calibration/fidelity.h"

namespace collbench {
namespace {

enum class Between : std::uint8_t { added, stretched, quotient, longest, squares, fading };
constexpr std::array all_ways = {Between::added,   Between::stretched, Between::quotient,
                                 Between::longest, Between::squares,   Between::fading};

struct PlainFault {
  Between between = Between::added;
  double latency = 1;    // times as long
  double rate = 1;       // share that is left
  double late_us = 0;    // added to every size
  bool only_ll = false;  // `rate` is what LL reaches
  double band = 1;       // times as long between band_from and band_to
  double band_from = 0;  // bytes
  double band_to = 0;
  double collapse_from = 0;  // bytes from which the rate falls with the root of the size; 0: none
  double longer = 1;         // times as long at every size
  double step_us = 0;        // added for each chunk and step
  double steps = 0;          // of small vectors
  double step_bytes = 1;     // that one round of chunks carries
  double fades_from = 0;     // doublings of the size where the latency begins to count less
  double fades_to = 1;
};

double evenly(RandomEngine& random, double low, double high) {
  return low + (high - low) * uniform(random);
}

/// What a machine with `adapters` of `rate` GB/s a node can have.
std::optional<PlainFault> plain_fault(const std::string& cause, const NcclInputs& in,
                                      RandomEngine& random) {
  const bool net = in.nodes > 1 && in.hardware.adapters > 0;
  const double adapters = std::max(1, in.hardware.adapters);
  const double rate = in.hardware.of_node / adapters;
  PlainFault fault;
  if (cause == "nic_missing" && net && adapters > 1) {
    fault.rate =
        (uniform(random) < 0.5 ? (adapters - 1) / adapters : 0.5) * evenly(random, 0.97, 1.03);
  } else if (cause == "nic_affinity" && net && rate > 23) {
    fault.rate = evenly(random, 10, 18) / rate;
  } else if (cause == "gdr_off" && net) {
    fault.rate = std::min(evenly(random, 0.2, 0.55), 16 / rate);
    fault.latency = evenly(random, 1.3, 3);
  } else if (cause == "sockets" && net && in.hardware.of_node > 15) {
    fault.rate = evenly(random, 1.5, 6) / in.hardware.of_node;
    fault.latency = evenly(random, 3, 8);
  } else if (cause == "nvls_off" && in.nodes == 1 && in.nvls.channels > 0) {
    fault.rate = evenly(random, 0.72, 0.82);
  } else if (cause == "host_staging" && in.nodes == 1 && in.hardware.of_gpu > 40) {
    fault.rate = evenly(random, 3, 20) / in.hardware.of_gpu;
    fault.latency = evenly(random, 1.3, 3);
  } else if (cause == "wrong_mesh" && in.nodes == 1 && !in.nvswitch &&
             in.ring.type_intra == NcclPath::nvl) {
    fault.rate = evenly(random, 0.2, 0.7);
  } else if (cause == "ll_at_large") {
    fault.only_ll = true;
    fault.rate = evenly(random, 0.38, 0.5);
  } else if (cause == "switch_misplaced") {
    fault.band = evenly(random, 1.3, 2.2);
    fault.band_from = 1024 * evenly(random, 128, 1024);
    fault.band_to = fault.band_from * evenly(random, 4, 16);
  } else if (cause == "congestion" && net && in.nodes > 2) {
    fault.rate = evenly(random, 0.4, 0.6);
    if (uniform(random) < 0.5) {
      fault.rate = 1;
      fault.collapse_from = 1048576 * evenly(random, 8, 64);
    }
  } else if (cause == "straggler") {
    fault.late_us = std::exp(evenly(random, std::log(150), std::log(5000)));
  } else if (cause == "throttled") {
    fault.longer = std::exp(evenly(random, std::log(1.3), std::log(4)));
  } else if (cause == "step_cost" && net) {
    fault.step_us = std::exp(evenly(random, std::log(15), std::log(120)));
    fault.steps = 2.0 * (in.nodes - 1);
    fault.step_bytes = 524288.0 * in.nodes * in.ring.channels;
  } else {
    return {};
  }
  return fault;
}

/// What of a healthy table counts.
struct PlainCurve {
  double least_us = 1e30;  // at any size
  double largest = 0;      // bytes
  double largest_us = 0;
  double at_64k_us = 0;  // of the largest size up to 64 KiB

  explicit PlainCurve(const std::vector<MeasuredTime>& rows) {
    double nearest = 0;
    for (const MeasuredTime& row : rows) {
      const auto bytes = static_cast<double>(row.bytes.count);
      const double us = row.time.count() * 1e6;
      least_us = std::min(least_us, us);
      if (bytes > largest) std::tie(largest, largest_us) = std::tuple(bytes, us);
      if (bytes > nearest && bytes <= 65536) std::tie(nearest, at_64k_us) = std::tuple(bytes, us);
    }
  }
};

/// From 0 to 1, with level ends.
double smooth(double x) {
  x = std::clamp(x, 0.0, 1.0);
  return x * x * (3 - 2 * x);
}

/// What latency and rate make of the time, the way of the fault.
double slower_time(const PlainFault& fault, const PlainCurve& curve, double us, double bytes,
                   double rate) {
  const double a = curve.least_us;
  const double of_bytes = curve.largest_us * bytes / curve.largest;
  switch (fault.between) {
    case Between::added:
      return us + a * (fault.latency - 1) + of_bytes * (1 / rate - 1);
    case Between::stretched:
      return a * fault.latency + (us - a) / rate;
    case Between::longest:
      return std::max({us, a * fault.latency, of_bytes / rate});
    case Between::quotient:
      return us * (a * fault.latency + of_bytes / rate) / (a + of_bytes);
    case Between::squares:
      return us * (1 + (fault.latency - 1) * std::pow(a / us, 2) +
                   (1 / rate - 1) * std::pow(of_bytes / us, 2));
    case Between::fading:
      break;
  }
  const double x = std::log2(bytes) - fault.fades_from;
  const double share = smooth(x / (fault.fades_to - fault.fades_from));
  return us * std::pow(fault.latency, 1 - share) * std::pow(1 / rate, share);
}

double plain_time(const PlainFault& fault, const PlainCurve& curve, double us, double bytes) {
  const double of_bytes = curve.largest_us * bytes / curve.largest;
  if (fault.only_ll) {  // linear from 64 KiB on, or the line of all sizes where it is above
    if (fault.between == Between::longest) return std::max(us, of_bytes / fault.rate);
    return std::max(us,
                    curve.at_64k_us + std::max(0.0, bytes - 65536) * of_bytes / bytes / fault.rate);
  }
  double rate = fault.rate;
  if (fault.collapse_from > 0 && bytes > fault.collapse_from) {
    rate *= std::max(0.17, std::sqrt(fault.collapse_from / bytes));
  }
  const double rounds = bytes / fault.step_bytes;
  const bool both = fault.between >= Between::longest;  // a first chunk and all others
  double time = slower_time(fault, curve, us, bytes, rate) * fault.longer + fault.late_us +
                fault.step_us * fault.steps * (both ? 1 + rounds : std::max(1.0, rounds));
  if (bytes < fault.band_from || bytes > fault.band_to) return time;
  if (!both) return time * fault.band;
  const double from_middle =
      std::abs(std::log2(bytes / std::sqrt(fault.band_from * fault.band_to)));
  const double half = 0.5 * std::log2(fault.band_to / fault.band_from) + 0.5;
  return time * std::pow(1.15 * fault.band, 1 - from_middle / half);
}

}  // namespace

const std::vector<std::string>& plain_causes() {
  static const std::vector<std::string> names = {
      "nic_missing",  "nic_affinity", "gdr_off",     "sockets",          "nvls_off",
      "host_staging", "wrong_mesh",   "ll_at_large", "switch_misplaced", "congestion",
      "straggler",    "throttled",    "step_cost"};
  return names;
}

std::optional<TableFault> inject_plain(const std::string& cause,
                                       const std::vector<KnownTable>& healthy,
                                       RandomEngine& random) {
  for (int draw = 0; draw < 40; ++draw) {
    KnownTable table =
        healthy[static_cast<std::size_t>(uniform(random) * static_cast<double>(healthy.size()))];
    std::vector<MeasuredTime>& rows = table.table.times;
    std::string note;
    const auto inputs = Predictor(table.machine).library_inputs(rows.front(), note);
    std::optional<PlainFault> fault = plain_fault(cause, *inputs, random);
    // The sample alone is of one node whose switches add.
    if (!fault || table.sample != (cause == "nvls_off")) continue;
    const auto way = static_cast<std::size_t>(uniform(random) * all_ways.size());
    fault->between = all_ways.at(way);
    fault->fades_from = evenly(random, 12, 18);
    fault->fades_to = fault->fades_from + evenly(random, 4, 8);
    const double noise = evenly(random, 0.005, 0.05);
    const PlainCurve curve(rows);
    constexpr double visible = 1.2;
    std::set<std::int64_t> shown;
    for (MeasuredTime& row : rows) {
      const double us = row.time.count() * 1e6;
      const double slower = plain_time(*fault, curve, us, static_cast<double>(row.bytes.count));
      const double radius = std::sqrt(-2 * std::log(1 - uniform(random)));
      const double angle = 2 * std::numbers::pi * uniform(random);
      row.time = Seconds{slower * 1e-6 * std::exp(noise * radius * std::cos(angle))};
      row.low = row.high = row.time;
      if (slower / us >= visible) shown.insert(row.bytes.count);
    }
    if (shown.empty()) continue;
    const std::string words = fmt::format(
        "way {}: latency x{:.1f}, rate x{:.2f}, +{:.0f} us, band x{:.1f}, all x{:.1f}, a step "
        "+{:.0f} us",
        way, fault->latency, fault->rate, fault->late_us, fault->band, fault->longer,
        fault->step_us);
    return TableFault{cause, words, std::move(table), static_cast<int>(shown.size())};
  }
  return {};
}

}  // namespace collbench
