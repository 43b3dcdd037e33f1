#include "heuristics/fit.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace collbench {
namespace {

struct Axes {
  std::vector<int> dims;
  std::vector<bool> wraps;
};

/// The axes that `ranks` consecutive hosts fill, without those of length 1; empty if they end
/// inside one. An axis that is filled in part does not close to a ring.
Axes filled_axes(const Layout& layout, int ranks) {
  Axes axes;
  int left = ranks;
  for (std::size_t i = 0; i < layout.dims.size() && left > 1; ++i) {
    const int length = layout.dims[i];
    const int taken = left < length ? left : length;
    if (left % taken != 0) return {};
    left /= taken;
    if (taken == 1) continue;
    axes.dims.push_back(taken);
    axes.wraps.push_back(layout.kind == Layout::Kind::grid && layout.wraps[i] && taken == length);
  }
  return left == 1 ? axes : Axes{};
}

}  // namespace

AlgorithmSpec fit_to(const AlgorithmSpec& spec, const Topology& topology, int ranks) {
  const bool is_torus = spec.name == "torus";
  if (!is_torus && spec.name != "torus-2d" && spec.name != "hierarchical") return spec;
  if (spec.options.count("dims") > 0 || topology.layout().kind == Layout::Kind::flat) return spec;
  const Axes axes = filled_axes(topology.layout(), ranks);
  if (axes.dims.empty()) return spec;
  if (spec.name == "torus-2d" && axes.dims.size() != 2) return spec;
  AlgorithmSpec fitted = spec;
  fitted.options["dims"] = fmt::format("{}", fmt::join(axes.dims, "x"));
  if (is_torus && spec.options.count("wrap") == 0) {
    std::string wrap;
    for (const bool wraps : axes.wraps) wrap += wraps ? 't' : 'm';
    fitted.options["wrap"] = wrap;
    const bool alike = std::all_of(axes.dims.begin(), axes.dims.end(),
                                   [&](int length) { return length == axes.dims.front(); });
    if (!alike) fitted.options.try_emplace("shares", "balanced");
  }
  return fitted;
}

}  // namespace collbench
