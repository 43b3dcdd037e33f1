// Tables of choices for programs: JSON, and a C++ header.
#include <fmt/format.h>

#include "core/json.h"
#include "heuristics/exports/export_rules.h"

namespace collbench {
namespace {

/// A string literal of C++; names hold printable ASCII, anything else becomes '?'.
std::string literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c >= ' ' && c <= '~' ? c : '?';
  }
  return out + '"';
}

constexpr const char* lookup = R"(
/// The choice for `bytes` per worker among so many workers, those of the nearest smaller number of
/// workers that is listed; the first if there is none.
constexpr Choice choose(int workers, std::uint64_t bytes) {
  const Rule* found = &rules[0];
  int best = 0;
  for (const Rule& rule : rules) {
    if (rule.workers <= workers && rule.workers > best) best = rule.workers;
  }
  if (best == 0) best = rules[0].workers;
  for (const Rule& rule : rules) {
    if (rule.workers == best && rule.from <= bytes) found = &rule;
  }
  return found->choice;
}
)";

}  // namespace

std::string export_json(const SelectionTable& table) {
  using nlohmann::ordered_json;
  ordered_json scales = ordered_json::array();
  for (const ScaleRules& scale : table.scales) {
    check_rules(scale);
    ordered_json rules = ordered_json::array();
    for (const SizeRule& rule : scale.rules) {
      ordered_json one{{"from_bytes", rule.from.count}};
      if (rule.to != no_end) one["to_bytes"] = rule.to.count;
      one["algorithm"] = rule.algorithm;
      if (!rule.protocol.empty()) one["protocol"] = rule.protocol;
      if (!rule.library.empty()) one["library"] = rule.library;
      rules.push_back(std::move(one));
    }
    scales.push_back({{"workers", scale.workers},
                      {"nodes", scale.nodes},
                      {"rules", std::move(rules)},
                      {"warnings", scale.warnings}});
  }
  const ordered_json all{
      {"collective", "all-reduce"},         {"policy", table.policy},
      {"machine", table.machine},           {"type", to_string(table.type)},
      {"op", to_string(table.op)},          {"asked_from_bytes", table.first.count},
      {"asked_to_bytes", table.last.count}, {"scales", std::move(scales)}};
  return json_text(all, 2) + '\n';
}

std::string export_cpp(const SelectionTable& table) {
  std::string rules;
  std::size_t count = 0;
  for (const ScaleRules& scale : table.scales) {
    check_rules(scale);
    for (const SizeRule& rule : scale.rules) {
      rules += fmt::format("    {{{}, {}u, {{{}, {}, {}}}}},\n", scale.workers, rule.from.count,
                           literal(rule.algorithm), literal(rule.protocol), literal(rule.library));
      ++count;
    }
  }
  std::string comment = literal(table.machine);
  return fmt::format(
             "// Which all-reduce to use; written by collbench, policy {}, machine {}, {} {}.\n"
             "// Sizes of {} to {} bytes were asked; beyond them the nearest rule holds.\n"
             "#pragma once\n\n#include <cstdint>\n\nnamespace collbench_rules {{\n\n"
             "struct Choice {{\n  const char* algorithm;\n  const char* protocol;  // \"\": none\n"
             "  const char* library;   // \"\": there is only one\n"
             "}};\n\nstruct Rule {{\n  int workers;\n  std::uint64_t from;  // bytes per worker\n"
             "  Choice choice;\n}};\n\ninline constexpr Rule rules[{}] = {{\n{}}};\n",
             table.policy, comment, to_string(table.type), to_string(table.op), table.first.count,
             table.last.count, count, rules) +
         lookup + "\n}  // namespace collbench_rules\n";
}

}  // namespace collbench
