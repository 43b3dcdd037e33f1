// `collbench select`: which all-reduce to use, what each would take, and why.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/measured_files.h"
#include "cli/output_file.h"
#include "cli/run_options.h"
#include "cli/select_nodes.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/json.h"
#include "core/parse.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/calibration/fitted_machine.h"
#include "heuristics/exports/export_rules.h"
#include "heuristics/nccl/nccl_model.h"
#include "heuristics/policies/policy.h"
#include "heuristics/policies/selection_table.h"
#include "topologies/machine.h"
#include "topologies/specification.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

using nlohmann::json;

constexpr std::string_view library_policy = "nccl";  // names the library's choice by itself
constexpr const char* what_to_choose_for = "What to choose for";
constexpr const char* knowledge = "What is known";

constexpr OptionRow select_rows[] = {
    {what_to_choose_for, "minbytes", "b", "SIZE", "1M",
     "vector of each worker; for tables and exports the smallest, by default 1K"},
    {what_to_choose_for, "workers", "W", "N[,..]", "8",
     "ranks; 8,64 or 8:64:x2; by default all that the machine of --topo has"},
    {what_to_choose_for, "nodes", "", "N[xN..]", "auto",
     "nodes they are spread over, or a torus (4x4x8); auto asks the machine"},
    {what_to_choose_for, "datatype", "d", "TYPE", "f32", "f16, bf16, f32, f64, i32, i64, u8"},
    {what_to_choose_for, "op", "", "OP", "sum", "sum, prod, min, max, avg"},
    {what_to_choose_for, "collective", "", "NAME", "all-reduce",
     "reduce-scatter, all-gather, broadcast or reduce"},
    {what_to_choose_for, "counts", "", "N,..", "",
     "elements of each worker's share of a reduce-scatter or all-gather: 1M,2M,0,4K"},
    {what_to_choose_for, "devices", "", "KIND", "auto",
     "cpus, gpus, virtual-gpus, mixed; auto asks the machine"},
    {what_to_choose_for, "available", "", "NAME[,..]", "", "candidates; default: all that fit"},
    {what_to_choose_for, "replicas-may-differ", "", "", "",
     "allow algorithms whose sums differ in last bits"},

    {knowledge, "policy", "p", "NAME[,..]", "auto",
     "auto, model, measured, oracle, nccl, ompi, tf2, ...; or all"},
    {knowledge, "topo", "t", "SPEC", "", "machine; 'collbench topo list' has names; or a file"},
    {knowledge, "backend", "B", "NAME", "",
     "choose for this host instead of a machine: shm or grpc"},
    {knowledge, "cores", "", "N", "auto", "cores that the workers of this host share"},
    {knowledge, "measured", "", "FILE[,..]", "",
     "tables of measured times, as 'collbench run --json' and nccl-tests write them"},
    {knowledge, "nccl-graphs", "", "FILE", "", "what NCCL wrote to NCCL_GRAPH_DUMP_FILE"},

    {output_group, "explain", "x", "", "", "show the terms of each expected time"},
    {output_group, "table", "", "", "", "choices over sizes and workers, with the crossovers"},
    {output_group, "export", "", "FORMAT", "",
     "the table for others: nccl-tuner, ompi, ucc, intel-mpi, json, cpp"},
    {output_group, "output", "o", "FILE", "", "write the export there"},
    {output_group, "maxbytes", "e", "SIZE", "1G", "largest vector of tables and exports"},
    {output_group, "format", "", "NAME", "text", "text or json"},
    {output_group, "json", "", "", "", "short for --format json"},
    {output_group, "verbose", "v", "", "", "say where settings came from"},

    {settings_group, "config", "", "FILE", "", "read settings from FILE as well"},
};

/// Questions and all that they point to.
struct Inquiry {
  std::vector<const Policy*> policies;
  std::vector<Question> questions;      // one per number of workers
  std::string network;                  // in words: "dgx-a100", "shm on 2 cores"
  std::vector<Machine> machines;        // one per question, or none
  std::unique_ptr<Calibration> fitted;  // of the machine's file
  std::unique_ptr<NcclInputs> nccl;
  std::vector<MeasuredTime> measured;
  std::vector<std::string> notes;  // about the measurements
};

void read_measured(const Settings& settings, Inquiry& inquiry) {
  const std::string& tables = settings.text("measured");
  if (tables.empty()) return;
  inquiry.measured = rows_to_choose_by(tables, collective_asked(settings), inquiry.notes);
  require(!inquiry.measured.empty(),
          fmt::format("{}: '{}' holds no measured time", settings.label("measured"), tables));
  leave_out_hosts(settings.text("topo"), inquiry.measured, inquiry.notes);
}

/// A dump of NCCL knows the graphs, the machine the processor, the generation of its GPUs and
/// whether switches of its network add.
void read_graphs(const Settings& settings, Inquiry& inquiry) {
  const std::string& file = settings.text("nccl-graphs");
  if (file.empty()) return;
  inquiry.nccl = std::make_unique<NcclInputs>(import_nccl_graphs(read_file(file), file));
  if (inquiry.machines.empty()) {
    inquiry.notes.emplace_back(
        "without a machine (--topo) the graphs are taken for those of H100 and Intel CPUs");
    return;
  }
  const Question& first = inquiry.questions.front();
  const NcclInputs known = nccl_inputs(inquiry.machines.front(), first.workers, first.nodes);
  inquiry.nccl->compute_capability = known.compute_capability;
  inquiry.nccl->cpu = known.cpu;
  inquiry.nccl->ll128 = known.ll128;
  inquiry.nccl->collnet = known.collnet;
  inquiry.nccl->hardware = known.hardware;
}

std::vector<const Policy*> policies_of(const Settings& settings) {
  std::vector<const Policy*> found;
  if (settings.text("policy") == "all") {
    for (const Policy& policy : policies()) found.push_back(&policy);
    return found;
  }
  for (const std::string& name : settings.list("policy")) {
    found.push_back(&find_policy(name));
  }
  return found;
}

Question common_question(const Settings& settings) {
  Question question;
  question.bytes = settings.size("minbytes");
  question.type = parse_data_type(settings.text("datatype"));
  question.op = parse_reduce_op(settings.text("op"));
  question.collective = collective_asked(settings);
  question.replicas_may_differ = settings.flag("replicas-may-differ");
  question.backend = settings.text("backend");
  if (!question.backend.empty()) question.kind = find_backend(question.backend).choice;
  question.cores = cores_asked(settings);
  if (settings.given("available")) question.available = settings.list("available");
  require(question.backend.empty() || settings.text("topo").empty(),
          "choose one of --backend (this host) and --topo (a machine)");
  return question;
}

Inquiry inquiry_of(const Settings& settings) {
  Inquiry inquiry;
  inquiry.policies = policies_of(settings);
  const Question common = common_question(settings);
  if (auto found = calibration_of(settings.text("topo"))) {
    inquiry.fitted = std::make_unique<Calibration>(std::move(*found));
  }
  const Calibration* fitted = inquiry.fitted.get();
  const std::vector<int> workers = workers_asked(settings, fitted);
  inquiry.machines.reserve(workers.size());
  for (const int count : workers) {
    Question question = common;
    question.workers = count;
    set_counts(settings, question);
    if (fitted != nullptr) set_nodes(settings, fitted, question);
    if (!settings.text("topo").empty()) {
      inquiry.machines.push_back(machine_asked(settings.text("topo"), fitted, question));
      question.machine = &inquiry.machines.back();
    }
    set_nodes(settings, fitted, question);
    question.devices = devices_of(settings, question.machine);
    if (fitted == nullptr) note_seats(question, inquiry.notes);
    inquiry.questions.push_back(std::move(question));
  }
  read_graphs(settings, inquiry);
  read_measured(settings, inquiry);
  for (Question& question : inquiry.questions) {
    question.nccl = inquiry.nccl.get();
    question.fitted = fitted;
    question.measured = inquiry.measured;
  }
  inquiry.network = !settings.text("topo").empty() ? settings.text("topo")
                    : common.backend.empty()
                        ? "a network that is not named"
                        : fmt::format("{} on {} cores", common.backend, common.cores);
  return inquiry;
}

/// "nccl ring, LL" of an answer, a candidate or a rule.
template <typename Choice>
std::string words_of(const Choice& choice) {
  const std::string name = (choice.library.empty() ? "" : choice.library + " ") + choice.algorithm;
  return choice.protocol.empty() ? name : name + ", " + choice.protocol;
}

std::string behind(const Candidate& candidate, const Answer& answer) {
  const std::optional<Seconds>& least = answer.candidates.front().time;
  if (!candidate.time || !least || *least == Seconds{0}) return "";
  const double ratio = *candidate.time / *least;
  return ratio < 1.0005 ? ""
         : ratio < 3    ? fmt::format("+{:.1f} %", 100 * (ratio - 1))
                        : fmt::format("x {:.3g}", ratio);
}

void print_candidates(const Answer& answer, bool explain) {
  std::size_t width = std::string_view("candidate").size();
  std::map<std::string, std::vector<std::string>> refused;  // names by reason
  for (const Candidate& c : answer.candidates) {
    const std::string name = words_of(c);
    if (c.refused.empty()) width = std::max(width, name.size());
    if (!c.refused.empty()) refused[c.refused].push_back(name);
  }
  std::cout << fmt::format("\n  {:<{}}  {:>9}  {:>8}\n", "candidate", width, "expected", "behind");
  for (const Candidate& c : answer.candidates) {
    if (!c.refused.empty()) continue;
    std::string line = fmt::format("  {:<{}}  {:>9}  {:>8}", words_of(c), width,
                                   c.time ? to_string(*c.time) : "unknown", behind(c, answer));
    if (explain && !c.terms.empty()) line += "  " + c.terms;
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << line << '\n';
  }
  for (const auto& [reason, names] : refused) {
    const bool is_named = reason.starts_with(names.front() + ": ");
    std::cout << "  refused: "
              << (is_named ? reason : fmt::format("{}: {}", fmt::join(names, ", "), reason))
              << '\n';
  }
}

void print_answer(const Policy& policy, const Question& question, const std::string& network,
                  bool explain) {
  const Answer answer = ask(policy, question);
  std::string work = fmt::format("{} {}", to_string(question.bytes), to_string(question.type));
  if (adds(question.collective)) work += fmt::format(" {}", to_string(question.op));
  if (question.collective != CollectiveKind::all_reduce) {
    work = fmt::format("{} of {}", to_string(question.collective), work);
    if (!question.counts.empty()) work += fmt::format(" in {}", fmt::join(question.counts, ", "));
  }
  std::cout << fmt::format("{}: {} for {}, {} workers on {}\n", policy.name, words_of(answer), work,
                           question.workers, network);
  std::cout << "because " << answer.reason << '\n';
  for (const std::string& warning : answer.warnings) std::cout << "note: " << warning << '\n';
  if (!answer.candidates.empty()) print_candidates(answer, explain);
  if (policy.name == library_policy) return;
  if (const std::optional<InsideLibrary> inside = inside_library(question)) {
    const auto& [chosen, fastest] = *inside;
    std::cout << fmt::format("inside NCCL: its tuner takes {}, {}; fastest of all it has: {}, {}\n",
                             words_of(chosen), to_string(*chosen.time), words_of(fastest),
                             to_string(*fastest.time));
  }
}

json json_of(const Policy& policy, const Question& question, const std::string& network) {
  const Answer answer = ask(policy, question);
  json candidates = json::array();
  for (const Candidate& c : answer.candidates) {
    json one{{"algorithm", c.algorithm}};
    if (!c.protocol.empty()) one["protocol"] = c.protocol;
    if (!c.library.empty()) one["library"] = c.library;
    if (c.time) one["expected_us"] = c.time->count() * 1e6;
    if (!c.terms.empty()) one["terms"] = c.terms;
    if (!c.refused.empty()) one["refused"] = c.refused;
    candidates.push_back(std::move(one));
  }
  json out{{"policy", policy.name},         {"network", network},
           {"workers", question.workers},   {"nodes", question.nodes},
           {"bytes", question.bytes.count}, {"type", to_string(question.type)},
           {"op", to_string(question.op)},  {"collective", to_string(question.collective)},
           {"counts", question.counts},     {"algorithm", answer.algorithm},
           {"reason", answer.reason},       {"candidates", std::move(candidates)},
           {"warnings", answer.warnings}};
  if (!answer.protocol.empty()) out["protocol"] = answer.protocol;
  if (!answer.library.empty()) out["library"] = answer.library;
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
                             words_of(rule));
  }
  for (const std::string& warning : scale.warnings) std::cout << "  note: " << warning << '\n';
}

void say_no_answer(const Policy& policy, const Question& /*question*/, const char* why) {
  std::cout << fmt::format("{}: no answer: {}\n", policy.name, why);
}

/// Of several policies, those that cannot answer say why by `fail`; one alone fails.
template <typename Show, typename Fail = decltype(&say_no_answer)>
void for_each_answer(const Inquiry& inquiry, const Show& show, const Fail& fail = say_no_answer) {
  for (const Policy* policy : inquiry.policies) {
    for (const Question& question : inquiry.questions) {
      try {
        show(*policy, question);
      } catch (const InvalidArgument& e) {
        if (inquiry.policies.size() == 1) throw;
        fail(*policy, question, e.what());
      }
    }
  }
}

void print_json(const Inquiry& inquiry) {
  json all = json::array();
  for_each_answer(
      inquiry,
      [&](const Policy& policy, const Question& question) {
        all.push_back(json_of(policy, question, inquiry.network));
      },
      [&](const Policy& policy, const Question& question, const char* why) {
        all.push_back({{"policy", policy.name}, {"workers", question.workers}, {"error", why}});
      });
  std::cout << json_text(all.size() == 1 ? all.front() : all, 2) << '\n';
}

void print_tables(const Settings& settings, const Inquiry& inquiry) {
  for_each_answer(inquiry, [&](const Policy& policy, const Question& question) {
    const Bytes first = smallest_of_table(settings, question.type);
    print_rules(policy, size_rules(policy, question, first, settings.size("maxbytes")),
                inquiry.network);
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
  table.first = smallest_of_table(settings, table.type);
  table.last = settings.size("maxbytes");
  for (const Question& question : inquiry.questions) {
    table.scales.push_back(
        rules_of_library(format, *inquiry.policies.front(), question, table.first, table.last));
    for (const std::string& warning : table.scales.back().warnings) {
      std::cerr << fmt::format("collbench: {} workers: {}\n", question.workers, warning);
    }
  }
  for (const auto& need : needs_of(format, table)) std::cerr << "collbench: " << need << '\n';
  const std::string& path = settings.text("output");
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

int select_command(const Settings& settings) {
  const Inquiry inquiry = inquiry_of(settings);
  const std::string format = settings.format_of({"text", "json"});
  require(format == "text" || !settings.flag("table"),
          "select: --table is text; without it --json has an answer for every size and number of "
          "workers");
  for (const std::string& note : inquiry.notes) std::cerr << "collbench: " << note << '\n';
  if (!settings.text("export").empty()) {
    settings.disregard("json");  // --export names the form
    settings.disregard("format");
    require(collective_asked(settings) == CollectiveKind::all_reduce,
            "select: rules are exported of all-reduces; leave --collective out");
    write_export(settings, inquiry);
  } else if (settings.flag("table")) {
    print_tables(settings, inquiry);
  } else {
    for (const Question& question : inquiry.questions) require_element(question);
    format == "json" ? print_json(inquiry) : print_text(settings, inquiry);
  }
  return exit_ok;
}

}  // namespace

void add_select(CLI::App& app, Action& action) {
  add_command(app, "select", "choose an algorithm, and say why", select_rows, action,
              select_command, explicit_file_of);
}

}  // namespace collbench
