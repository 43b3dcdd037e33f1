// What one system does on one network: the constants that its measured methods share, what each
// deviates from them, and how sure both are at other sizes and scales.
//
// Methods never measured there are predicted too, if it is known what they play. A library's own
// choice by rules that are not known is taken, for each size, as the named method that was closest
// to it at the largest scale measured.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heuristics/estimate.h"
#include "heuristics/structure/carried_residuals.h"
#include "heuristics/structure/joint_fit.h"

namespace collbench {

/// Of ln(time) by a build of the library that was not measured there: half of the variance of the
/// priors by technology (0.6 to 0.7), whose other half is the network, which is the same. Another
/// type or operator counts as much.
inline constexpr double other_build_noise = 0.45;

/// What was fitted, so that it can be stored and judged.
struct NetworkFit {
  std::vector<FittedConstant> constants;  // as network_model() lists them
  /// Standard deviation of ln(time) for each doubling of the nodes from the nearest scale measured.
  double per_doubling = 0;
  /// Of ln(time) from one run to the next; 0: not known, so the network's own.
  double noise = 0;
};

/// Immutable and cheap to copy. Thread safety: const members may run on any number of threads.
class StructuralModel {
 public:
  /// Requires rows of one system that all play on `interconnect` (played_method()), on as many
  /// cores, at least one.
  /// Fits them, unless `fit` has been made of them before.
  StructuralModel(Interconnect interconnect, const std::vector<MeasuredTime>& rows,
                  std::optional<NetworkFit> fit = {});

  const std::string& system() const;
  Interconnect interconnect() const;
  int cores() const;  // of a host; else 0
  const NetworkFit& fit() const;
  const std::vector<MeasuredTime>& points() const;
  /// Measured methods in the order of their names.
  std::vector<MethodKey> methods() const;
  /// "352 times of 14 methods on 8 and 16 nodes".
  std::string basis() const;

  /// Under this name, at any scale and by any build of the library.
  bool has_measured(const MethodKey& method) const;
  bool can_predict(const MethodKey& method, const Scale& scale) const;
  /// Requires can_predict().
  Estimate estimate(const MethodKey& method, const Scale& scale, Bytes bytes) const;
  /// Whether the name may stand for another schedule there than where it was measured: requests
  /// that the library answers with another one, and its own choice, whose rules differ by version.
  /// Never at scales where it was measured.
  bool may_change(const MethodKey& method, const Scale& scale, Bytes bytes) const;
  /// By how much a choice should count its time as longer: what may change, and methods that were
  /// not measured on this system.
  double preference(const MethodKey& method, const Scale& scale, Bytes bytes) const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace collbench
