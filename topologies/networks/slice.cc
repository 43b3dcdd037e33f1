#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

std::vector<int> descending(std::vector<int> lengths) {
  std::sort(lengths.rbegin(), lengths.rend());
  return lengths;
}

}  // namespace

std::vector<bool> slice_wraps(const std::vector<int>& dims, const WrapRule& rule) {
  const std::string name = fmt::format("slice {}", fmt::join(dims, "x"));
  require(static_cast<int>(dims.size()) == rule.axes,
          fmt::format("{}: these chips are wired along {} axes, so a slice has {} lengths", name,
                      rule.axes, rule.axes));
  std::int64_t chips = 1;
  for (const int d : dims) {
    chips *= d;
    require(chips <= rule.most_chips,
            fmt::format("{}: the largest slice has {} chips", name, rule.most_chips));
  }
  std::vector<bool> wraps;
  if (rule.kind == WrapRule::Kind::axis) {
    for (const int d : dims) {
      require(d <= rule.length,
              fmt::format("{}: an axis of the pod is {} long", name, rule.length));
      wraps.push_back(d == rule.length);
    }
    return wraps;
  }
  bool all = true;
  if (rule.kind == WrapRule::Kind::cube) {
    for (const int d : dims) all = all && d % rule.length == 0;
  } else {
    const std::vector<int> sorted = descending(dims), pod = descending(rule.pod);
    for (std::size_t i = 0; i < pod.size(); ++i) {
      require(sorted[i] <= pod[i],
              fmt::format("{}: does not fit into the pod of {}", name, fmt::join(rule.pod, "x")));
    }
    all = sorted == pod;
  }
  return std::vector<bool>(dims.size(), all);
}

}  // namespace collbench
