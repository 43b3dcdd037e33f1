// A Team whose workers exist only in simulation: a case becomes a scenario, its outcome a
// measurement without noise.
//
// Machines are read once and kept. `auto` as algorithm tries every schedule that fits, `auto` as
// protocol every row of the machine's ladder. Where switches add (NVLS, SHARP), the machine's name
// for it is an algorithm too.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bench/measure/team.h"
#include "heuristics/calibration/calibration.h"
#include "heuristics/policies/choose.h"
#include "simulator/simulate.h"

namespace collbench {

/// A case as what the engines play. `algorithm` and `protocol` are decided: no "auto" is left.
struct BoundCase {
  Scenario scenario;
  std::string algorithm;  // with the options that the machine suggested
};

/// Whether it is the name of what the machine's switches do ("nvls").
bool is_in_network(const std::string& name, const Machine& machine);

/// Whether a policy, which knows nothing else, predicts the case as it is: then only the best of
/// its candidates need another look.
bool is_as_policies_see_it(const Case& point);

/// Why only messages can answer the case, "groups side by side need messages"; empty if a model of
/// whole collectives can: a fit, the machine's switches, NCCL.
std::string need_of_messages(const Case& point);
/// What a model says, which plays no messages, as a measurement; `why` it was asked.
Measurement modelled(Seconds time, std::string played, std::string why);

/// Reads machines and binds cases to them. Thread safety: belongs to one thread.
class CaseBinder {
 public:
  /// With `messages_only`, `auto` passes over what switches add, which has no messages to show.
  explicit CaseBinder(bool messages_only = false) : messages_only_(messages_only) {}

  /// Throws InvalidArgument, saying what would be possible, for a machine, algorithm, mapping,
  /// protocol or disturbance that does not exist or does not fit.
  BoundCase bind(const Case& point);
  /// Throws as bind() and measure_modelled() do for what is no matter of algorithm or size:
  /// machine, mapping, protocol, disturbances, and what models cannot answer. Takes little time.
  void require_playable(const Case& point);
  /// The algorithm for a case whose algorithm is "auto": the candidates of the policy `auto` on the
  /// machine, predicted as they are mapped, slowed and posted here, and the fastest of them or,
  /// where the best few have few messages, the fastest when played. On a calibrated file, those
  /// that its fit knows, as `select` has them.
  Choice decide_algorithm(const Case& point);
  /// Read once. Throws InvalidArgument if it does not seat the case's workers.
  const Machine& machine_of(const Case& point);
  /// A case that is no schedule: the machine's in-network reduction ("nvls"), what NCCL plays
  /// ("nccl"), or what the fit of a calibrated file knows; nothing for others. `remark` says what
  /// the messages of a calibrated file's machine leave out.
  std::optional<Measurement> measure_modelled(const Case& point, std::string& remark);

 private:
  void require_protocol(const Case& point);
  /// The case is of the library or of switches that add. Throws for what only messages can answer.
  void require_modelled(const Case& point);
  const Calibration* calibration_on(const Case& point);
  std::optional<Measurement> measure_fitted(const Case& point, std::string& remark);
  Choice decide_protocol(const Scenario& scenario);
  /// Among what the fit of a calibrated file prices, so that no time of its plain machine is
  /// compared with one of the fit; nothing if it prices none.
  std::optional<Choice> decide_by_fit(const Case& point);

  bool messages_only_;
  std::map<std::pair<std::string, int>, Machine> machines_;
  std::map<std::string, std::optional<Calibration>> calibrations_;  // by topology
};

/// A case whose algorithm is decided, and what came of it; with `trace_limit` it has transfers.
struct Played {
  Scenario scenario;
  Outcome outcome;
};
Played play_case(const Case& point, CaseBinder& binder, std::int64_t trace_limit = 0);

/// The outcome of a case whose algorithm is decided, as a measurement.
Measurement measure_simulated(const Case& point, CaseBinder& binder);

class SimulatedTeam final : public Team {
 public:
  explicit SimulatedTeam(std::shared_ptr<CaseBinder> binder) : binder_(std::move(binder)) {}
  Measurement measure(const Case& point, const Sampling& /*sampling*/) override {
    return measure_simulated(point, *binder_);
  }

 private:
  std::shared_ptr<CaseBinder> binder_;
};

/// Plays the case on two engines, its own and the cheapest other one that can, and throws
/// WrongResult if their times differ by more than 1e-9 relative. Returns what was compared, in
/// words.
std::string check_engines(const Case& point, CaseBinder& binder);

/// The prediction for a case by the fit in a file of `calibrate`. Nothing, with the reason in
/// `why_not`, for what the fit does not know and for what only messages can show: links,
/// disturbances, mappings, another engine than `auto` and `model`.
std::optional<Measurement> measure_fitted_case(const Case& point, const Calibration& calibration,
                                               const Machine& machine, std::string& why_not);

/// Whether it is a name of what NCCL or RCCL would play.
bool is_library_case(const std::string& algorithm);

/// Throws InvalidArgument for another collective, an unknown name or protocol, and for a machine or
/// a number of ranks that NCCL's model has no graphs for. Requires is_library_case().
void require_library_case(const Case& point, const Machine& machine);
/// What that takes. Throws as require_library_case(), and InvalidArgument for what NCCL does not
/// have there.
Measurement measure_library_case(const Case& point, const Machine& machine);

}  // namespace collbench
