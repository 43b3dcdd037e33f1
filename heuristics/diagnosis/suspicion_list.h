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

/// From `low` to `high` in steps of about a seventh, which no table tells apart.
std::vector<double> strengths(double low, double high);

class SuspicionList {
 public:
  using TimeOf = std::function<Seconds(Bytes)>;
  static constexpr Bytes smallest{8};  // its time is the latency

  explicit SuspicionList(std::span<const Bytes> sizes) : sizes_(sizes) {}

  /// The machine as it should be. `share`: how likely it is to be asked so.
  Suspicion& add_healthy(std::string words, double share, const TimeOf& time);
  /// One strength of a cause, left out where it changes the first healthy time nowhere by 3 %, or
  /// where `time` throws InvalidArgument: the library has no such play. `weight` is that among the
  /// strengths of the cause.
  void add(const char* cause, double weight, std::string words, const TimeOf& time);
  /// Weighs what was added since the last call: every cause as frequent as it is, times `share`.
  void weigh(double share, bool pair);

  std::span<const Bytes> sizes() const { return sizes_; }
  std::vector<Suspicion> take() { return std::move(all_); }

 private:
  std::optional<Suspicion> timed(std::string words, const TimeOf& time) const;
  bool differs(const Suspicion& suspicion) const;

  std::span<const Bytes> sizes_;
  std::vector<Suspicion> all_;
  std::size_t weighed_ = 0;
};

}  // namespace collbench
