#include "heuristics/calibration/plausible.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

constexpr double contradiction = 1.5;  // median factor between rows of the same point
constexpr double other_unit = 50;      // times the ratio of the nodes
/// The same where ranks that wait busily may take a turn for every 64 KiB: 4 ms and not 15 us.
constexpr double other_unit_of_turns = 300;
// Eight adapters of 800 Gb/s are 0.8 TB/s; the fastest memory of a device of 2025 has 8 TB/s, and
// its links to other GPUs 0.9 TB/s a direction, of which sums made in the switch save half.
constexpr double most_of_node = 2e12;
constexpr double most_of_rank = 2e13;
constexpr double most_of_gpu = 4e12;
/// Of one message: less than any network needs, and less than two cores that share a cache.
constexpr Seconds least_between_nodes{1e-7};
constexpr Seconds least_inside{2e-8};

/// What a rank, or where there are several the node, can send.
double most_sent(const MeasuredTime& row) {
  if (row.scale.nodes > 1) return most_of_node;
  return is_nccl(row.library) ? most_of_gpu : most_of_rank;
}

/// The least ratio of times at sizes that both curves have and that are slow enough; 0 without such
/// sizes.
double least_ratio(const std::map<Bytes, Seconds>& slow, const std::map<Bytes, Seconds>& fast,
                   Seconds slow_enough) {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [bytes, time] : slow) {
    const auto other = fast.find(bytes);
    if (other == fast.end() || time < slow_enough) continue;
    least = std::min(least, time / other->second);
  }
  return least == std::numeric_limits<double>::infinity() ? 0 : least;
}

/// Whether ranks wait for each other's cores.
bool is_crowded(const Scale& scale) { return scale.is_host() && scale.ranks > scale.cores; }

/// What ranks may lose by waiting for each other's cores: as many messages as a ring sends one
/// after the other, before each of which every rank may have its turn of the scheduler.
Seconds turns_of(const Scale& scale) {
  constexpr Seconds turn{4e-3};
  return turn * (2.0 * scale.ranks * scale.ranks);
}

/// Of one method.
using Rows = std::vector<const MeasuredTime*>;

void refuse_other_units(const MethodKey& method, const Rows& rows) {
  std::map<Scale, std::map<Bytes, Seconds>> curves;
  for (const MeasuredTime* row : rows) curves[row->scale].insert_or_assign(row->bytes, row->time);
  for (const auto& [slow_scale, slow] : curves) {
    for (const auto& [fast_scale, fast] : curves) {
      // A turn of the scheduler is a thousand times what a message takes, which explains what takes
      // no longer than a few of them.
      const bool waits = is_crowded(slow_scale) && !is_crowded(fast_scale);
      const double growth = std::max(1.0, static_cast<double>(slow_scale.ranks) / fast_scale.ranks);
      const double ratio = least_ratio(slow, fast, waits ? 2 * turns_of(slow_scale) : Seconds{0});
      if (ratio <= (waits ? other_unit_of_turns : other_unit) * growth) continue;
      throw InvalidArgument(fmt::format(
          "the tables of '{}' contradict each other: {} took at least {:.3g} times as long as {} "
          "at every size. Are the times of one of them in another unit? They must be in "
          "microseconds",
          to_string(method), to_string(slow_scale), ratio, to_string(fast_scale)));
    }
  }
}

void refuse_contradiction(const MethodKey& method, const Rows& rows) {
  std::map<std::pair<Scale, Bytes>, std::pair<Seconds, Seconds>> range;
  for (const MeasuredTime* row : rows) {
    auto& [least, most] =
        range.try_emplace({row->scale, row->bytes}, row->time, row->time).first->second;
    least = std::min(least, row->time);
    most = std::max(most, row->time);
  }
  std::erase_if(range, [](const auto& entry) { return entry.second.first == entry.second.second; });
  refuse_other_units(method, rows);
  if (range.size() < 3) return;
  std::multimap<double, const decltype(range)::value_type*> factors;
  for (const auto& entry : range) factors.emplace(entry.second.second / entry.second.first, &entry);
  if (std::next(factors.begin(), std::ssize(factors) / 2)->first <= contradiction) return;
  const auto& [point, times] = *factors.rbegin()->second;
  throw InvalidArgument(fmt::format(
      "the tables of '{}' contradict each other at {} points, half of them by more than {:.2g} "
      "times; {} with {}: {} and {}. If they are different systems, give each a name: "
      "FILE,system=NAME",
      to_string(method), factors.size(), contradiction, to_string(point.second),
      to_string(point.first), to_string(times.first), to_string(times.second)));
}

}  // namespace

void refuse_contradictions(std::span<const MeasuredTime> rows) {
  std::map<MethodKey, Rows> methods;
  for (const MeasuredTime& row : rows) {
    if (!row.is_wrong()) methods[method_of(row)].push_back(&row);
  }
  for (const auto& [method, own] : methods) refuse_contradiction(method, own);
}

void refuse_impossible(std::span<const MeasuredTime> rows) {
  for (const MeasuredTime& row : rows) {
    if (row.is_wrong() || row.scale.ranks < 2) continue;
    // What any algorithm must send: of a node of several, or of a rank.
    const bool between = row.scale.nodes > 1;
    const double parts = between ? row.scale.nodes : row.scale.ranks;
    const double sent =
        bus_factor(row.collective, static_cast<int>(parts)) * static_cast<double>(row.bytes.count);
    const double rate = sent / row.time.count();
    // A message in a row at most doubles those that know of a rank.
    const double messages = std::ceil(std::log2(parts));
    const Seconds least = (between ? least_between_nodes : least_inside) * messages;
    if (rate <= most_sent(row) && row.time >= least) continue;
    const std::string why =
        rate > most_sent(row)
            ? fmt::format("would be {} out of every {}, which nothing reaches",
                          to_string(Bandwidth{rate}), between ? "node" : "rank")
            : fmt::format("is less than {}, which {:.0f} messages one after the other take",
                          to_string(least), messages);
    throw InvalidArgument(
        fmt::format("'{}', {} with {}: {} {}. Are the times in another unit than microseconds?",
                    to_string(method_of(row)), to_string(row.bytes), to_string(row.scale),
                    to_string(row.time), why));
  }
}

}  // namespace collbench
