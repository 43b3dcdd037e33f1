// A policy is a function from a question (a collective and its circumstances) to an algorithm,
// with the expected time of every candidate and the reason as text.
//
// Libraries' own rules are policies as well as ours, so that regret (heuristics/policies/regret.h)
// can judge them on the same measurements. A policy names algorithms as the registry does ("ring",
// "double-tree", with options where it sets some) or, of a library's own kernels, as that library
// does ("nvls"). Where `available` lists other names for the same algorithm, the one listed is
// taken: known_as() has the table. A rule whose choice is not available says what it wanted and
// takes the nearest that is.
//
// An answer says how far it rests on data: beyond what was measured or published it has warnings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/data_type.h"
#include "core/units.h"
#include "heuristics/measurement.h"
#include "heuristics/policies/choose.h"
#include "topologies/machine.h"

namespace collbench {

struct NcclInputs;  // heuristics/nccl/nccl_model.h
class Calibration;  // heuristics/calibration/calibration.h

/// What the workers compute on. `virtual_gpus` are several logical devices on one GPU.
enum class Devices : std::uint8_t { cpus, gpus, virtual_gpus, mixed };

struct Question {
  Bytes bytes;  // of the vector of one worker
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  CollectiveKind collective = CollectiveKind::all_reduce;
  std::vector<std::int64_t> counts;  // elements of each worker's share; empty: equal shares
  int workers = 2;
  int nodes = 1;      // that they are spread over evenly
  GridShape shape{};  // of the nodes; zeros: not known
  Devices devices = Devices::cpus;
  const Machine* machine = nullptr;        // the network; null: unknown
  const Calibration* fitted = nullptr;     // of the machine; null: nothing was fitted
  const NcclInputs* nccl = nullptr;        // NCCL's inputs; null: derived from the machine
  std::string backend;                     // "shm", "grpc": on this host; empty: none in particular
  ChoiceKind kind = ChoiceKind::messages;  // of that back end
  int cores = 0;                           // that the workers share; 0: one each, or not known
  std::vector<std::string> available;      // what may be chosen; empty: all that fits
  bool replicas_may_differ = false;        // in rounding; otherwise such algorithms are refused
  std::span<const MeasuredTime> measured;  // of this machine; empty: nothing measured
  /// Looked at for a candidate, unless `available` names it: 2 N (N-1) messages of 1,024 workers
  /// take some tenths of a second, those of 8,192 the better part of a minute and gigabytes.
  double most_messages = 4e6;
};

struct Candidate {
  std::string algorithm;
  std::string protocol;         // of a ladder, "LL"; empty: none
  std::optional<Seconds> time;  // expected; none: the policy is a rule that knows no times
  std::string terms;            // what the time is the sum of
  std::string refused;          // why it cannot be taken; empty: it can
  std::string library = {};     // whose it is, where the candidates are of several; else empty
};
/// "nccl ring/LL", or "ring" without a library and a protocol.
std::string name_of(const Candidate& candidate);

struct Answer {
  std::string algorithm;
  std::string protocol;
  std::string reason;
  std::vector<Candidate> candidates;  // fastest first, those without times next, refused ones last
  std::vector<std::string> warnings;  // what the answer assumes or extrapolates
  std::string library = {};           // of the choice, as a candidate has it

  /// Makes the candidate the choice.
  void take(const Candidate& candidate);
};

struct Policy {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  /// Throws InvalidArgument, saying what is missing, for a question that it cannot answer. Thread
  /// safety: may run on any number of threads.
  Answer (*ask)(const Question& question);
  bool any_collective = false;  // otherwise a rule for all-reduces
};

/// tf2, tf2-mirrored, tf1-dgx1, nccl, ompi, model, measured, oracle, auto.
std::span<const Policy> policies();
/// Throws InvalidArgument with a suggestion for an unknown name.
const Policy& find_policy(std::string_view name);

/// Asks after checking what every policy requires: workers, nodes that divide them, a size of at
/// least 0. One worker needs no all-reduce, which is the answer then.
Answer ask(const Policy& policy, const Question& question);

/// What the calibration of the machine says; nothing without one, or if it predicts no method
/// there, of which `why_not` gets the reason.
std::optional<Answer> ask_fitted(const Question& question, std::string& why_not);

/// The system with the most of the counted points; a warning names it if there are several. `of`
/// says what is of them: "the machine was fitted to". Requires at least one.
std::string fullest_system(const std::map<std::string, std::size_t>& points, std::string_view of,
                           std::vector<std::string>& warnings);

/// The name in `available` for `algorithm`: itself, or another name for the same ("tree" of NCCL
/// is "double-tree" here); itself if nothing is listed, nothing if none of them is.
std::optional<std::string> known_as(std::string_view algorithm,
                                    std::span<const std::string> available);
/// How often each name was measured: at the scale asked for, and at all.
using NameCounts = std::map<std::string, std::pair<std::size_t, std::size_t>>;
/// Which measured names go by which of `available`: by itself, or as another name for the same, of
/// several that with the most points.
std::map<std::string, std::string> listed_names(const NameCounts& measured,
                                                std::span<const std::string> available);
/// Of libraries with the names measured of each, those of which the most names are available, at
/// the scale asked for and at all: the choice is among what one library has. All if nothing is
/// listed.
/// A warning names others that have some.
std::set<std::string> libraries_listed(const std::map<std::string, NameCounts>& measured,
                                       std::span<const std::string> available,
                                       std::vector<std::string>& warnings);
/// Why `algorithm` may not be taken: not available, replicas would differ, or, unless it
/// `was_measured` and so is some library's, ours has no such collective; empty if it may.
std::string refusal(const Question& question, std::string_view algorithm,
                    bool was_measured = false);

/// Takes the first of `wanted` that is available; adds a warning if it is not the first. Throws
/// InvalidArgument, naming them, if none is.
Answer take_first(const Question& question, std::span<const std::string_view> wanted,
                  std::string reason);

/// Warns where shares of chosen sizes are asked about: the times, or the rule, are of equal ones.
void warn_of_counts(const Question& question, Answer& answer);

/// Sorts the candidates and takes the fastest. Throws InvalidArgument if all are refused.
Answer take_fastest(std::vector<Candidate> candidates);

/// What NCCL or RCCL would play, and the fastest of all that it has.
struct InsideLibrary {
  Candidate chosen;
  Candidate fastest;
};
/// None unless the machine says what GPUs it has ([gpus]) or NCCL's inputs are given, the ranks are
/// spread over its nodes evenly, and an all-reduce is asked about.
std::optional<InsideLibrary> inside_library(const Question& question);

// The rows of the table, one file for each kind: heuristics/policies/tensorflow.cc, ompi_rules.cc
// and so on.
Answer ask_tf2(const Question& question);
Answer ask_tf2_mirrored(const Question& question);
Answer ask_tf1_dgx1(const Question& question);
Answer ask_nccl(const Question& question);
/// The fastest of what NCCL has, whatever its tuner takes: what rules for it should say.
const Policy& fastest_of_nccl();
Answer ask_ompi(const Question& question);
Answer ask_model(const Question& question);
Answer ask_measured(const Question& question);
/// Whether the row is one of the question's, if it asked for so many workers, and of the same shape
/// and cores as far as both say.
bool is_measured_at(const MeasuredTime& row, const Question& question, int workers);
/// Where the workers are: "2 cores", "4x4x4 nodes", or "64 nodes" where the shape is not known.
std::string place_text(const Question& question);
Answer ask_oracle(const Question& question);
Answer ask_auto(const Question& question);

}  // namespace collbench
