// Comparing the records of two versions: case by case, timed ones by their rounds, exact ones for
// equality.
//
// Every record of a case is one round, measured by a fresh process: `collbench ab` makes them, and
// so does `run --run-cycles`. Simulated cases have one record, whose exact figures must be equal.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/records/record_json.h"
#include "bench/verdicts/verdict.h"
#include "bench/verdicts/verdict_rules.h"

namespace collbench {

/// to_json() of a case by which rounds belong together: how many calls a sample is of is no matter,
/// for times are of one.
std::string case_key(Case point);

/// The records of one arm by case. Thread safety: const members may run on any number of threads.
class ArmRecords {
 public:
  void add(const RecordFile& file);
  void add(const std::vector<RecordFile>& files) {
    for (const RecordFile& file : files) add(file);
  }
  /// case_key() of all cases, in the order of their first records.
  const std::vector<std::string>& keys() const { return keys_; }
  /// The rounds of a case, in the order taken; none for a case that is not there.
  const std::vector<Record>& of(const std::string& key) const;

 private:
  std::vector<std::string> keys_;
  std::map<std::string, std::vector<Record>> records_;
};

/// All that was measured. `again` is base a second time in the same rounds (A/A), `fresh_` what
/// confirms suspects; each may be empty.
struct Arms {
  ArmRecords base;
  ArmRecords head;
  ArmRecords again;
  ArmRecords fresh_base;
  ArmRecords fresh_head;
};

/// The lower quartile of each round that was timed: what rounds are compared by.
std::vector<double> lower_quartiles(const std::vector<Record>& rounds);

/// Sets typical_ns of both arms from the rounds that decide: medians, moved in equal proportion so
/// that their quotient is the ratio of the verdict. Two medians alone need not agree with a ratio
/// that rests on pairs of rounds, and a row must not contradict itself.
void set_levels(Verdict& verdict);

/// A verdict per case with all estimates. What needs no statistics has its outcome; timed cases
/// with rounds on both sides are `inconclusive` until a rule of bench/verdicts/verdict_rules.h
/// decides. Without an order these have no estimates: a caller that has some sets them.
std::vector<Verdict> pair_cases(const Arms& arms, const GateRule& rule, std::optional<Order> order);

/// Whether two exact figures differ by more than sums in another order do.
bool exact_figures_differ(double one, double other);

/// What differs between the machines of two environments, so that their times may not be compared:
/// "cpu: 'A' is not 'B'". Empty if nothing does.
std::vector<std::string> machine_mismatches(const Environment& base, const Environment& head);

/// The same of records of several machines that were merged into one file: "host: 'A; B'".
std::vector<std::string> machines_merged(const Environment& environment);

/// How many files of a side were to be rounds, and are no tables: what a crash leaves.
struct LostFiles {
  std::size_t base = 0;
  std::size_t head = 0;
};

/// Compares two files of sound records. Timed verdicts across machines are `env_mismatch` unless
/// `any_machine`. Where head has under half of base's rounds of a case, a warning says so, and it
/// is `missing` if head has more of others, or lost more files than base.
Comparison compare_files(const RecordFile& base, const RecordFile& head, const GateRule& rule,
                         bool any_machine, const LostFiles& lost = {});

/// Refuses records that no run writes: a case twice in one cycle, the same record twice, samples
/// below zero, exact times below zero. Throws InvalidArgument naming the file and the case.
void require_sound(const RecordFile& file, const std::string& name);

}  // namespace collbench
