// Measured tables with known health, and faults put into them, for judging diagnoses.
//
// A fault is made of a real healthy table: each time is multiplied by what the model says the fault
// does at that size, with a strength drawn from the range that reports of such faults give
// (causes.cc names them), and by noise. Draws are of a seed. Written apart from
// heuristics/diagnosis/suspicions.cc, whose strengths are a coarse grid.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/random.h"
#include "heuristics/diagnosis/diagnosis.h"
#include "heuristics/nccl/library_times.h"

namespace collbench {

/// One case of a table.
struct KnownTable {
  std::string name;
  std::string machine;  // as for --topo
  std::string system;   // tables of one system are left out together
  bool healthy = true;
  bool sample = false;  // made up: counts neither as healthy nor as a base, but for NVLS
  MeasuredTable table;  // rows of one scale
};

/// Reads a list: lines "FILE RANKS MACHINE SYSTEM healthy|unhealthy|sample [ALGORITHM]", files
/// beside it or absolute; # begins a comment.
std::vector<KnownTable> read_known_tables(const std::string& list);

/// The case of a known table. Throws as diagnosis_cases().
DiagnosisCase case_of(const KnownTable& known);

struct TableFault {
  std::string cause;
  std::string words;
  KnownTable table;
  int shown_at = 0;  // sizes at which it costs 20 % or more
};
/// Shown at so few sizes a fault is mild: single rows of healthy tables lie that far off, too.
constexpr int mild_at = 2;

/// Names of the faults that are drawn from.
const std::vector<std::string>& injected_causes();

/// A table drawn from `healthy` with that fault; none if no table of them can have it, or after
/// some draws none shows it by 20 % at any size.
std::optional<TableFault> inject(const std::string& cause, const std::vector<KnownTable>& healthy,
                                 RandomEngine& random);

/// What faults of `cause` do to the table: `draws` draws as inject() makes them but without noise,
/// those left out that the machine cannot have or that show nowhere. Each is ln(time with the fault
/// / time without) of every row.
std::vector<std::vector<double>> drawn_effects(const std::string& cause, const KnownTable& table,
                                               int draws, RandomEngine& random);

}  // namespace collbench
