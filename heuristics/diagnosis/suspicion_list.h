// Collects suspicions and weighs them before any time is seen: each cause as reports of it are
// frequent, whatever the number of its strengths.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heuristics/diagnosis/suspicions.h"

namespace collbench {

/// A rank that is late by as long at every size, from `least` to 20 ms: words and curves.
struct LateRank {
  std::string words;
  SlowerTime slower;
};
std::vector<LateRank> late_rank_curves(Seconds least);
constexpr Seconds least_delay{60e-6};  // that is told from other latencies

/// From `low` to `high` in steps of about a seventh, which no table tells apart.
std::vector<double> strengths(double low, double high);

/// What reports say of a fault's curve: the share of the rate that is left, and how many times as
/// long the latency is.
struct PlainChange {
  double share = 1;
  double latency = 1;
};

class SuspicionList {
 public:
  using TimeOf = std::function<Seconds(Bytes)>;
  static constexpr Bytes smallest{8};  // its time is the latency

  explicit SuspicionList(std::span<const Bytes> sizes) : sizes_(sizes) {}

  /// The machine as it should be. `share`: how likely it is to be asked so.
  Suspicion& add_healthy(std::string words, double share, const TimeOf& time);
  /// One strength of a cause, left out where it changes the last healthy time nowhere by 3 %, or
  /// where `time` throws InvalidArgument: the library has no such play. `weight` is that among the
  /// strengths of the cause.
  void add(const char* cause, double weight, std::string words, const TimeOf& time);
  /// The same without a model of what the library makes of the fault: it changes the latency and
  /// the rate of large sizes of the last healthy machine, and between them it does what is usual,
  /// in four ways: cost is added, all that is not latency is stretched, the time grows as latency
  /// and bytes at the full rate together do, or the longer time counts.
  void add_plain(const char* cause, double weight, const std::string& words,
                 const PlainChange& fault);
  /// The same with a curve of its own.
  void add_plain(const char* cause, double weight, std::string words, SlowerTime slower);
  /// Adds what no cause explains, and weighs all since the last call: every cause as frequent as it
  /// is, times `share`, half of it with a model and half plain where it has both.
  void weigh(double share, bool pair);

  std::span<const Bytes> sizes() const { return sizes_; }
  std::vector<Suspicion> take() { return std::move(all_); }

 private:
  std::optional<Suspicion> timed(std::string words, const TimeOf& time) const;
  bool differs(const Suspicion& suspicion) const;
  void add_if_it_differs(const char* cause, double weight, std::optional<Suspicion> suspicion);

  std::span<const Bytes> sizes_;
  std::vector<Suspicion> all_;
  std::size_t healthy_ = 0;  // the last
  std::size_t weighed_ = 0;
};

}  // namespace collbench
