// `collbench synth`: the best schedule for one network, and what no schedule can beat there.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "algorithms/exchange/msccl_xml.h"
#include "bench/simulated/values.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/external_program.h"
#include "cli/output_file.h"
#include "core/error.h"
#include "heuristics/synthesis/degraded.h"
#include "heuristics/synthesis/late_plan.h"
#include "heuristics/synthesis/plan_text.h"
#include "heuristics/synthesis/synthesise.h"
#include "simulator/simulate.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

constexpr OptionRow synth_rows[] = {
    {options_group, "topo", "t", "SPEC", "",
     "the network: a list of links (net.csv), any topology file, torus:4x4,50GBps,1us",
     Presence::required},
    {options_group, "latency", "", "TIME", "", "latency of links in a file that gives none"},
    {options_group, "degrade", "", "LIST", "",
     "share of the rate that is left, both ways: 'link g0>s_nv0:0.5, link nic:0.9, host 3:0.7'"},
    {options_group, "late", "", "R:TIME,..", "",
     "ranks that join an all-reduce late: what the others add up meanwhile, as in 3:2ms"},
    {options_group, "collective", "", "NAME", "all-reduce",
     "all-reduce, reduce-scatter or all-gather"},
    {options_group, "objective", "", "NAME", "throughput",
     "throughput (at 1 GiB), latency (fewest hops), or the size to be fastest at: 64M"},
    {options_group, "solve", "", "TIME", "30s",
     "with an objective of latency or a size, up to 8 ranks: how long z3 may look for steps (0: "
     "not at all)"},
    {options_group, "bound", "", "", "", "print only the bound and its proof"},
    {options_group, "trees-per-root", "", "K", "auto",
     "bound of all-gather with K equal trees of each root"},
    {options_group, "dead-links", "", "", "", "show what the next dead cable would cost"},
    {output_group, "json", "", "", "", "print JSON"},
    {output_group, "msccl", "", "FILE", "", "write the schedule as MSCCL XML"},
    {output_group, "mscclpp", "", "FILE", "", "write the schedule as a JSON plan of MSCCL++"},
    {output_group, "svg", "", "FILE", "", "write a picture of the trees on the network"},
    {output_group, "dot", "", "FILE", "", "write the same for Graphviz"},
};

Machine machine_of(const Settings& settings) {
  std::string spec = settings.text("topo");
  if (settings.given("latency")) spec += ",latency=" + settings.text("latency");
  Machine whole = machine(spec);
  const std::string& lost = settings.text("degrade");
  if (!lost.empty()) whole.topology = degraded(whole.topology, lost);
  return whole;
}

bool wants_latency(const Settings& settings) { return settings.text("objective") == "latency"; }

/// The size that the schedule is cut for.
Bytes size_of_objective(const Settings& settings) {
  if (wants_latency(settings)) return Bytes{1};
  return settings.text("objective") == "throughput" ? Bytes{1 << 30} : settings.size("objective");
}

/// Looks for steps where that may beat trees, and z3 is there.
void solve_for_steps(const Settings& settings, const Machine& machine, SynthesisedPlan& plan) {
  if (settings.text("objective") == "throughput" || settings.text("solve") == "0") return;
  if (!no_steps_because(plan.certificate.topology, plan.packing.goal).empty()) return;
  const Seconds limit = settings.duration("solve");
  const Bytes bytes = wants_latency(settings) ? Bytes{0} : size_of_objective(settings);
  const auto begin = std::chrono::steady_clock::now();
  const auto ask = [&](const std::string& question) -> std::string {
    const Seconds spent = std::chrono::steady_clock::now() - begin;
    const auto left = static_cast<int>((limit - spent).count());
    if (left < 1) return "timeout";
    return run_external(
        {fmt::format("z3 -model -T:{} -in", left), "z3", "the trees do not need it"}, question);
  };
  Machine routed = machine;
  routed.topology = plan.network();
  const auto time_of = [&](const Schedule& schedule) {
    return played_time(schedule, routed, {}, bytes);
  };
  try {
    add_steps(plan, bytes, ask, time_of);
  } catch (const Unavailable& missing) {
    std::cerr << "steps were not looked for: " << missing.what() << '\n';
  }
}

/// Looks in the registry where the schedule is for one size and not for a file, whose formats do
/// not take all.
void look_for_known(const Settings& settings, const Machine& machine, SynthesisedPlan& plan) {
  if (settings.text("objective") == "throughput" || wants_latency(settings)) return;
  Machine routed = machine;
  routed.topology = plan.network();
  const Bytes bytes = size_of_objective(settings);
  add_known(plan, bytes, 0,
            [&](const Schedule& schedule) { return played_time(schedule, routed, {}, bytes); });
}

void show(const Settings& settings, const Certificate& certificate, const SynthesisedPlan* plan,
          const LatePlan* late = nullptr) {
  std::optional<Certificate> whole;
  if (!settings.text("degrade").empty()) {
    whole = certify(machine(settings.text("topo")).topology, certificate.goal, certificate.trees);
  }
  const bool dead_links = settings.flag("dead-links");
  if (settings.flag("json")) {
    BesidePlan beside{whole ? &*whole : nullptr, late, dead_links};
    if (plan != nullptr) beside.bytes = size_of_objective(settings);
    std::cout << to_json(certificate, plan, beside);
    return;
  }
  constexpr const char* files[] = {"msccl", "mscclpp", "svg", "dot"};
  const auto is_printed = [&](const char* file) { return settings.at(file).value == "-"; };
  if (std::ranges::any_of(files, is_printed) && plan != nullptr) return;
  std::string text = to_text(certificate);
  if (plan != nullptr) text += plan_text(*plan, size_of_objective(settings));
  if (late != nullptr) text += to_text(*late);
  if (whole) text += loss_text(certificate, *whole);
  if (dead_links) text += to_text(dead_link(certificate));
  std::cout << text;
}

void write_msccl(const SynthesisedPlan& plan, Bytes bytes, std::ostream& out) {
  const MscclExport program = to_msccl_export(plan, bytes);
  out << program.xml;
  if (program.size.fits()) return;
  std::cerr << fmt::format("collbench: warning: --msccl: {}\n", to_string(program.size));
}

int synthesise_network(const Settings& settings) {
  const Machine machine = machine_of(settings);
  const Topology& network = machine.topology;
  const CollectiveKind goal = parse_collective(settings.text("collective"));
  const int trees =
      settings.text("trees-per-root") == "auto" ? 0 : settings.count("trees-per-root", 1, 1024);
  if (settings.flag("bound") || trees > 0) {
    show(settings, certify(network, goal, trees), nullptr);
    return exit_ok;
  }
  std::optional<LatePlan> late;
  // Both formats have chunks of one size; a plan of MSCCL++ has a thread block for each tree, and
  // those of MSCCL have steps for no more trees of few ranks.
  const bool is_exported = !settings.text("msccl").empty() || !settings.text("mscclpp").empty();
  const bool takes_many = settings.text("mscclpp").empty() && network.hosts() > 32;
  const int equal_trees = !is_exported ? 0 : takes_many ? 512 : 64;
  const auto make = [&]() -> SynthesisedPlan {
    if (!settings.text("late").empty()) {
      require(goal == CollectiveKind::all_reduce,
              fmt::format("--late is for an all-reduce, not for {}", to_string(goal)));
      require(!wants_latency(settings),
              "--late needs the size that the others add up meanwhile: --objective 64M");
      late = synthesise_late(network, parse_stragglers(settings.text("late")),
                             size_of_objective(settings), equal_trees);
      late->plan.messages = message_ladder(machine.costs);
      choose_by_playing(*late, machine, size_of_objective(settings), 0, played_time);
      return late->plan;
    }
    if (wants_latency(settings)) return synthesise_shallow(network, goal);
    // Neither format can say which way messages take.
    return synthesise(is_exported ? network.with_free_routes(false) : network, goal, equal_trees);
  };
  SynthesisedPlan plan = make();
  plan.messages = message_ladder(machine.costs);
  if (!late && !is_exported) look_for_known(settings, machine, plan);
  if (!late) solve_for_steps(settings, machine, plan);
  show(settings, plan.certificate, &plan, late ? &*late : nullptr);
  write_output(settings.text("msccl"),
               [&](std::ostream& out) { write_msccl(plan, size_of_objective(settings), out); });
  write_output(settings.text("mscclpp"), [&](std::ostream& out) { out << to_mscclpp_json(plan); });
  write_output(settings.text("svg"), [&](std::ostream& out) { out << svg_of(trees_to_dot(plan)); });
  write_output(settings.text("dot"), [&](std::ostream& out) { out << trees_to_dot(plan); });
  return exit_ok;
}

}  // namespace

void add_synth(CLI::App& app, Action& action) {
  add_command(app, "synth", "make the best schedule for one network, with proof", synth_rows,
              action, synthesise_network);
}

}  // namespace collbench
