// `collbench select`: which all-reduce to use, what each would take, and why.
#include <algorithm>
#include <array>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/select_options.h"
#include "core/error.h"
#include "core/require_known.h"
#include "heuristics/exports/export_rules.h"
#include "heuristics/policies/selection_table.h"

namespace collbench {
namespace {

using nlohmann::json;

constexpr std::string_view library_policy = "nccl";  // names the library's choice by itself

/// "166 KiB": three digits, as exact as crossovers are.
std::string rounded(Bytes size) {
  constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(size.count);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.3g} {}", value, units[unit]);
}

std::string name_of(const std::string& algorithm, const std::string& protocol) {
  return protocol.empty() ? algorithm : algorithm + ", " + protocol;
}

std::string behind(const Candidate& candidate, const Answer& answer) {
  if (!candidate.time || !answer.candidates.front().time) return "";
  const double ratio = candidate.time->count() / answer.candidates.front().time->count();
  return ratio < 1.0005 ? ""
         : ratio < 3    ? fmt::format("+{:.1f} %", 100 * (ratio - 1))
                        : fmt::format("x {:.3g}", ratio);
}

void print_candidates(const Answer& answer, bool explain) {
  std::size_t width = std::string_view("candidate").size();
  for (const Candidate& c : answer.candidates) {
    width = std::max(width, name_of(c.algorithm, c.protocol).size());
  }
  std::cout << fmt::format("\n  {:<{}}  {:>9}  {:>8}\n", "candidate", width, "expected", "behind");
  for (const Candidate& c : answer.candidates) {
    std::string line = fmt::format("  {:<{}}  ", name_of(c.algorithm, c.protocol), width);
    if (!c.refused.empty()) {
      line += "refused: " + c.refused;
    } else {
      line +=
          fmt::format("{:>9}  {:>8}", c.time ? to_string(*c.time) : "unknown", behind(c, answer));
      if (explain && !c.terms.empty()) line += "  " + c.terms;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << '\n';
  }
}

void print_answer(const Policy& policy, const Question& question, const std::string& network,
                  bool explain) {
  const Answer answer = ask(policy, question);
  std::cout << fmt::format("{}: {} for {} {} {}, {} workers on {}\n", policy.name,
                           name_of(answer.algorithm, answer.protocol), to_string(question.bytes),
                           to_string(question.type), to_string(question.op), question.workers,
                           network);
  std::cout << "because " << answer.reason << '\n';
  for (const std::string& warning : answer.warnings) std::cout << "note: " << warning << '\n';
  if (!answer.candidates.empty()) print_candidates(answer, explain);
  if (policy.name == library_policy) return;
  if (const std::optional<InsideLibrary> inside = inside_library(question)) {
    const auto described = [](const Candidate& c) {
      return fmt::format("{}, {}", name_of(c.algorithm, c.protocol), to_string(*c.time));
    };
    std::cout << fmt::format("inside NCCL: its tuner takes {}; fastest of all it has: {}\n",
                             described(inside->chosen), described(inside->fastest));
  }
}

json json_of(const Policy& policy, const Question& question, const std::string& network) {
  const Answer answer = ask(policy, question);
  json candidates = json::array();
  for (const Candidate& c : answer.candidates) {
    json one{{"algorithm", c.algorithm}};
    if (!c.protocol.empty()) one["protocol"] = c.protocol;
    if (c.time) one["expected_us"] = c.time->count() * 1e6;
    if (!c.terms.empty()) one["terms"] = c.terms;
    if (!c.refused.empty()) one["refused"] = c.refused;
    candidates.push_back(std::move(one));
  }
  json out{{"policy", policy.name},         {"network", network},
           {"workers", question.workers},   {"nodes", question.nodes},
           {"bytes", question.bytes.count}, {"type", to_string(question.type)},
           {"op", to_string(question.op)},  {"algorithm", answer.algorithm},
           {"reason", answer.reason},       {"candidates", std::move(candidates)},
           {"warnings", answer.warnings}};
  if (!answer.protocol.empty()) out["protocol"] = answer.protocol;
  if (policy.name == library_policy) return out;
  if (const std::optional<InsideLibrary> inside = inside_library(question)) {
    const auto described = [](const Candidate& c) {
      return json{{"algorithm", c.algorithm},
                  {"protocol", c.protocol},
                  {"expected_us", c.time->count() * 1e6}};
    };
    out["inside_nccl"] = {{"tuner", described(inside->chosen)},
                          {"fastest", described(inside->fastest)}};
  }
  return out;
}

void print_rules(const Policy& policy, const ScaleRules& scale, const std::string& network) {
  std::cout << fmt::format("{}, {} workers on {}\n", policy.name, scale.workers, network);
  for (const SizeRule& rule : scale.rules) {
    std::cout << fmt::format("  {:>14}  {}\n",
                             rule.from.count == 0 ? "from 0" : "from " + rounded(rule.from),
                             name_of(rule.algorithm, rule.protocol));
  }
  for (const std::string& warning : scale.warnings) std::cout << "  note: " << warning << '\n';
}

void print_json(const Inquiry& inquiry) {
  json all = json::array();
  for (const Policy* policy : inquiry.policies) {
    for (const Question& question : inquiry.questions) {
      all.push_back(json_of(*policy, question, inquiry.network));
    }
  }
  std::cout << (all.size() == 1 ? all.front() : all).dump(2) << '\n';
}

/// Of several policies, those that cannot answer say why; one alone fails.
template <typename Show>
void for_each_answer(const Inquiry& inquiry, const Show& show) {
  for (const Policy* policy : inquiry.policies) {
    for (const Question& question : inquiry.questions) {
      try {
        show(*policy, question);
      } catch (const InvalidArgument& e) {
        if (inquiry.policies.size() == 1) throw;
        std::cout << fmt::format("{}: no answer: {}\n", policy->name, e.what());
      }
    }
  }
}

void print_tables(const Settings& settings, const Inquiry& inquiry) {
  const Bytes first = settings.size("minbytes");
  const Bytes last = settings.size("maxbytes");
  for_each_answer(inquiry, [&](const Policy& policy, const Question& question) {
    print_rules(policy, size_rules(policy, question, first, last), inquiry.network);
  });
}

/// The table of one policy over all numbers of workers in the form of another library.
void write_export(const Settings& settings, const Inquiry& inquiry) {
  const RuleFormat& format = find_rule_format(settings.text("export"));
  require(inquiry.policies.size() == 1, "--export takes one policy");
  SelectionTable table;
  table.policy = inquiry.policies.front()->name;
  table.machine = inquiry.network;
  table.type = inquiry.questions.front().type;
  table.op = inquiry.questions.front().op;
  table.first = settings.size("minbytes");
  table.last = settings.size("maxbytes");
  for (Question question : inquiry.questions) {
    if (question.available.empty()) question.available = format.offered;
    table.scales.push_back(
        size_rules(*inquiry.policies.front(), question, table.first, table.last));
    for (const std::string& warning : table.scales.back().warnings) {
      std::cerr << fmt::format("collbench: {} workers: {}\n", question.workers, warning);
    }
  }
  const std::string& path = settings.text("out");
  write_output(path.empty() ? "-" : path, [&](std::ostream& out) { out << format.write(table); });
}

void print_text(const Settings& settings, const Inquiry& inquiry) {
  bool first = true;
  for_each_answer(inquiry, [&](const Policy& policy, const Question& question) {
    if (!first) std::cout << '\n';
    first = false;
    print_answer(policy, question, inquiry.network, settings.flag("explain"));
  });
}

int select_command(const CLI::App& app) {
  const Settings settings(app, select_option_rows(), explicit_layer(config_file_of(app)));
  shows_settings(settings);
  const Inquiry inquiry = inquiry_of(settings);
  const std::string& format = settings.text("format");
  require_known(settings.label("format"), format, {"text", "json"}, "format");
  for (const std::string& note : inquiry.notes) std::cerr << "collbench: " << note << '\n';
  if (!settings.text("export").empty()) {
    write_export(settings, inquiry);
  } else if (settings.flag("table")) {
    print_tables(settings, inquiry);
  } else if (format == "json") {
    print_json(inquiry);
  } else {
    print_text(settings, inquiry);
  }
  return exit_ok;
}

}  // namespace

void add_select(CLI::App& app, Action& action) {
  add_command(app, "select", "choose an algorithm, and say why", select_option_rows(), action,
              select_command);
}

}  // namespace collbench
