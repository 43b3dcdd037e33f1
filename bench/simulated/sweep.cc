#include "bench/simulated/sweep.h"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "bench/simulated/team.h"
#include "core/error.h"
#include "heuristics/calibration/fit.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

/// Why algorithms do not fit somewhere, and which fit anywhere.
struct Fits {
  std::map<std::string, std::string> refused;  // by algorithm: the first reason
  std::set<std::string> fitting;
  std::vector<std::string> lines;
};

/// The algorithms named that fit, those that fit for "all".
std::vector<std::string> expand_names(const std::vector<std::string>& names, const Machine& machine,
                                      int workers, const Case& common, Fits& fits) {
  const Topology& topology = machine.topology;
  const Collective collective = collective_of(common);
  require(collective.counts.empty() || !common.simulated.equal_chunks,
          "shares with counts are whole elements; leave --equal-chunks out");
  const auto make = [&](const AlgorithmSpec& spec) {
    const int nodes = nodes_of(topology.layout(), workers);
    make_schedule(fit_to_nodes(spec, topology, workers, nodes), workers, Bytes{0}, collective);
  };
  std::vector<std::string> expanded;
  for (const std::string& name : names) {
    if (name == "auto" || is_library_case(name) || is_in_network(name, machine)) {
      expanded.push_back(name);
    } else if (name == "all") {
      const std::vector<std::string> fitting = names_that_fit(make);
      expanded.insert(expanded.end(), fitting.begin(), fitting.end());
    } else {
      try {
        make(parse_algorithm_spec(name));
        fits.fitting.insert(name);
        expanded.push_back(name);
      } catch (const InvalidArgument& error) {
        fits.refused.emplace(name, error.what());
        fits.lines.push_back(
            fmt::format("{} on {} hosts of {}: {}", name, workers, topology.name(), error.what()));
      }
    }
  }
  return expanded;
}

/// The cases of one machine and worker count.
void append_cases(const SimulatedSweep& sweep, const Case& common,
                  const std::vector<std::string>& names, std::vector<Case>& cases) {
  for (const Bytes size : sweep_sizes(sweep.axes)) {
    for (const std::string& name : names) {
      for (const std::string& mapping : sweep.mappings) {
        for (const std::string& posting : sweep.postings) {
          for (const std::string& protocol : sweep.protocols) {
            Case point = common;
            point.algorithm = name;
            point.bytes = size;
            point.simulated.mapping = mapping;
            point.simulated.posting = posting;
            point.simulated.protocol = protocol;
            cases.push_back(std::move(point));
          }
        }
      }
    }
  }
}

}  // namespace

std::vector<std::string> expand_braces(
    const std::string& text,
    const std::function<std::vector<int>(const std::string& range)>& read_range) {
  const std::size_t open = text.find('{');
  const std::size_t close = text.find('}');
  if (open == std::string::npos && close == std::string::npos) return {text};
  require(open != std::string::npos && close != std::string::npos && open < close,
          fmt::format("'{}': every {{ needs its }} after it", text));
  std::vector<std::string> expanded;
  const std::vector<std::string> rests = expand_braces(text.substr(close + 1), read_range);
  for (const int value : read_range(text.substr(open + 1, close - open - 1))) {
    for (const std::string& rest : rests) {
      expanded.push_back(fmt::format("{}{}{}", text.substr(0, open), value, rest));
    }
  }
  return expanded;
}

std::vector<Case> simulated_cases(const SimulatedSweep& sweep, std::vector<std::string>* left_out) {
  std::vector<Case> cases;
  Fits fits;
  for (const std::string& topology : sweep.topologies) {
    std::vector<int> counts = sweep.axes.workers;
    if (counts.empty()) counts.push_back(0);
    for (const int wanted : counts) {
      const Machine read = machine(topology, wanted);
      Case common = sweep.axes.common;
      common.backend = "sim";
      common.simulated.topology = topology;
      common.workers = wanted > 0 ? wanted : read.topology.hosts();
      for (const std::string& mapping : sweep.mappings) {
        place(mapping, common.workers, read.topology);
      }
      const auto names =
          expand_names(sweep.axes.algorithms, read, group_size(common), common, fits);
      append_cases(sweep, common, names, cases);
    }
  }
  for (const auto& [name, reason] : fits.refused) {
    if (left_out == nullptr || fits.fitting.count(name) == 0) throw InvalidArgument(reason);
  }
  if (left_out != nullptr) *left_out = std::move(fits.lines);
  return cases;
}

}  // namespace collbench
