#include "heuristics/exports/export_rules.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/suggest.h"
#include "heuristics/exports/nccl_plugin/tuner_rules.h"
#include "heuristics/nccl/nccl_model.h"

namespace collbench {
namespace {

struct ExportedName {
  std::string_view ours;
  std::string_view theirs;
};

// Radix 2 is what UCC's and Intel's k-nomial exchanges are for two partners.
constexpr std::array<ExportedName, 4> ucc_words{{{"recursive-doubling", "knomial"},
                                                 {"halving-doubling", "sra_knomial"},
                                                 {"double-tree", "dbt"},
                                                 {"ring", "ring"}}};
// Source: I_MPI_ADJUST_ALLREDUCE in Intel's reference manual, as listed in SimGrid 3.32,
// src/smpi/colls/smpi_intel_mpi_selector.cpp.
constexpr std::array<ExportedName, 4> intel_words{
    {{"recursive-doubling", "1"}, {"halving-doubling", "2"}, {"tree", "3"}, {"ring", "8"}}};
constexpr std::array<ExportedName, 7> nccl_words{{{"ring", "ring"},
                                                  {"tf-ring", "ring"},
                                                  {"double-tree", "tree"},
                                                  {"nvls", "nvls"},
                                                  {"nvls-tree", "nvls_tree"},
                                                  {"collnet-direct", "collnet_direct"},
                                                  {"collnet-chain", "collnet_chain"}}};

[[noreturn]] void refuse(const ScaleRules& scale, const SizeRule& rule, std::string_view form,
                         std::string_view why) {
  throw InvalidArgument(fmt::format("{}: cannot say '{}' ({} workers, from {} bytes): {}", form,
                                    rule.algorithm, scale.workers, rule.from.count, why));
}

std::optional<std::string_view> word_for(std::span<const ExportedName> words,
                                         const SizeRule& rule) {
  const AlgorithmSpec spec = parse_algorithm_spec(rule.algorithm);
  for (const ExportedName& word : words) {
    if (word.ours == spec.name) return word.theirs;
  }
  return {};
}

int nccl_protocol(const ScaleRules& scale, const SizeRule& rule) {
  if (rule.protocol == "LL") return 0;
  if (rule.protocol == "LL128") return 1;
  if (rule.protocol == "Simple" || rule.algorithm.starts_with("nvls")) return 2;
  refuse(scale, rule, "nccl-tuner",
         fmt::format("'{}' is no protocol of NCCL; it has LL, LL128 and Simple", rule.protocol));
}

}  // namespace

std::span<const RuleFormat> rule_formats() {
  static const std::vector<RuleFormat> formats{
      {"nccl-tuner",
       "file of rules for a tuner plugin of NCCL",
       {"ring", "double-tree", "nvls", "nvls-tree"},
       export_nccl_tuner},
      {"ompi",
       "dynamic rules of Open MPI's coll/tuned",
       {"reduce-broadcast", "tree", "recursive-doubling", "ring", "halving-doubling"},
       export_ompi},
      {"ucc",
       "UCC_TL_UCP_TUNE",
       {"recursive-doubling", "halving-doubling", "double-tree", "ring"},
       export_ucc},
      {"intel-mpi",
       "I_MPI_ADJUST_ALLREDUCE",
       {"recursive-doubling", "halving-doubling", "tree", "ring"},
       export_intel_mpi},
      {"json", "every rule as JSON", {}, export_json},
      {"cpp", "C++ header with a lookup function", {}, export_cpp}};
  return formats;
}

const RuleFormat& find_rule_format(std::string_view name) {
  return find_row("export", name, rule_formats());
}

std::string export_nccl_tuner(const SelectionTable& table) {
  std::string text = fmt::format(
      "# all-reduce rules of collbench, policy {}, {}\n"
      "# collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,ranks,pipe_ops,buffers\n",
      table.policy, table.machine);
  for (const ScaleRules& scale : table.scales) {
    check_rules(scale);
    for (const SizeRule& rule : scale.rules) {
      const auto word = word_for(nccl_words, rule);
      if (!word) refuse(scale, rule, "nccl-tuner", "NCCL has no such algorithm");
      TunerRule line;
      line.collective = 4;
      line.min_bytes = static_cast<std::uint64_t>(rule.from.count);
      line.max_bytes = rule.to == no_end ? std::numeric_limits<std::uint64_t>::max()
                                         : static_cast<std::uint64_t>(rule.to.count);
      line.algorithm = static_cast<int>(parse_nccl_algorithm(*word));
      line.protocol = nccl_protocol(scale, rule);
      line.nodes = scale.nodes;
      line.ranks = scale.workers;
      text += to_string(line) + '\n';
    }
  }
  return text;
}

std::string export_ucc(const SelectionTable& table) {
  std::string text;
  for (const ScaleRules& scale : table.scales) {
    check_rules(scale);
    for (const SizeRule& rule : scale.rules) {
      const auto word = word_for(ucc_words, rule);
      if (!word) refuse(scale, rule, "ucc", "UCC's UCP layer has no such all-reduce");
      const std::string end =
          rule.to == no_end ? "inf" : std::to_string(rule.to.count + 1);  // UCC excludes the end
      text += fmt::format("{}allreduce:{}-{}:[{}-{}]:inf:@{}", text.empty() ? "" : "#",
                          rule.from.count, end, scale.workers, scale.workers, *word);
    }
  }
  return text + '\n';
}

std::string export_intel_mpi(const SelectionTable& table) {
  constexpr std::int64_t largest = 2'147'483'647;  // that its conditions can name
  std::string text;
  for (const ScaleRules& scale : table.scales) {
    check_rules(scale);
    for (const SizeRule& rule : scale.rules) {
      const auto word = word_for(intel_words, rule);
      if (!word) refuse(scale, rule, "intel-mpi", "Intel MPI has no such all-reduce");
      if (rule.from.count > largest) continue;
      text += fmt::format("{}{}:{}-{}@{}-{}", text.empty() ? "" : ";", *word, rule.from.count,
                          std::min(rule.to.count, largest), scale.workers, scale.workers);
    }
  }
  return text + '\n';
}

}  // namespace collbench
