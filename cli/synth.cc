// `collbench synth`: the best schedule for one network, and what no schedule can beat there.
#include <iostream>

#include "cli/declare.h"
#include "cli/exit_code.h"
#include "core/error.h"
#include "heuristics/synthesis/certificate.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

constexpr OptionRow synth_rows[] = {
    {options_group, "topo", "t", "SPEC", "",
     "the network: a list of links (net.csv), any topology file, torus:4x4,50GBps,1us",
     Presence::required},
    {options_group, "latency", "", "TIME", "", "of every link of a file that says none"},
    {options_group, "collective", "", "NAME", "all-reduce",
     "all-reduce, reduce-scatter or all-gather"},
    {options_group, "bound", "", "", "", "only the bound and what proves it"},
    {options_group, "trees-per-root", "", "K", "auto",
     "bound of all-gather with K equal trees of each root"},
    {output_group, "json", "", "", "", "as JSON"},
};

int synthesise(const Settings& settings) {
  std::string spec = settings.text("topo");
  if (settings.given("latency")) spec += ",latency=" + settings.text("latency");
  const Machine network = machine(spec);
  const int trees =
      settings.text("trees-per-root") == "auto" ? 0 : settings.count("trees-per-root", 1, 1024);
  const Certificate certificate =
      certify(network.topology, parse_collective(settings.text("collective")), trees);
  std::cout << (settings.flag("json") ? to_json(certificate) : to_text(certificate));
  return exit_ok;
}

}  // namespace

void add_synth(CLI::App& app, Action& action) {
  CLI::App& synth = add_command(app, "synth", "make the best schedule for one network, with proof",
                                synth_rows, action, synthesise);
  set_footer(synth, R"(
Examples:
  collbench synth --topo net.csv --bound                 the bound, and the cut that proves it
  collbench synth --topo net.csv --collective all-gather --bound --json
)");
}

}  // namespace collbench
