// Verdicts: for each case, whether head is slower than base, faster, the same, or unclear.
//
// A timed case is judged by the lower quartile of each round, a round being one fresh process: base
// and head are two samples of such quartiles, and the ratio of their typical values has an interval
// by ranks (bench/verdicts/statistics_ranks.h). An exact case, a simulated one, is compared for
// equality. What is not shown either way is `inconclusive`, which is not `same`. docs/verdicts.md
// tells users.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/case_filter.h"
#include "bench/records/record.h"

namespace collbench {

/// Worst first. `changed`: exact figures other than the time differ. `added` is written "new".
enum class VerdictOutcome : std::uint8_t {
  wrong,         // a result of head differed from the exact one
  slower,        // confirmed, or exactly
  missing,       // base has the case, head does not
  changed,       // exact figures differ at the same exact time
  env_mismatch,  // the two machines differ: no verdict on times
  inconclusive,  // neither a difference nor its absence is shown
  faster,        // confirmed, or exactly
  added,         // head has the case, base does not
  same,          // shown to be within the threshold, or exactly equal
};
/// "wrong", "slower", "missing", "changed", "env-mismatch", "inconclusive", "faster", "new",
/// "same".
std::string_view to_string(VerdictOutcome outcome);
/// Throws InvalidArgument, with the nearest name, for another word.
VerdictOutcome parse_outcome(std::string_view name);
/// All of them, worst first.
const std::vector<VerdictOutcome>& all_outcomes();

/// What one binary showed in a case. Of an exact case, all times are the simulated time and there
/// are no rounds.
struct Arm {
  std::vector<double> rounds_ns;  // the lower quartile of each round, in the order taken;
                                  // confirming rounds follow the screening ones
  double typical_ns = 0;          // the level of the rounds that decide: head's over base's is
                                  // the ratio of the verdict
  double p25_ns = 0;              // of all samples of all rounds
  double p50_ns = 0;
  double p75_ns = 0;
  double p95_ns = 0;
  int samples = 0;
};

/// The ratio head / base with its interval, and how sure it is. Ratios are dimensionless: 1.2 is
/// 20 % slower.
struct RatioEstimate {
  double ratio = 1;     // exp of the Hodges-Lehmann shift of the logarithms
  double low = 1;       // 95 % interval; over several looks it holds at all of them together
  double high = 1;      // infinite where so few rounds bound nothing: not for JSON as it is
  double p_slower = 1;  // one-sided, of "head is at most `threshold` slower"; not corrected
  double p_faster = 1;  // the same the other way round
  int base_rounds = 0;
  int head_rounds = 0;
};

/// An exact figure that differs, both values in words with their unit: "messages", "126", "140".
struct ExactChange {
  std::string metric;  // "simulated time", "messages", "rounds", "bytes on the busiest link", ...
  std::string base;
  std::string head;
};

struct Verdict {
  std::string name;  // case_name(): unique within a comparison
  Case point;
  VerdictOutcome outcome = VerdictOutcome::inconclusive;
  bool exact = false;       // judged by equality; then there are no estimates
  std::string metric;       // "lower quartile of a round", "simulated time"
  std::string reason;       // in words, one line: "confirmed: +19.4 % [+15.8, +24.9] %"
  std::optional<Arm> base;  // empty where the arm lacks the case
  std::optional<Arm> head;
  std::optional<RatioEstimate> ratio;         // of all rounds that were not made to confirm
  std::optional<RatioEstimate> confirmation;  // of fresh rounds of a suspect
  std::optional<RatioEstimate> noise;         // base against itself in the same rounds (A/A)
  std::vector<ExactChange> changes;           // of an exact case
  int rounds_needed = 0;  // inconclusive: rounds per arm it would take in all; 0 if not known
};

/// Cases that have a threshold of their own.
struct CaseThreshold {
  std::string filter;             // "algo:gloo bytes<=4K", as it was given
  std::vector<FilterTerm> terms;  // of it
  double threshold = 0;
};

/// What decides.
struct GateRule {
  double threshold = 0.05;                // ratios within 1/(1+t) .. 1+t are the same
  std::vector<CaseThreshold> exceptions;  // of those that match a case, the last one holds
  double alpha = 0.01;  // chance of any false alarm in a comparison (Holm over its cases)
  std::vector<VerdictOutcome> fail_on = {VerdictOutcome::wrong, VerdictOutcome::slower,
                                         VerdictOutcome::missing, VerdictOutcome::changed};
  bool fail_on_exact = true;  // any exact difference fails, also a faster one
};

/// A whole comparison, as reports show it.
struct Comparison {
  std::string title;              // "base abc123 against head def456"
  std::vector<Verdict> verdicts;  // in the order of base's cases, then those only in head
  GateRule rule;
  Environment base;
  Environment head;
  std::vector<std::string> mismatches;  // "cpu: 'A' is not 'B'"
  std::vector<std::string> warnings;    // "7 rounds: fewer than 8 can hardly show a change"
  int rounds = 0;                       // rounds per arm, without fresh ones
  int confirm_rounds = 0;               // fresh rounds per arm of a suspect; 0: no such stage
  Seconds elapsed{0};
  std::string stopped_by;  // "SIGINT", "budget"; empty if it ran to its end
};

/// The threshold that holds for a case.
double threshold_of(const GateRule& rule, const Case& point);

/// All verdicts, the worst outcome first and the largest ratio first among equals.
std::vector<const Verdict*> worst_first(const Comparison& comparison);

/// Whether no case has figures of both sides: a file that ends before its first record, a back end
/// that is gone. A gate that passes then says nothing.
bool compares_nothing(const Comparison& comparison);
/// How many verdicts have an outcome.
int count(const Comparison& comparison, VerdictOutcome outcome);
/// Whether a verdict fails the gate.
bool fails(const Verdict& verdict, const GateRule& rule);
/// The verdicts that fail, worst outcome first and within it the largest ratio first.
std::vector<const Verdict*> failures(const Comparison& comparison);
/// The estimate a verdict rests on: the confirmation where there is one; null for an exact case.
const RatioEstimate* deciding(const Verdict& verdict);
/// head / base of a verdict, exact or estimated; nothing where one arm is missing.
std::optional<double> ratio_of(const Verdict& verdict);
/// "5 cases: 2 slower, 1 inconclusive, 2 same".
std::string headline(const Comparison& comparison);
/// "threshold 5 %, family alpha 0.01 (Holm), 20 rounds, A/A +0.2 % [-1.1, +1.6] %".
std::string method_line(const Comparison& comparison);
/// The worst A/A estimate of a comparison: the one furthest from 1; null if none was made.
const RatioEstimate* worst_noise(const Comparison& comparison);
/// "+20.2 %".
std::string percent_text(double ratio);
/// "[+15.8, +24.9]", in percent.
std::string percent_interval(const RatioEstimate& estimate);

}  // namespace collbench
