// A calibration: models of every method that was measured on a system, checked on points held out
// from their fit.
//
// Methods whose schedules are known share the constants of their system
// (heuristics/structure/structural_model.h), which reaches other scales and methods not measured.
// Others have a trend each (heuristics/calibration/method_model.h): names that are not known, and
// NCCL, whose times jump where it changes channels and protocols.
//
// Refused, with the reason: too few points for every method, tables that contradict each other,
// times that no machine reaches. A method with too few points is left out, with a note.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heuristics/calibration/method_model.h"
#include "heuristics/structure/structural_model.h"

namespace collbench {

/// Relative errors of predictions: |predicted / measured - 1|.
struct ErrorSummary {
  int points = 0;
  double median = 0;
  double p90 = 0;
  double worst = 0;
  double within = 0;  // share of points inside the 80 % interval; -1: not asked
};
/// Quantiles by linear interpolation (type 7). Zeros for none.
ErrorSummary summarize_errors(std::vector<double> errors);

/// One prediction of a point that was not fitted to.
struct HeldOut {
  MeasuredTime measured;
  Estimate predicted;
  std::string assumed = {};  // what is taken to have been played: "double-tree, LL"; empty: as said
  double error() const { return predicted.time / measured.time - 1; }
};

/// What one method did.
struct MeasuredMethod {
  MethodKey method;
  std::span<const MeasuredTime> points;  // one for each scale and size; of the calibration
};

/// A fit made before, of one system on one network.
struct StoredFit {
  std::string system;
  Interconnect interconnect = Interconnect::switched;
  int cores = 0;  // of a host
  NetworkFit fit;
};

/// How far a method's runs differ (MethodModel::noise()), of points that are medians of them.
struct StoredNoise {
  MethodKey method;
  double noise = 0;
};

/// Cheap to copy. Thread safety: const members may run on any number of threads.
class Calibration {
 public:
  /// Fits what `stored` has no fit for, and takes the noise of trends from `noises` where they have
  /// it. Throws InvalidArgument, saying what is missing, which rows contradict each other, or which
  /// time is impossible.
  explicit Calibration(std::vector<MeasuredTime> rows, std::span<const StoredFit> stored = {},
                       std::span<const StoredNoise> noises = {});

  /// Trends, of methods that have no structure.
  std::span<const MethodModel> models() const { return models_; }
  std::span<const StructuralModel> structures() const { return structures_; }
  const std::vector<std::string>& notes() const { return notes_; }

  /// Of the host that was fitted of the system, of several that with the most points; 0: of none.
  int cores_of(const std::string& system) const;

  /// All methods that have a model, by system, library and name.
  std::span<const MeasuredMethod> measured() const;
  /// Their points, in that order.
  std::span<const MeasuredTime> points() const&;
  std::span<const MeasuredTime> points() && = delete;  // it would be of what is gone

  /// The model for a method: its own, else of its library with another protocol, type or place, or
  /// its library's own choice for an algorithm, or the reverse (`instead` then names it), else
  /// none; never of another collective. An empty library or algorithm matches any, an empty system
  /// that of rows that do not say theirs, or, without such, any; `instead` says which of several.
  const MethodModel* find(const MethodKey& method, std::string* instead = nullptr) const;

  /// The structure that knows what the method plays at the scale; null if none does. An empty
  /// system matches as in find(): the one where the method was measured, else the build of its
  /// library, else that of the most points.
  const StructuralModel* structure_of(const MethodKey& method, const Scale& scale) const;

  /// By the structure, else the trend of the method, or of the library's own choice for one of its
  /// algorithms; nothing for methods that neither knows. `instead` says what stands in.
  std::optional<Estimate> estimate(const MethodKey& method, const Scale& scale, Bytes bytes,
                                   std::string* instead = nullptr) const;

 private:
  struct Points;
  std::vector<MeasuredTime> take_structures(std::vector<MeasuredTime> rows,
                                            std::span<const StoredFit> stored);
  Points all_points() const;
  bool is_any_system(const std::string& system) const;
  bool is_of_several_systems() const;

  std::vector<MethodModel> models_;
  std::vector<StructuralModel> structures_;
  std::vector<std::string> notes_;
  std::shared_ptr<const Points> points_;
};

/// Predicts all points of every scale (or size) from a calibration without them. A scale can be
/// held out if another one remains of its system; what cannot is reported in `notes`. Single
/// nodes are held out last or not at all: what is inside a node shows in no other scale, so they
/// are held out only with `single_nodes`.
std::vector<HeldOut> leave_one_scale_out(std::span<const MeasuredTime> rows, bool single_nodes,
                                         std::vector<std::string>& notes);
/// Of more than 32 sizes every 20th at a time, of which none is next to another.
std::vector<HeldOut> leave_one_size_out(std::span<const MeasuredTime> rows,
                                        std::vector<std::string>& notes);

ErrorSummary summarize_held_out(std::span<const HeldOut> held, Bytes least = {},
                                Bytes most = {std::int64_t{1} << 62});

}  // namespace collbench
