// A table of choices in the formats of other libraries, so that they can use them.
//
// Each form knows fewer algorithms than we do. offered_algorithms() says which, so that a policy
// can choose among them; a rule that names another is refused, never replaced. All forms state
// policy, machine and type in a comment where they can hold one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heuristics/policies/selection_table.h"

namespace collbench {

/// A form with its name on the command line.
struct RuleFormat {
  std::string_view name;  // "nccl-tuner"
  std::string_view summary;
  std::vector<std::string> offered;  // algorithms it can name; empty: all
  /// Throws InvalidArgument, naming the rule, for what the format cannot express.
  std::string (*write)(const SelectionTable& table);
};
/// nccl-tuner, ompi, ucc, intel-mpi, json, cpp.
std::span<const RuleFormat> rule_formats();
/// Throws InvalidArgument with a suggestion.
const RuleFormat& find_rule_format(std::string_view name);

/// Lines for NCCL's example tuner plugin and ours (heuristics/exports/nccl_plugin/tuner_rules.h).
/// Channels are -1, NCCL's own number.
std::string export_nccl_tuner(const SelectionTable& table);

/// A file for coll_tuned_dynamic_rules_filename of Open MPI 4.1. Open MPI takes the rules of the
/// largest number of ranks that is not above its own.
std::string export_ompi(const SelectionTable& table);

/// The value of UCC_TL_UCP_TUNE, and of I_MPI_ADJUST_ALLREDUCE.
std::string export_ucc(const SelectionTable& table);
std::string export_intel_mpi(const SelectionTable& table);

/// One JSON object with every rule.
std::string export_json(const SelectionTable& table);
/// A C++17 header with a constexpr table and a function that looks a size up.
std::string export_cpp(const SelectionTable& table);

}  // namespace collbench
