#include "heuristics/diagnosis/suspicion_list.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

/// How often a cause is at fault, where it can be: alike but for those that issues report more
/// often (GPUDirect, NVLS) or once (steps), and for LL, which has to be asked for. Congestion is
/// reported of more than two nodes only.
double frequency_of(std::string_view name, bool pair) {
  static const std::map<std::string_view, double> unusual = {
      {"gdr_off", 1.5},     {"nvls_off", 2},       {"step_cost", 0.4},
      {"ll_at_large", 0.3}, {"network_slow", 0.1}, {"unexplained", 0.02}};
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

std::vector<LateRank> late_rank_curves(Seconds least) {
  std::vector<LateRank> all;
  for (const double us : strengths(least.count() * 1e6, 2e4)) {
    all.push_back(
        {fmt::format("{:.0f} us late", us), [=](const HealthyCurve&, Bytes, Seconds healthy) {
           return healthy + Seconds{us * 1e-6};
         }});
  }
  return all;
}

void make_plain(Suspicion& suspicion, const Suspicion& healthy, std::span<const Bytes> sizes) {
  HealthyCurve curve;
  curve.latency =
      std::min(healthy.latency, *std::min_element(healthy.times.begin(), healthy.times.end()));
  curve.of_byte = healthy.times.back() / static_cast<double>(sizes.back().count);
  curve.at_64_KiB = curve.latency;
  suspicion.times.clear();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].count <= 1 << 16) curve.at_64_KiB = healthy.times[i];
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    suspicion.times.push_back(suspicion.slower(curve, sizes[i], healthy.times[i]));
  }
  suspicion.latency = suspicion.slower(curve, SuspicionList::smallest, healthy.latency);
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
    const double ratio = suspicion.times[i] / all_[healthy_].times[i];
    if (std::abs(std::log(ratio)) > visible) return true;
  }
  return false;
}

Suspicion& SuspicionList::add_healthy(std::string words, double share, const TimeOf& time) {
  std::optional<Suspicion> suspicion = timed(std::move(words), time);
  require(suspicion.has_value(), "the library has no play on that machine");
  suspicion->weight = share * healthy_frequency;
  healthy_ = all_.size();
  all_.push_back(*std::move(suspicion));
  weighed_ = all_.size();
  return all_.back();
}

void SuspicionList::add_if_it_differs(const char* name, double weight,
                                      std::optional<Suspicion> suspicion) {
  if (!suspicion || !differs(*suspicion)) return;
  suspicion->cause = &cause(name);
  suspicion->weight = weight;
  all_.push_back(*std::move(suspicion));
}

void SuspicionList::add(const char* name, double weight, std::string words, const TimeOf& time) {
  add_if_it_differs(name, weight, timed(std::move(words), time));
}

void SuspicionList::add_plain(const char* name, double weight, std::string words,
                              SlowerTime slower) {
  Suspicion suspicion;
  suspicion.words = std::move(words);
  suspicion.slower = std::move(slower);
  make_plain(suspicion, all_[healthy_], sizes_);
  add_if_it_differs(name, weight, std::move(suspicion));
}

void SuspicionList::add_plain(const char* name, double weight, const std::string& words,
                              const PlainChange& fault) {
  const auto late = [=](const HealthyCurve& curve) { return curve.latency * fault.latency; };
  const auto slow = [=](const HealthyCurve& curve, Bytes bytes) {
    return curve.of_byte * (static_cast<double>(bytes.count) / fault.share);
  };
  add_plain(name, 0.3 * weight, words, [=](const HealthyCurve& curve, Bytes bytes, Seconds time) {
    return time + late(curve) - curve.latency + (1 - fault.share) * slow(curve, bytes);
  });
  add_plain(name, 0.3 * weight, words, [=](const HealthyCurve& curve, Bytes, Seconds time) {
    return late(curve) + std::max(Seconds{0}, time - curve.latency) / fault.share;
  });
  add_plain(name, 0.3 * weight, words, [=](const HealthyCurve& curve, Bytes bytes, Seconds time) {
    const Seconds usual = curve.latency + fault.share * slow(curve, bytes);
    return time * ((late(curve) + slow(curve, bytes)) / usual);
  });
  add_plain(name, 0.1 * weight, words, [=](const HealthyCurve& curve, Bytes bytes, Seconds time) {
    return std::max({time, late(curve), slow(curve, bytes)});
  });
}

void SuspicionList::weigh(double share, bool pair) {
  Suspicion unexplained = all_[healthy_];
  unexplained.cause = &cause("unexplained");
  unexplained.words = "none of the known faults";
  unexplained.weight = 1;
  unexplained.is_unexplained = true;
  all_.push_back(std::move(unexplained));
  std::map<const Cause*, std::array<double, 2>> sums;  // with a model, plain
  for (std::size_t i = weighed_; i < all_.size(); ++i) {
    sums[all_[i].cause].at(all_[i].slower ? 1 : 0) += all_[i].weight;
  }
  for (; weighed_ < all_.size(); ++weighed_) {
    Suspicion& each = all_[weighed_];
    const auto& [modelled, plain] = sums[each.cause];
    const double half = modelled > 0 && plain > 0 ? 0.5 : 1;
    each.weight *=
        half * share * frequency_of(each.cause->name, pair) / (each.slower ? plain : modelled);
  }
}

}  // namespace collbench
