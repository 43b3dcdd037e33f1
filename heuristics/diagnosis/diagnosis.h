// Whether measured times of an all-reduce are what the hardware should reach, and if not, why.
//
// Expected is what the library would take on the machine (heuristics/nccl/library_times.h), with an
// 80 % interval of the errors that the model has on healthy systems (model_error.h). Every
// suspicion (suspicions.h) is timed by the same model; how well its curve fits the table, all sizes
// at once, weighs it:
//
//   P(suspicion | table)  ~  weight * density(ln(measured / time of the suspicion))
//
// The table is unhealthy where the faults together are more likely than not, and one of them shows.
// One of them is unexplained(): a system that is slower in a way that none of the others foretells.
// A cause is said as a fact only where all others are far less likely (told_from). Else those that
// fit are named together, and `undecided` says why the table cannot tell, and what would. Those
// that can only take a share of the network's rate are ranked together (weighing.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heuristics/diagnosis/causes.h"
#include "heuristics/diagnosis/floors.h"
#include "heuristics/diagnosis/model_error.h"
#include "heuristics/diagnosis/suspicions.h"
#include "heuristics/estimate.h"
#include "heuristics/measurement.h"
#include "topologies/machine.h"

namespace collbench {

/// A cause less than so many times as likely as another one is not told from it. From there on
/// evidence counts as strong (Kass and Raftery, Bayes Factors, 1995).
constexpr double told_from = 20;

/// One library at one scale, and what is expected of it.
struct DiagnosisCase {
  std::string table;                  // its name
  std::string machine;                // as for --topo
  std::string hardware;               // as the table says; may be empty
  std::vector<MeasuredTime> rows;     // of one method but for the place; any order
  std::vector<Suspicion> suspicions;  // for sizes_of(rows), first as it should be
  std::optional<ModelError>
      error{};                    // of what is expected, where it is not that of a library model
  Bandwidth most_busbw{0};        // what the links carry where no switch adds; 0: not known
  bool is_unlike_fitted = false;  // GPUs or network of which the library's model was not fitted
  std::vector<std::string> or_machines{};  // with such GPUs, too; empty if the machine was named
  std::string or_unknown{};                // why it may be none of these; empty if it was named
};
/// The sizes of right rows, ascending.
std::vector<Bytes> sizes_of(std::span<const MeasuredTime> rows);

struct JudgedSize {
  Bytes bytes;
  Seconds measured{0};  // the faster of both places; where iterations are told, their least
  Seconds mean{0};      // of all iterations
  Estimate expected;
  std::string played;   // "ring, LL"; empty: not known
  std::string verdict;  // "as expected", "slow", "fast"
};

struct Diagnosis {
  std::string table;
  std::string machine;
  std::string method;  // "nccl auto"
  Scale scale;
  std::vector<JudgedSize> sizes;
  int wrong_rows = 0;              // with wrong results, which do not count
  bool healthy = true;             // or not told
  double sure = 0;                 // probability of that verdict; of nothing where it is not told
  std::string untold;              // why the verdict cannot be told; empty if it is
  std::vector<FoundCause> causes;  // most likely first; if healthy, what is no fault
  /// Names of the causes of which one is at fault, likeliest first: several where the table cannot
  /// tell them apart. A second fault beside a late rank is not among them. Empty if healthy.
  std::vector<std::string> cause_group;
  std::string undecided;  // why the table cannot tell; empty if it does
  Bandwidth busbw{0};     // median of the three largest sizes, and what is expected
  Bandwidth expected_busbw{0};
  std::vector<VendorFloor> floors;
  std::vector<std::string> notes;
};

/// "healthy", "unhealthy", "undecided".
const char* verdict_of(const Diagnosis& found);

/// `error`, wider where the case is unlike what was fitted, counts where the case has none. Throws
/// InvalidArgument if no row is right or the suspicions do not fit the sizes. O(suspicions *
/// sizes^3).
Diagnosis diagnose(const DiagnosisCase& given, const ModelError& error = {});

/// 2 (n-1)/n * bytes / time.
Bandwidth bus_bandwidth(Bytes bytes, Seconds time, int ranks);
/// The most that it can be on the links of a machine: the widest way out of a host, as its vendor
/// states it, since each of n ranks sends 2 (n-1)/n of the vector in the mean. 0: switches may add,
/// or there are more ranks than hosts.
Bandwidth most_bus_bandwidth(const Machine& machine, int ranks);
/// Does not tell the verdict where the largest sizes are faster than `most`: the table is not of
/// that machine.
void doubt_beyond_links(Diagnosis& found, Bandwidth most);

}  // namespace collbench
