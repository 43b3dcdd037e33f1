// What the first program (cmake/CollbenchFirst.cmake) has not: all that `run` may be asked for and
// does not need. Whatever reaches one of these functions is carried out by the whole command, which
// ./collbench builds then: this process becomes ./collbench, with the same arguments. Nothing was
// measured or printed by then: commands are known by their names, options are read before.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <unistd.h>

#include "algorithms/synthesised.h"
#include "bench/reports/formats.h"
#include "cli/declare.h"
#include "core/error.h"
#include "heuristics/exports/export_rules.h"
#include "heuristics/policies/policy.h"
#include "heuristics/synthesis/synthesise.h"
#include "simulator/simulate.h"
#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

/// ./collbench says in the environment where it is.
constexpr const char* where_launcher_is = "_COLLBENCH_LAUNCHER";

[[noreturn]] void ask_whole_command() {
  const char* launcher = std::getenv(where_launcher_is);
  if (launcher == nullptr || *launcher == 0) {
    throw Unavailable("this program is only the first part of collbench, which ./collbench builds");
  }
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string words{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<char*> arguments;
  for (std::size_t at = 0; at < words.size(); at = words.find('\0', at) + 1) {
    arguments.push_back(&words[at]);
  }
  const std::string path = launcher;
  arguments.front() = const_cast<char*>(path.c_str());
  arguments.push_back(nullptr);
  setenv(where_launcher_is, "", 1);
  execv(path.c_str(), arguments.data());
  throw Unavailable("cannot run " + path);
}

/// A command that is not here; its own words are not looked at.
void add_elsewhere(CLI::App& app, const std::string& name) {
  app.add_subcommand(name)->preparse_callback([](std::size_t) { ask_whole_command(); });
}

}  // namespace

void add_simulate(CLI::App& app, Action&) { add_elsewhere(app, "simulate"); }
void add_sweep(CLI::App& app, Action&) { add_elsewhere(app, "sweep"); }
void add_train(CLI::App& app, Action&) { add_elsewhere(app, "train"); }
void add_select(CLI::App& app, Action&) { add_elsewhere(app, "select"); }
void add_merge(CLI::App& app, Action&) { add_elsewhere(app, "merge"); }
void add_ab(CLI::App& app, Action&) { add_elsewhere(app, "ab"); }
void add_compare(CLI::App& app, Action&) { add_elsewhere(app, "compare"); }
void add_history(CLI::App& app, Action&) { add_elsewhere(app, "history"); }
void add_report(CLI::App& app, Action&) { add_elsewhere(app, "report"); }
void add_launch(CLI::App& app, Action&) { add_elsewhere(app, "launch"); }
void add_calibrate(CLI::App& app, Action&) { add_elsewhere(app, "calibrate"); }
void add_regret(CLI::App& app, Action&) { add_elsewhere(app, "regret"); }
void add_validate(CLI::App& app, Action&) { add_elsewhere(app, "validate"); }
void add_diagnose(CLI::App& app, Action&) { add_elsewhere(app, "diagnose"); }
void add_algos(CLI::App& app, Action&) { add_elsewhere(app, "algos"); }
void add_synth(CLI::App& app, Action&) { add_elsewhere(app, "synth"); }
void add_tune(CLI::App& app, Action&) { add_elsewhere(app, "tune"); }
void add_topo(CLI::App& app, Action&) { add_elsewhere(app, "topo"); }
void add_logs(CLI::App& app, Action&) { add_elsewhere(app, "logs"); }
void add_profile(CLI::App& app, Action&) { add_elsewhere(app, "profile"); }
void add_doctor(CLI::App& app, Action&) { add_elsewhere(app, "doctor"); }
void add_completion(CLI::App& app, Action&) { add_elsewhere(app, "completion"); }
// Help lists all commands.
std::string examples_of(std::string_view) { ask_whole_command(); }

Answer ask_model(const Question&) { ask_whole_command(); }
Answer ask_nccl(const Question&) { ask_whole_command(); }
Answer ask_ompi(const Question&) { ask_whole_command(); }
Answer ask_tf2(const Question&) { ask_whole_command(); }
Answer ask_tf2_mirrored(const Question&) { ask_whole_command(); }
Answer ask_tf1_dgx1(const Question&) { ask_whole_command(); }

ReportFormat html_format() { return {"html", ""}; }  // of no records: `run` never shows it

const RuleFormat& find_rule_format(std::string_view) { ask_whole_command(); }
Machine import_topology_file(const std::string&, TopologyFormat) { ask_whole_command(); }

void offer_synthesis(PlayLate) {
  set_synthesiser([](const SynthesisRequest&) -> SynthesisedSchedule { ask_whole_command(); });
}
Seconds played_time(const Schedule&, const Machine&, const Delays&, Bytes) { ask_whole_command(); }

}  // namespace collbench
