// `collbench topo`: the machines that are known, what they can do, their pictures, and their
// translation from and to the formats of other tools.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/gpu_machine.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "core/error.h"
#include "core/suggest.h"
#include "topologies/bounds.h"
#include "topologies/draw.h"
#include "topologies/import_topology.h"
#include "topologies/local_machine.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

/// A file in any format that is known, otherwise a specification as --topo takes.
Machine load(const std::string& name, const std::string& from, int workers = 0) {
  const TopologyFormat format = topology_format(from);
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(name, ignored);
  if (is_file && !name.ends_with(".toml")) return import_topology_file(name, format);
  if (is_file && format != TopologyFormat::automatic) return import_topology_file(name, format);
  require(format == TopologyFormat::automatic, fmt::format("cannot read '{}'", name));
  return machine(name, workers);
}

int list_machines() {
  std::size_t width = 0;
  for (const ShippedMachine& m : shipped_machines()) width = std::max(width, m.name.size());
  for (const ShippedMachine& m : shipped_machines()) {
    std::cout << fmt::format("{:<{}}  {}\n", m.name, width, m.summary);
  }
  std::cout << "# and compositions: star:8,100Gbps,5us  full:8,64GBps,1us  torus:4x4x4,50GBps,1us\n"
               "# mesh:4x4,50GBps,1us  fat-tree:4x4:1x4:1x2,100Gbps,1us\n"
               "# dragonfly:3x4x5x2:1x1x1,200Gbps,1us  cluster:8xdgx-h100\n";
  return exit_ok;
}

std::string layout_text(const Layout& layout) {
  std::string text;
  for (std::size_t i = 0; i < layout.dims.size(); ++i) {
    const bool wraps = i < layout.wraps.size() && layout.wraps[i];
    text += fmt::format("{}{}{}", i == 0 ? "" : " x ", layout.dims[i], wraps ? " closed" : "");
  }
  switch (layout.kind) {
    case Layout::Kind::flat:
      return "flat";
    case Layout::Kind::grid:
      return "grid " + text;
    case Layout::Kind::hierarchy:
      return "hierarchy " + text + ", innermost first";
  }
  return text;
}

void print_classes(const Topology& topology) {
  std::vector<double> lanes(topology.classes().size(), 0);
  for (const Link& link : topology.links()) {
    lanes[static_cast<std::size_t>(link.link_class)] += static_cast<double>(link.lanes);
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const LinkClass& c = topology.classes()[i];
    std::cout << fmt::format(
        "link       {}: {} nominal, {:.4g} % reached = {}, {}, level {}; {:.9g} "
        "lanes\n",
        c.name, to_string(c.nominal), 100 * c.efficiency,
        to_string(Bandwidth{c.nominal.bytes_per_second * c.efficiency}), to_string(c.latency),
        c.level, lanes[i]);
    if (!c.source.empty()) std::cout << fmt::format("           source: {}\n", c.source);
  }
}

void print_protocol(const Protocol& protocol) {
  std::string text;
  for (const Seconds latency : protocol.message_latency) text += " " + to_string(latency);
  if (!text.empty()) text = ", latency by level" + text;
  std::string caps;
  for (const Bandwidth cap : protocol.message_cap) {
    caps += cap > Bandwidth{} ? " " + to_string(cap) : " none";
  }
  if (!caps.empty()) text += ", cap by level" + caps;
  std::cout << fmt::format("protocol   {}: wire factor {:.4g}{}\n", protocol.name,
                           protocol.wire_factor, text);
}

void print_costs(const Costs& costs) {
  const auto print = [](const char* key, const std::string& value) {
    std::cout << fmt::format("cost       {} = {}\n", key, value);
  };
  for (const LatencyStep& step : costs.message_latency) {
    print("message_latency",
          fmt::format("{} from {}", to_string(step.latency), to_string(step.from_bytes)));
  }
  if (costs.wire_factor != 1) print("wire_factor", fmt::format("{:.4g}", costs.wire_factor));
  if (costs.message_cap > Bandwidth{}) print("message_cap", to_string(costs.message_cap));
  if (costs.reduction_rate > Bandwidth{}) print("reduction_rate", to_string(costs.reduction_rate));
  if (costs.per_collective > Seconds{0}) print("per_collective", to_string(costs.per_collective));
  for (const Protocol& protocol : costs.protocols) print_protocol(protocol);
  if (!costs.in_network) return;
  const InNetwork& in = *costs.in_network;
  std::cout << fmt::format("in network {}: {}, {}{}\n", in.name, to_string(in.rate),
                           to_string(in.latency),
                           in.max_ranks > 0 ? fmt::format(", at most {} ranks", in.max_ranks) : "");
}

void print_bounds(const Topology& topology) {
  if (const auto width = bisection(topology)) {
    std::cout << fmt::format("bisection  {} each way\n", to_string(*width));
  } else if (topology.hosts() > 1) {
    std::cout << "bisection  not computed for so many links\n";
  }
  if (const auto ring = ring_bound(topology)) {
    std::cout << fmt::format("ring bound {} per host in their order, {} per step\n",
                             to_string(ring->rate), to_string(ring->latency));
  }
}

int show_machine(const std::string& name, const std::string& from, int workers) {
  const Machine shown = load(name, from, workers);
  const Topology& topology = shown.topology;
  std::cout << fmt::format("{}: {}\n", topology.name(), shown.summary);
  std::cout << fmt::format("hosts      {}; switches {}, links {}\n", topology.hosts(),
                           topology.vertices() - topology.hosts(), topology.links().size());
  std::cout << fmt::format("layout     {}\n", layout_text(topology.layout()));
  print_classes(topology);
  print_costs(shown.costs);
  print_bounds(topology);
  if (!shown.source.empty()) std::cout << fmt::format("source     {}\n", shown.source);
  return exit_ok;
}

int validate_file(const std::string& path, const std::string& from) {
  const Machine valid = load(path, from);
  const Topology& topology = valid.topology;
  std::cout << fmt::format("{}: valid; hosts {}, links {}, classes of links {}\n", path,
                           topology.hosts(), topology.links().size(), topology.classes().size());
  return exit_ok;
}

void write(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    std::cout << text;
    return;
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.flush();
  require(static_cast<bool>(file), fmt::format("cannot write '{}'", path));
}

int convert_file(const std::string& name, const std::string& from, const std::string& to,
                 const std::string& out) {
  const std::vector<std::string> known = {"toml", "simgrid", "dot", "svg"};
  require(std::find(known.begin(), known.end(), to) != known.end(),
          fmt::format("--to: unknown format '{}'.{} Known are {}", to, did_you_mean(to, known),
                      fmt::join(known, ", ")));
  const Machine read = load(name, from);
  if (to == "toml") write(out, to_toml(read));
  if (to == "simgrid") write(out, to_simgrid_xml(read.topology));
  if (to == "dot") write(out, to_dot(read.topology));
  if (to == "svg") write(out, to_svg(read.topology));
  return exit_ok;
}

int draw_machine(const std::string& name, const std::string& from, const std::string& svg,
                 const std::string& dot) {
  require(!svg.empty() || !dot.empty(), "topo draw needs --svg FILE or --dot FILE ('-': stdout)");
  const Machine drawn = load(name, from);
  if (!svg.empty()) write(svg, to_svg(drawn.topology));
  if (!dot.empty()) write(dot, to_dot(drawn.topology));
  return exit_ok;
}

int write_this_machine(const std::string& out) {
  LocalMachine local = read_local_machine();
  local.gpus = local_gpus(survey_gpus());
  write(out, to_toml(from_local_machine(local)));
  return exit_ok;
}

struct Values {
  std::string name;
  std::string from = "auto";
  std::string to;
  std::string out = "-";
  std::string svg;
  std::string dot;
  int workers = 0;
};

void add_name(CLI::App* command, const std::shared_ptr<Values>& values, const char* word,
              const char* help) {
  command->add_option(word, values->name, help)->option_text(word)->group("Arguments")->required();
  command
      ->add_option("--from", values->from,
                   "format of the file: toml, simgrid, nccl, nvidia-smi, astra, hwloc [auto]")
      ->option_text("NAME");
}

void add_files(CLI::App* topo, Action& action, const std::shared_ptr<Values>& values) {
  CLI::App* convert = topo->add_subcommand("convert", "translate a topology file");
  add_name(convert, values, "FILE", "a topology file, or a machine as for show");
  convert->add_option("--to", values->to, "toml, simgrid, dot or svg")
      ->option_text("NAME")
      ->required();
  convert->add_option("-o,--output", values->out, "where to write [standard output]")
      ->option_text("FILE");
  convert->callback([&action, values] {
    action = [values] { return convert_file(values->name, values->from, values->to, values->out); };
  });

  CLI::App* here =
      topo->add_subcommand("from-machine", "write the file of this machine: CPUs, GPUs, NVLinks");
  here->add_option("-o,--output", values->out, "where to write [standard output]")
      ->option_text("FILE");
  here->callback(
      [&action, values] { action = [values] { return write_this_machine(values->out); }; });

  CLI::App* draw = topo->add_subcommand("draw", "draw a picture of a machine");
  add_name(draw, values, "NAME", "a machine as for show");
  draw->add_option("--svg", values->svg, "write a picture")->option_text("FILE");
  draw->add_option("--dot", values->dot, "write Graphviz")->option_text("FILE");
  draw->callback([&action, values] {
    action = [values] {
      return draw_machine(values->name, values->from, values->svg, values->dot);
    };
  });
}

}  // namespace

void add_topo(CLI::App& app, Action& action) {
  auto values = std::make_shared<Values>();
  CLI::App* topo = app.add_subcommand("topo", "list, show, check, translate and draw networks");
  topo->require_subcommand(0, 1);
  topo->allow_extras();
  topo->callback([topo, &action] {
    if (topo->get_subcommands().empty()) action = list_machines;
  });
  topo->add_subcommand("list", "the machines that collbench brings along")->callback([&action] {
    action = list_machines;
  });

  CLI::App* show = topo->add_subcommand("show", "what a machine is made of and can do at best");
  add_name(show, values, "NAME", "as for --topo: dgx-h100, torus:4x4,50GBps,1us, or a file");
  show->add_option("-W,--workers", values->workers, "ranks to seat where the size is left out")
      ->option_text("N");
  show->callback([&action, values] {
    action = [values] { return show_machine(values->name, values->from, values->workers); };
  });

  CLI::App* validate = topo->add_subcommand("validate", "check a topology file");
  add_name(validate, values, "FILE", "a topology file in any format");
  validate->callback([&action, values] {
    action = [values] { return validate_file(values->name, values->from); };
  });
  add_files(topo, action, values);
}

}  // namespace collbench
