#include "heuristics/exports/export_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/suggest.h"
#include "heuristics/exports/nccl_plugin/tuner_rules.h"
#include "heuristics/exports/ompi_rules.h"
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

/// What a library has for one of our algorithms, in words of the table.
template <std::size_t size>
auto among(const std::array<ExportedName, size>& words) {
  return [&words](const std::string& algorithm) -> std::optional<std::string_view> {
    const std::string name = parse_algorithm_spec(algorithm).name;
    for (const ExportedName& word : words) {
      if (word.ours == name) return word.theirs;
    }
    return {};
  };
}

std::optional<NcclAlgorithm> nccl_kernel(const std::string& algorithm) {
  const std::string name = parse_algorithm_spec(algorithm).name;
  return nccl_algorithm(name == "tf-ring" ? "ring" : name);
}

[[noreturn]] void refuse(const ScaleRules& scale, const SizeRule& rule, std::string_view why) {
  throw InvalidArgument(fmt::format("cannot say '{}' ({} workers, from {} bytes): {}",
                                    rule.algorithm, scale.workers, rule.from.count, why));
}

/// Calls `take` with every rule of a table without gaps, as far as it is of sizes that were asked,
/// and with what `find` has for its algorithm.
template <typename Find, typename Take>
void for_each_rule(const SelectionTable& table, Find find, std::string_view lacking, Take take) {
  for (const ScaleRules& scale : table.scales) {
    check_rules(scale);
    for (SizeRule rule : scale.rules) {
      rule.from = std::max(rule.from, table.first);
      rule.to = std::min(rule.to, table.last);
      if (rule.to < rule.from) continue;
      if (rule.library != table.scales.front().rules.front().library) {
        refuse(scale, rule, "it is of " + rule.library + ", and the first rule of another library");
      }
      const auto found = find(rule.algorithm);
      if (!found) refuse(scale, rule, lacking);
      take(scale, rule, *found);
    }
  }
}

std::string lacking_protocol(const SelectionTable& table, const SizeRule& rule) {
  constexpr std::string_view known = "LL, LL128 and Simple";
  if (!rule.protocol.empty()) {
    return fmt::format("'{}' is not a protocol of NCCL; it has {}", rule.protocol, known);
  }
  return fmt::format(
      "a rule needs one of NCCL's protocols ({}), and policy {} names none on {}; name a machine "
      "of GPUs, such as dgx-h100, with policy nccl or model, or export for another library",
      known, table.policy, table.machine);
}

std::string export_nccl_tuner(const SelectionTable& table) {
  std::string text = fmt::format(
      "# all-reduce rules of collbench, policy {}, {}\n"
      "# collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,ranks,pipe_ops,buffers\n",
      table.policy, table.machine);
  for_each_rule(table, nccl_kernel, "NCCL has no such algorithm",
                [&](const ScaleRules& scale, const SizeRule& rule, NcclAlgorithm kernel) {
                  if (kernel == NcclAlgorithm::all_pairs) {
                    text += fmt::format(
                        "# from {} bytes, {} ranks: no rule; RCCL takes all-pairs by itself\n",
                        rule.from.count, scale.workers);
                    return;
                  }
                  const bool nvls = rule.algorithm.starts_with("nvls");
                  const auto protocol = nccl_protocol(nvls ? "Simple" : rule.protocol);
                  if (!protocol) refuse(scale, rule, lacking_protocol(table, rule));
                  TunerRule line;
                  line.collective = 4;
                  line.min_bytes = static_cast<std::uint64_t>(rule.from.count);
                  line.max_bytes = rule.to == no_end ? std::numeric_limits<std::uint64_t>::max()
                                                     : static_cast<std::uint64_t>(rule.to.count);
                  line.algorithm = static_cast<int>(kernel);
                  line.protocol = static_cast<int>(*protocol);
                  line.nodes = scale.nodes;
                  line.ranks = scale.workers;
                  text += to_string(line) + '\n';
                });
  return text;
}

std::string ompi_line(Bytes from, OmpiRule rule) {
  return fmt::format("{} {} 0 {} # {}\n", from.count, rule.number, rule.segment,
                     rule.number == 0 ? "as the library chooses"
                                      : to_string(static_cast<OmpiAlgorithm>(rule.number)));
}

// Numbers separated by blanks, '#' to the end of a line is a comment. Collectives, then for each
// its number (2 is all-reduce), how many numbers of ranks, and for each of those the ranks, how
// many sizes, and for each size: bytes from which on, algorithm, topology or fan-out, segment size.
std::string export_ompi(const SelectionTable& table) {
  std::string text = fmt::format(
      "# all-reduce rules of collbench for Open MPI 4.1, policy {}, {}\n"
      "# mpirun --mca coll_tuned_use_dynamic_rules 1 "
      "--mca coll_tuned_dynamic_rules_filename THIS_FILE\n"
      "1 # collective\n2 # all-reduce\n{} # numbers of ranks\n",
      table.policy, table.machine, table.scales.size());
  std::map<int, std::vector<std::string>> sizes;  // by ranks
  const auto take = [&](const ScaleRules& scale, const SizeRule& rule, OmpiRule theirs) {
    require(sizes.empty() || scale.workers >= sizes.rbegin()->first,
            "ompi: numbers of workers must ascend, and be given once");
    std::vector<std::string>& lines = sizes[scale.workers];
    if (lines.empty() && rule.from.count > 0) lines.push_back(ompi_line({0}, {}));
    lines.push_back(ompi_line(rule.from, theirs));
  };
  for_each_rule(table, ompi_rule_of, "Open MPI has no all-reduce like it", take);
  require(sizes.size() == table.scales.size(),
          "ompi: numbers of workers must ascend, and be given once");
  for (auto& [ranks, lines] : sizes) {
    if (table.last != no_end) lines.push_back(ompi_line({table.last.count + 1}, {}));
    text += fmt::format("{} # ranks\n{} # sizes\n{}", ranks, lines.size(), fmt::join(lines, ""));
  }
  return text;
}

std::string export_ucc(const SelectionTable& table) {
  std::vector<std::string> parts;
  for_each_rule(
      table, among(ucc_words), "UCC's UCP layer has no such all-reduce",
      [&](const ScaleRules& scale, const SizeRule& rule, std::string_view word) {
        // UCC excludes the end.
        parts.push_back(fmt::format("allreduce:{}-{}:[{}-{}]:inf:@{}", rule.from.count,
                                    rule.to == no_end ? "inf" : std::to_string(rule.to.count + 1),
                                    scale.workers, scale.workers, word));
      });
  return fmt::format("{}\n", fmt::join(parts, "#"));
}

std::string export_intel_mpi(const SelectionTable& table) {
  constexpr std::int64_t largest = 2'147'483'647;  // that its conditions can name
  std::vector<std::string> parts;
  for_each_rule(table, among(intel_words), "Intel MPI has no such all-reduce",
                [&](const ScaleRules& scale, const SizeRule& rule, std::string_view word) {
                  if (rule.from.count > largest) return;
                  parts.push_back(fmt::format("{}:{}-{}@{}-{}", word, rule.from.count,
                                              std::min(rule.to.count, largest), scale.workers,
                                              scale.workers));
                });
  return fmt::format("{}\n", fmt::join(parts, ";"));
}

}  // namespace

std::span<const RuleFormat> rule_formats() {
  static const std::vector<RuleFormat> formats{
      {"nccl-tuner",
       "file of rules for a tuner plugin of NCCL",
       {"ring", "double-tree", "nvls", "nvls-tree", "all-pairs"},
       export_nccl_tuner},
      {"ompi",
       "dynamic rules of Open MPI's coll/tuned",
       {"reduce-broadcast", "tree", "nonoverlapping", "recursive-doubling", "ring",
        "segmented-ring", "halving-doubling"},
       export_ompi},
      {"ucc",
       "UCC_TL_UCP_TUNE",
       {"recursive-doubling", "halving-doubling", "double-tree", "ring"},
       export_ucc,
       {{"double-tree", "UCC 1.4 or later; earlier ones report an error and choose by themselves"},
        {"ring",
         "UCC 1.8 or later, and counts that divide by the ranks; earlier ones report an error and "
         "choose by themselves"}}},
      {"intel-mpi",
       "I_MPI_ADJUST_ALLREDUCE",
       {"recursive-doubling", "halving-doubling", "tree", "ring"},
       export_intel_mpi},
      {"json", "every rule as JSON", {}, export_json},
      {"cpp", "C++ header with a lookup function", {}, export_cpp}};
  return formats;
}

ScaleRules rules_of_library(const RuleFormat& format, const Policy& policy, Question question,
                            Bytes first, Bytes last) {
  const bool is_nccl = format.name == "nccl-tuner";
  const bool is_other = !is_nccl && !format.offered.empty();
  if (question.available.empty()) question.available = format.offered;
  std::optional<Machine> plain;
  if (is_other && question.machine != nullptr) {
    plain = *question.machine;
    plain->costs.protocols.clear();
    question.machine = &*plain;
  }
  const bool by_model = question.measured.empty() && question.fitted == nullptr &&
                        (policy.name == "auto" || policy.name == "model");
  if (!is_nccl || !by_model || !inside_library(question)) {
    return size_rules(policy, question, first, last);
  }
  ScaleRules scale = size_rules(fastest_of_nccl(), question, first, last);
  scale.warnings.emplace_back(
      "these are the fastest of what NCCL has, by the model of its kernels; policy nccl has what "
      "its tuner takes by itself");
  return scale;
}

std::vector<std::string> needs_of(const RuleFormat& format, const SelectionTable& table) {
  std::vector<std::string> sentences;
  for (const auto& need : format.needs) {
    const auto is_of_it = [&](const SizeRule& rule) {
      return parse_algorithm_spec(rule.algorithm).name == need.first;
    };
    const bool is_there = std::ranges::any_of(table.scales, [&](const ScaleRules& scale) {
      return std::ranges::any_of(scale.rules, is_of_it);
    });
    if (is_there) {
      sentences.push_back(fmt::format("rules of {} need {}", need.first, need.second));
    }
  }
  return sentences;
}

const RuleFormat& find_rule_format(std::string_view name) {
  return find_row("export", name, rule_formats());
}

}  // namespace collbench
