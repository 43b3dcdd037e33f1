#include "heuristics/diagnosis/suspicion_list.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "core/error.h"

namespace collbench {
namespace {

/// How often a cause is at fault, where it can be: alike but for those that issues report more
/// often (GPUDirect off) or less, and for throttling, which a benchmark is too short to cause.
/// Congestion is reported of more than two nodes only.
double frequency_of(std::string_view name, bool pair) {
  static const std::map<std::string_view, double> unusual = {{"gdr_off", 2},
                                                             {"step_cost", 0.2},
                                                             {"throttled", 0.5},
                                                             {"switch_misplaced", 0.5},
                                                             {"network_slow", 0.1}};
  if (name == "congestion") return pair ? 0.15 : 2;
  const auto found = unusual.find(name);
  return found == unusual.end() ? 1 : found->second;
}

constexpr double healthy_frequency = 4;

}  // namespace

std::vector<double> strengths(double low, double high) {
  const int steps = std::max(1, static_cast<int>(std::lround(std::log(high / low) / 0.14)));
  std::vector<double> all;
  for (int i = 0; i <= steps; ++i) {
    all.push_back(low * std::pow(high / low, static_cast<double>(i) / steps));
  }
  return all;
}

std::optional<Suspicion> SuspicionList::timed(std::string words, const TimeOf& time) const {
  Suspicion suspicion;
  suspicion.words = std::move(words);
  try {
    for (const Bytes size : sizes_) suspicion.times.push_back(time(size));
    suspicion.latency = time(smallest);
  } catch (const InvalidArgument&) {
    return {};
  }
  return suspicion;
}

bool SuspicionList::differs(const Suspicion& suspicion) const {
  constexpr double visible = 0.03;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    const double ratio = suspicion.times[i] / all_.front().times[i];
    if (std::abs(std::log(ratio)) > visible) return true;
  }
  return false;
}

Suspicion& SuspicionList::add_healthy(std::string words, double share, const TimeOf& time) {
  std::optional<Suspicion> suspicion = timed(std::move(words), time);
  require(suspicion.has_value(), "the library has no play on that machine");
  suspicion->weight = share * healthy_frequency;
  all_.push_back(*std::move(suspicion));
  weighed_ = all_.size();
  return all_.back();
}

void SuspicionList::add(const char* name, double weight, std::string words, const TimeOf& time) {
  std::optional<Suspicion> suspicion = timed(std::move(words), time);
  if (!suspicion || !differs(*suspicion)) return;
  suspicion->cause = &cause(name);
  suspicion->weight = weight;
  all_.push_back(*std::move(suspicion));
}

void SuspicionList::weigh(double share, bool pair) {
  std::map<const Cause*, double> sums;
  for (std::size_t i = weighed_; i < all_.size(); ++i) sums[all_[i].cause] += all_[i].weight;
  for (; weighed_ < all_.size(); ++weighed_) {
    Suspicion& each = all_[weighed_];
    each.weight *= share * frequency_of(each.cause->name, pair) / sums[each.cause];
  }
}

}  // namespace collbench
