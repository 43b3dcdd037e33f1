#include "cli/select_nodes.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "core/suggest.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/calibration/fitted_machine.h"
#include "topologies/specification.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

/// Whether it names a file or a preset alone, not a cluster of them or so many hosts.
bool stands_alone(const std::string& machine) {
  return machine.find(':') == machine.npos && machine.find(',') == machine.npos;
}

int automatic_nodes(const Calibration* fitted, const Question& question) {
  if (fitted != nullptr) return nodes_as_measured(*fitted, question.workers);
  if (question.machine == nullptr) return 1;
  return nodes_of(question.machine->topology.layout(), question.workers);
}

}  // namespace

std::vector<int> workers_asked(const Settings& settings, const Calibration* fitted) {
  const std::string& topology = settings.text("topo");
  const std::string& counts = settings.text("counts");
  if (!settings.given("workers") && !counts.empty()) {
    return {static_cast<int>(split_at(counts, ',').size())};
  }
  const bool has_size = fitted == nullptr || !stands_alone(topology);
  if (!settings.given("workers") && !topology.empty() && has_size) {
    try {
      return {machine(topology).topology.hosts()};
    } catch (const InvalidArgument&) {
      // It has a size only for a number of workers, or is refused with one, too.
    }
  }
  return settings.worker_counts("workers");
}

int cores_asked(const Settings& settings) {
  if (settings.text("cores") != "auto") return settings.count("cores", 1, 1 << 24);
  return settings.text("backend").empty() ? 0 : usable_cores();
}

void set_counts(const Settings& settings, Question& question) {
  const std::string& counts = settings.text("counts");
  if (counts.empty()) return;
  for (const char* other : {"minbytes", "table", "export"}) {
    require(!settings.given(other), fmt::format("{} says how large the one vector is; leave {} out",
                                                settings.label("counts"), settings.label(other)));
  }
  question.counts = with_counts({question.collective}, counts, question.workers).counts;
  question.bytes = Bytes{sum_of_counts(counts) * size_of(question.type)};
}

void set_nodes(const Settings& settings, const Calibration* fitted, Question& question) {
  const std::string& text = settings.text("nodes");
  if (text == "auto") {
    question.nodes = automatic_nodes(fitted, question);
  } else if (text.find('x') == text.npos) {
    question.nodes = settings.count("nodes", 1, 1 << 24);
  } else {
    question.shape = parse_grid_shape(text);
    question.nodes = 1;
    for (const int length : question.shape) question.nodes *= std::max(length, 1);
  }
  if (text == "auto" || fitted != nullptr || question.machine == nullptr) return;
  const std::string why = why_not_seated(*question.machine, question.workers, question.nodes);
  require(why.empty(), fmt::format("{}: {}", settings.label("nodes"), why));
}

void note_seats(const Question& question, std::vector<std::string>& notes) {
  if (question.machine == nullptr) return;
  std::string words = words_on_seats(question.machine->topology, question.workers, question.nodes);
  if (!words.empty()) notes.push_back(std::move(words));
}

Bytes smallest_of_table(const Settings& settings, DataType type) {
  const Bytes first = settings.given("minbytes") ? settings.size("minbytes") : Bytes{1024};
  return std::max(first, Bytes{size_of(type)});
}

void require_element(const Question& question) {
  const Bytes element{size_of(question.type)};
  require(question.bytes >= element,
          fmt::format("select: {} is less than an element of {}, which has {}",
                      to_string(question.bytes), to_string(question.type), to_string(element)));
}

Machine machine_asked(const std::string& name, const Calibration* fitted,
                      const Question& question) {
  const bool has_size = fitted == nullptr || !stands_alone(name);
  if (has_size || question.nodes < 2) return machine(name, question.workers);
  try {
    return machine(name, question.workers);
  } catch (const InvalidArgument&) {
    return machine(fmt::format("cluster:{}x{}", question.nodes, name), question.workers);
  }
}

Devices devices_of(const Settings& settings, const Machine* machine) {
  const std::string& text = settings.text("devices");
  if (text == "auto") {
    if (machine == nullptr) return Devices::cpus;
    const auto classes = machine->topology.classes();
    const bool gpus = std::any_of(classes.begin(), classes.end(), [](const LinkClass& c) {
      return c.name.find("nvlink") == 0 || c.name.find("infinity") == 0 || c.name.find("xgmi") == 0;
    });
    return gpus ? Devices::gpus : Devices::cpus;
  }
  const std::vector<std::string> names{"cpus", "gpus", "virtual-gpus", "mixed", "auto"};
  return static_cast<Devices>(require_known(settings.label("devices"), text, names, "devices"));
}

}  // namespace collbench
