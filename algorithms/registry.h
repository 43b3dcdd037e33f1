// The list of algorithms: one row each, read by the command, the tests and the heuristics.
//
// Every row makes an all-reduce. Where that is one collective after another (a reduce-scatter and
// an all-gather, a reduction to one rank and a broadcast), its halves are those collectives.
//
// A name with options is written NAME[:KEY[=VALUE]]..., as in "ring", "ring:segments=4" or
// "torus:dims=4x4:pincer". Adding an algorithm is its file and one row in registry_rows.cc.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.h"
#include "algorithms/rooted.h"
#include "algorithms/schedule.h"
#include "core/units.h"

namespace collbench {

/// An algorithm's name with its options as written; flags have the value "".
struct AlgorithmSpec {
  std::string name;
  std::map<std::string, std::string> options;
  bool operator==(const AlgorithmSpec&) const = default;
};

/// Reads NAME[:KEY[=VALUE]]... or file:PATH (algorithms/exchange/schedule_file.h), whose option is
/// `path`, or synth:topo=NETWORK; does not look the name up. Throws InvalidArgument.
AlgorithmSpec parse_algorithm_spec(std::string_view text);
std::string to_string(const AlgorithmSpec& spec);

/// One option of an algorithm, for help texts and for refusing unknown ones.
struct AlgorithmOption {
  std::string_view name;           // "segments"
  std::string_view default_value;  // "1", "" for a flag, "auto" if derived from the rank count
  std::string_view help;
};

struct AlgorithmInfo {
  std::string_view name;         // "ring"
  std::string_view summary;      // one line
  std::string_view constraints;  // "any number of ranks"
  std::string_view cost;         // rounds, bytes sent and bytes reduced per rank, as a formula
  std::string_view source;
  /// Throws InvalidArgument, saying what would be possible, for ranks or options that do not fit.
  Schedule (*make)(int ranks, const AlgorithmSpec& spec);
  std::vector<AlgorithmOption> options = {};
  std::string_view inconsistent_option = {};  // flag that gives replica consistency up, or ""
  bool replica_consistent = true;  // all ranks end with bitwise equal sums; proven by the verifier
  /// Whether the halves of what make() gives are a reduce-scatter and an all-gather, where ranks
  /// and options allow it.
  bool has_shares = false;
  /// The reduce and the broadcast; null if there are none. Throws as make().
  RootedPhases (*make_rooted)(int ranks, const AlgorithmSpec& spec, Rank root) = nullptr;

  bool implements(CollectiveKind kind) const;
};

std::span<const AlgorithmInfo> algorithms();
/// Whether `spec`, options included, leaves bitwise equal sums on all ranks.
bool is_replica_consistent(const AlgorithmSpec& spec);
/// Throws InvalidArgument with a suggestion for an unknown name.
const AlgorithmInfo& find_algorithm(std::string_view name);
/// Looks the name up, refuses unknown options (with a suggestion) and makes the schedule.
Schedule make_schedule(const AlgorithmSpec& spec, int ranks);
Schedule make_schedule(std::string_view spec, int ranks);

/// What `spec` stands for with a vector of `bytes`: what is played, priced and simulated. `direct`
/// is one-shot up to 504 bytes, with the same sums bit by bit: one hop with redundant additions
/// takes half the time of two over shared memory (0.4 against 0.8 us at 256 bytes for 2 ranks, even
/// at 1 KiB, on two Sapphire Rapids cores). All others are the same for every size.
Schedule make_schedule(const AlgorithmSpec& spec, int ranks, Bytes bytes);
Schedule make_schedule(std::string_view spec, int ranks, Bytes bytes);

/// The same for any collective. Throws InvalidArgument, naming the algorithms that have it, if the
/// row does not implement it.
Schedule make_schedule(const AlgorithmSpec& spec, int ranks, Bytes bytes,
                       const Collective& collective);

}  // namespace collbench
