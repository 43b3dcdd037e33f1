#include "transports/cuda/device_accesses.h"

#include <iterator>

namespace collbench {

// Cuts the interval that `at` lies within.
void DeviceAccesses::split(std::int64_t at) {
  auto found = intervals_.lower_bound(at);
  if (found == intervals_.begin()) return;
  const auto before = std::prev(found);
  if (before->second.last <= at) return;
  Interval rest = before->second;
  before->second.last = at;
  intervals_.emplace_hint(found, at, std::move(rest));
}

DeviceAccesses::Intervals::iterator DeviceAccesses::cover(std::int64_t first, std::int64_t last) {
  split(first);
  split(last);
  std::int64_t at = first;
  auto next = intervals_.lower_bound(first);
  while (at < last) {
    const bool gap = next == intervals_.end() || next->first > at;
    if (gap) {
      const std::int64_t end = next == intervals_.end() || next->first > last ? last : next->first;
      next = intervals_.emplace_hint(next, at, Interval{end, -1, {}});
    }
    at = next->second.last;
    ++next;
  }
  return intervals_.lower_bound(first);
}

void DeviceAccesses::read(std::int64_t first, std::int64_t last, std::int32_t command,
                          std::vector<std::int32_t>& follows) {
  for (auto it = cover(first, last); it != intervals_.end() && it->first < last; ++it) {
    if (it->second.writer >= 0) follows.push_back(it->second.writer);
    it->second.readers.push_back(command);
  }
}

void DeviceAccesses::write(std::int64_t first, std::int64_t last, std::int32_t command,
                           std::vector<std::int32_t>& follows) {
  const auto begin = cover(first, last);
  auto end = begin;
  for (; end != intervals_.end() && end->first < last; ++end) {
    // The reads that this write follows already follow the earlier writer.
    if (end->second.readers.empty() && end->second.writer >= 0) {
      follows.push_back(end->second.writer);
    }
    follows.insert(follows.end(), end->second.readers.begin(), end->second.readers.end());
  }
  intervals_.erase(begin, end);
  intervals_.emplace(first, Interval{last, command, {}});
}

}  // namespace collbench
