#include "heuristics/measured_range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace collbench {
namespace {

/// Beyond the measured values of one axis, in words.
void add_beyond(const std::set<int>& known, int asked, const char* what, std::string& text) {
  if (asked >= *known.begin() && asked <= *known.rbegin()) return;
  if (!text.empty()) text += "; ";
  text += fmt::format("{} {}, measured with {}", asked, what, *known.begin());
  text += known.size() == 1 ? " only" : fmt::format(" to {}", *known.rbegin());
}

double log2_of(Bytes bytes) {
  return std::log2(static_cast<double>(std::max<std::int64_t>(bytes.count, 1)));
}
double log2_of(int count) { return std::log2(count); }

template <typename T>
double doublings_beyond(const std::set<T>& known, T asked) {
  return std::max(
      {0.0, log2_of(asked) - log2_of(*known.rbegin()), log2_of(*known.begin()) - log2_of(asked)});
}

}  // namespace

void MeasuredRange::add(const MeasuredTime& time) {
  const int extent = time.scale.extent();
  extents_.insert(extent);
  if (!time.scale.is_host()) each_.insert(time.scale.ranks / extent);
  sizes_.insert(time.bytes);
  sizes_at_[extent].insert(time.bytes);
  if (time.scale.shape != GridShape{}) shapes_[extent].insert(time.scale.shape);
}

std::string MeasuredRange::beyond(const Scale& scale, Bytes bytes) const {
  std::string text;
  const int extent = scale.extent();
  add_beyond(extents_, extent, scale.is_host() ? "ranks" : "nodes", text);
  if (!scale.is_host() && !each_.empty()) {
    add_beyond(each_, scale.ranks / extent, "ranks per node", text);
  }
  const auto shapes = shapes_.find(extent);
  if (scale.shape != GridShape{} && shapes != shapes_.end() &&
      !shapes->second.contains(scale.shape)) {
    if (!text.empty()) text += "; ";
    std::vector<std::string> known;
    for (const GridShape& shape : shapes->second) known.push_back(to_string(shape));
    text += fmt::format("{} nodes, measured as {}", to_string(scale.shape), fmt::join(known, ", "));
  }
  const auto own = sizes_at_.find(extent);
  const std::set<Bytes>& sizes = own == sizes_at_.end() ? sizes_ : own->second;
  if (bytes < *sizes.begin() || bytes > *sizes.rbegin()) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{}, measured{} from {} to {}", to_string(bytes),
                        sizes.size() < sizes_.size() ? " there" : "", to_string(*sizes.begin()),
                        to_string(*sizes.rbegin()));
  }
  return text;
}

double MeasuredRange::doublings_to(int extent) const {
  double least = std::numeric_limits<double>::infinity();
  for (const int known : extents_) {
    least = std::min(least, std::abs(std::log2(static_cast<double>(extent) / known)));
  }
  return least;
}

double MeasuredRange::doublings_outside(int extent) const {
  return doublings_beyond(extents_, extent);
}

double MeasuredRange::doublings_outside(Bytes bytes) const {
  return doublings_beyond(sizes_, bytes);
}

double MeasuredRange::rank_doublings_outside(const Scale& scale) const {
  if (scale.is_host() || each_.empty()) return 0;
  return doublings_beyond(each_, scale.ranks / scale.extent());
}

}  // namespace collbench
