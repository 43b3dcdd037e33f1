// A table of choices in the formats of other libraries, so that they can use them.
//
// Each form knows fewer algorithms than we do. RuleFormat::offered says which, so that a policy
// can choose among them; a rule that names another is refused, never replaced. RCCL's all-pairs
// kernels have no name in NCCL's files: their sizes are left out, and the library takes them by
// itself. Sizes outside of those asked get no rule either, so that the library chooses; JSON and
// the header, which are not for a library, say which were asked. All forms state policy, machine
// and type in a comment where they can hold one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  /// Algorithms that not every version of the library has, and what it must be for them.
  std::vector<std::pair<std::string, std::string>> needs = {};
};
/// What `policy` would have a library play for the question's workers, of what the form can name
/// unless the question lists others. Where nothing was measured, rules for NCCL are the fastest
/// that it has by the model of its kernels, which our schedules with its protocols are not; others
/// are for libraries that send messages, without NCCL's protocols. Throws as size_rules().
ScaleRules rules_of_library(const RuleFormat& format, const Policy& policy, Question question,
                            Bytes first, Bytes last);
/// What the library must be for these rules, one sentence for each algorithm that not all versions
/// have.
std::vector<std::string> needs_of(const RuleFormat& format, const SelectionTable& table);
/// nccl-tuner, ompi, ucc, intel-mpi, json, cpp.
std::span<const RuleFormat> rule_formats();
/// Throws InvalidArgument with a suggestion.
const RuleFormat& find_rule_format(std::string_view name);

/// One JSON object with every rule.
std::string export_json(const SelectionTable& table);
/// A C++17 header with a constexpr table and a function that looks a size up.
std::string export_cpp(const SelectionTable& table);

}  // namespace collbench
