#include "tests/bench/diagnosis_tables.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <numbers>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "bench/foreign/foreign_tables.h"
#include "core/error.h"
#include "core/input_file.h"
#include "heuristics/calibration/fidelity.h"
#include "heuristics/diagnosis/table_cases.h"

namespace collbench {
namespace {

double between(RandomEngine& random, double low, double high) {
  return low + (high - low) * uniform(random);
}
/// Evenly in the logarithm.
double factor_between(RandomEngine& random, double low, double high) {
  return low * std::pow(high / low, uniform(random));
}
double normal(RandomEngine& random) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(random)));
  return radius * std::cos(2 * std::numbers::pi * uniform(random));
}

/// A machine that a fault has changed, and what it adds to the time.
struct FaultyMachine {
  NcclInputs believed;
  NcclInputs real;
  std::optional<NcclProtocol> protocol{};
  std::optional<NcclAlgorithm> algorithm{};
  double forced_from = 0;  // bytes; algorithm and protocol are asked for in these sizes
  double forced_to = 1e30;
  double late_us = 0;
  double collapse_from = 0;  // bytes; 0: none
  std::string words{};
};

void slow_network(NcclInputs& in, double share) {
  in.hardware.of_node *= share;
  for (NcclGraph* graph : {&in.ring, &in.tree, &in.nvls}) {
    graph->intra *= share;
    graph->inter *= share;
  }
}

void slow_gpus(NcclInputs& in, double share) {
  in.hardware.of_gpu *= share;
  in.hardware.nvls *= share;
  for (NcclGraph* graph : {&in.ring, &in.tree, &in.nvls}) {
    const double rate = in.hardware.of_gpu / std::max(1, graph->channels);
    graph->intra = in.nodes == 1 ? graph->intra * share : std::min(graph->intra, rate);
  }
}

void far_adapters(NcclInputs& in) {
  for (NcclGraph* graph : {&in.ring, &in.tree, &in.nvls}) graph->type_inter = NcclPath::phb;
}

Seconds time_of(const FaultyMachine& machine, LibraryQuestion question) {
  const double bytes = static_cast<double>(question.bytes.count);
  if (bytes >= machine.forced_from && bytes <= machine.forced_to) {
    if (machine.algorithm) question.algorithm = machine.algorithm;
    if (machine.protocol) question.protocol = machine.protocol;
  }
  const LibraryPlay play = library_choice(machine.believed, question);
  question.algorithm = play.tuner.algorithm;
  question.protocol = play.tuner.protocol;
  NcclInputs real = machine.real;
  if (machine.collapse_from > 0) {
    const double over = static_cast<double>(question.bytes.count) / machine.collapse_from;
    slow_network(real, std::clamp(1 / std::sqrt(over), 0.17, 1.0));
  }
  return library_choice(real, question).time + Seconds{machine.late_us * 1e-6};
}

class MadeFault {
 public:
  MadeFault(NcclInputs inputs, RandomEngine& random)
      : in_(std::move(inputs)), random_(random), made_{in_, in_} {}

  /// None if the machine cannot have it.
  std::optional<FaultyMachine> make(const std::string& cause) {
    using Make = bool (MadeFault::*)();
    static const std::vector<std::pair<std::string, Make>> makers = {
        {"nic_missing", &MadeFault::missing_adapter},
        {"nic_affinity", &MadeFault::far_adapter},
        {"gdr_off", &MadeFault::no_gpudirect},
        {"sockets", &MadeFault::sockets},
        {"nvls_off", &MadeFault::no_nvls},
        {"host_staging", &MadeFault::host_memory},
        {"wrong_mesh", &MadeFault::fewer_links},
        {"throttled", &MadeFault::throttled},
        {"ll_at_large", &MadeFault::only_ll},
        {"switch_misplaced", &MadeFault::misplaced},
        {"congestion", &MadeFault::congestion},
        {"step_cost", &MadeFault::dear_steps},
        {"straggler", &MadeFault::late}};
    const auto found = std::find_if(makers.begin(), makers.end(),
                                    [&](const auto& each) { return each.first == cause; });
    require(found != makers.end(), "no such fault: " + cause);
    if (!(this->*found->second)()) return {};
    return made_;
  }

 private:
  void both(const std::function<void(NcclInputs&)>& change) {
    change(made_.believed);
    change(made_.real);
  }
  double of_adapter() const { return in_.hardware.of_node / in_.hardware.adapters; }
  bool network() const { return in_.nodes > 1 && in_.hardware.adapters > 0; }

  bool missing_adapter() {
    if (uniform(random_) < 0.33) return narrow_link();
    const int k = in_.hardware.adapters;
    if (!network() || k < 2) return false;
    const int of_gpu = k / (in_.ranks / in_.nodes);
    const int of = of_gpu > 1 ? of_gpu : k;
    const bool shared = of > 2 && uniform(random_) < 0.4;
    const double share = (shared ? 0.5 : (of - 1.0) / of) * between(random_, 0.97, 1.03);
    made_.words = fmt::format("{:.2f} of the rate", share);
    both([&](NcclInputs& in) { slow_network(in, share); });
    return true;
  }
  bool narrow_link() {
    if (!network()) return false;
    const double carries = uniform(random_) < 0.5 ? 26 : 13;
    if (carries > 0.8 * of_adapter()) return false;
    made_.words = fmt::format("{} GB/s", carries);
    both([&](NcclInputs& in) {
      slow_network(in, carries * between(random_, 0.9, 1) / of_adapter());
    });
    return true;
  }
  bool far_adapter() {
    const double carries = between(random_, 10, 18);
    if (!network() || carries > 0.8 * of_adapter()) return false;
    made_.words = fmt::format("{:.1f} GB/s an adapter", carries);
    both([&](NcclInputs& in) {
      slow_network(in, carries / of_adapter());
      far_adapters(in);
    });
    return true;
  }
  bool no_gpudirect() {
    if (!network()) return false;
    const double share = std::min(between(random_, 0.2, 0.55), 16 / of_adapter());
    // The whole latency becomes 1.3 to 3 times as long: some 30 us on two nodes.
    const double hop_us = between(random_, 5, 30);
    made_.words = fmt::format("{:.2f} of the rate, {:.0f} us a hop more", share, hop_us);
    both([&](NcclInputs& in) {
      slow_network(in, share);
      in.hardware.network.hop_ll += Seconds{hop_us * 1e-6};
      in.hardware.network.hop_simple += Seconds{hop_us * 1e-6};
      far_adapters(in);
    });
    return true;
  }
  bool sockets() {
    const double rate = factor_between(random_, 1.2, 8);
    if (!network() || rate > 0.6 * in_.hardware.of_node) return false;
    const Seconds hop{between(random_, 30, 120) * 1e-6};
    made_.words = fmt::format("{:.1f} GB/s a node, {}", rate, to_string(hop));
    both([&](NcclInputs& in) {
      slow_network(in, rate / in.hardware.of_node);
      in.hardware.network.hop_ll = std::max(hop, in.hardware.network.hop_ll);
      in.hardware.network.hop_simple = std::max(2.5 * hop, in.hardware.network.hop_simple);
      far_adapters(in);
    });
    return true;
  }
  bool no_nvls() {
    if (in_.nodes > 1 || in_.nvls.channels == 0) return false;
    both([](NcclInputs& in) { in.nvls.channels = 0; });
    return true;
  }
  bool host_memory() {
    const double rate = factor_between(random_, 3, 20);
    if (in_.ranks == in_.nodes || rate > 0.6 * in_.hardware.of_gpu) return false;
    made_.words = fmt::format("{:.1f} GB/s", rate);
    const double step = between(random_, 1.3, 3);
    both([&](NcclInputs& in) {
      slow_gpus(in, rate / in.hardware.of_gpu);
      in.hardware.gpu.step_factor *= step;
      in.ll128 = false;
      in.nvls.channels = 0;
      in.ring.type_intra = in.tree.type_intra = NcclPath::phb;
    });
    return true;
  }
  bool fewer_links() {
    if (in_.nodes > 1 || in_.nvswitch || in_.ring.type_intra != NcclPath::nvl) return false;
    const double share = between(random_, 0.15, 0.7);
    made_.words = fmt::format("{:.2f} of the rate", share);
    both([&](NcclInputs& in) { slow_gpus(in, share); });
    return true;
  }
  bool throttled() {
    const double clock = between(random_, 0.2, 0.7);
    made_.words = fmt::format("clock {:.2f}", clock);
    slow_gpus(made_.real, clock);
    made_.real.hardware.gpu.step_factor /= clock;
    made_.real.hardware.gpu.start_factor /= between(random_, std::sqrt(clock), 1);
    return true;
  }
  bool only_ll() {
    made_.protocol = NcclProtocol::ll;
    return true;
  }
  /// A hole in 0.25 to 16 MiB, or LL128 lost: NVIDIA/nccl issue 1261.
  bool misplaced() {
    const double which = uniform(random_);
    if (which < 0.25) {
      made_.words = "no LL128";
      both([](NcclInputs& in) { in.ll128 = false; });
      return true;
    }
    made_.forced_from = factor_between(random_, 64, 1024) * 1024;
    made_.forced_to = std::min(made_.forced_from * factor_between(random_, 4, 64), 0x1p24);
    if (which < 0.5) {
      made_.protocol = NcclProtocol::ll;
    } else if (which < 0.75) {
      made_.protocol = NcclProtocol::simple;
    } else {
      made_.algorithm = which < 0.87 ? NcclAlgorithm::ring : NcclAlgorithm::tree;
    }
    made_.words = fmt::format("{}{} from {:.0f} to {:.0f} KiB",
                              made_.protocol ? to_string(*made_.protocol) : "",
                              made_.algorithm ? to_string(*made_.algorithm) : "",
                              made_.forced_from / 1024, made_.forced_to / 1024);
    return true;
  }
  bool congestion() {
    if (!network() || in_.nodes < 3) return false;
    if (uniform(random_) < 0.5) {
      slow_network(made_.real, between(random_, 0.35, 0.65));
      made_.words = "half";
    } else {
      made_.collapse_from = factor_between(random_, 4, 128) * 1048576;
      made_.words = fmt::format("collapses from {:.0f} MiB", made_.collapse_from / 1048576);
    }
    return true;
  }
  bool dear_steps() {
    if (!network()) return false;
    const double us = factor_between(random_, 15, 160);
    made_.words = fmt::format("{:.0f} us a step", us);
    NcclInputs& in = made_.real;
    const double chunk_us = 524.288 * in.ring.channels / in.hardware.of_node;
    slow_network(in, chunk_us / (chunk_us + us));
    in.hardware.network.hop_ll += Seconds{us * 1e-6};
    in.hardware.network.hop_simple += Seconds{us * 1e-6};
    return true;
  }
  bool late() {
    made_.late_us = factor_between(random_, 100, 1e4);
    made_.words = fmt::format("{:.0f} us", made_.late_us);
    return true;
  }

  NcclInputs in_;
  RandomEngine& random_;
  FaultyMachine made_;
};

constexpr double visible = 1.2;

/// What the fault multiplies the time of each row by, a late rank apart; nothing if the library has
/// no such play on that machine.
std::vector<double> factors_of(const FaultyMachine& machine, const NcclInputs& healthy,
                               const KnownTable& known) {
  FaultyMachine undelayed = machine;
  undelayed.late_us = 0;
  std::map<std::int64_t, double> of_size;
  std::vector<double> factors;
  for (const MeasuredTime& row : known.table.times) {
    const auto [at, is_new] = of_size.try_emplace(row.bytes.count, 1);
    try {
      const LibraryQuestion question = library_question(row);
      if (is_new) at->second = time_of(undelayed, question) / time_of({healthy, healthy}, question);
    } catch (const InvalidArgument&) {
      return {};
    }
    factors.push_back(at->second);
  }
  return factors;
}

/// Multiplies the times of `known` by what the fault does. At how many sizes that shows.
int apply_fault(const FaultyMachine& machine, const NcclInputs& healthy, RandomEngine& random,
                KnownTable& known) {
  const std::vector<double> factors = factors_of(machine, healthy, known);
  const double noise = between(random, 0.005, 0.05);
  const bool told = machine.late_us > 0 && uniform(random) < 0.5;  // with -I
  const double period = 10;  // one iteration of so many is late
  std::set<std::int64_t> shown;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    MeasuredTime& row = known.table.times[i];
    const Seconds least = row.time * factors[i] * std::exp(noise * normal(random));
    row.time = least + Seconds{machine.late_us * 1e-6 * std::exp(noise * normal(random))};
    row.low = told ? least : row.time;
    row.high = told ? least + Seconds{period * machine.late_us * 1e-6} : row.time;
    row.mean = true;
    if (row.time / (least / factors[i]) >= visible) shown.insert(row.bytes.count);
  }
  return static_cast<int>(shown.size());
}

NcclInputs inputs_of(const KnownTable& known) {
  std::string note;
  return *Predictor(known.machine).library_inputs(known.table.times.front(), note);
}

}  // namespace

std::vector<KnownTable> read_known_tables(const std::string& list) {
  std::vector<KnownTable> known;
  std::istringstream lines(read_file(list));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string file, machine, system, state, algorithm;
    int ranks = 0;
    if (!(words >> file >> ranks >> machine >> system >> state)) continue;
    words >> algorithm;
    const std::filesystem::path folder = std::filesystem::path(list).parent_path();
    const std::string path = file.front() == '/' ? file : (folder / file).string();
    KnownTable table{
        fmt::format("{} x{}", std::filesystem::path(file).stem().string(), ranks),
        machine,
        system,
        state != "unhealthy",
        state == "sample",
        read_foreign(read_file(path), file, {.library = "nccl", .algorithm = algorithm})};
    std::erase_if(table.table.times,
                  [&](const MeasuredTime& row) { return row.scale.ranks != ranks; });
    table.table.name = table.name;
    known.push_back(std::move(table));
  }
  return known;
}

DiagnosisCase case_of(const KnownTable& known) {
  std::vector<std::string> notes;
  return diagnosis_cases(known.table, known.machine, notes).front();
}

const std::vector<std::string>& injected_causes() {
  static const std::vector<std::string> names = {
      "nic_missing",  "nic_affinity", "gdr_off",   "sockets",     "nvls_off",
      "host_staging", "wrong_mesh",   "throttled", "ll_at_large", "switch_misplaced",
      "congestion",   "step_cost",    "straggler"};
  return names;
}

std::optional<TableFault> inject(const std::string& cause, const std::vector<KnownTable>& healthy,
                                 RandomEngine& random) {
  for (int draw = 0; draw < 40; ++draw) {
    const auto at = static_cast<std::size_t>(uniform(random) * static_cast<double>(healthy.size()));
    KnownTable table = healthy[at];
    if (table.sample && cause != "nvls_off") continue;
    const NcclInputs inputs = inputs_of(table);
    const std::optional<FaultyMachine> machine = MadeFault(inputs, random).make(cause);
    if (!machine) continue;
    const int shown_at = apply_fault(*machine, inputs, random, table);
    if (shown_at > 0) return TableFault{cause, machine->words, std::move(table), shown_at};
  }
  return {};
}

std::vector<std::vector<double>> drawn_effects(const std::string& cause, const KnownTable& table,
                                               int draws, RandomEngine& random) {
  std::vector<std::vector<double>> effects;
  if (table.sample && cause != "nvls_off") return effects;
  const NcclInputs inputs = inputs_of(table);
  for (int draw = 0; draw < draws; ++draw) {
    const std::optional<FaultyMachine> machine = MadeFault(inputs, random).make(cause);
    if (!machine) continue;
    std::vector<double> effect = factors_of(*machine, inputs, table);
    double most = 0;
    for (std::size_t i = 0; i < effect.size(); ++i) {
      effect[i] += machine->late_us * 1e-6 / table.table.times[i].time.count();
      most = std::max(most, effect[i]);
      effect[i] = std::log(effect[i]);
    }
    if (most >= visible) effects.push_back(std::move(effect));
  }
  return effects;
}

}  // namespace collbench
