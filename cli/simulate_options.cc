#include "cli/simulate_options.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/measure/case_filter.h"
#include "bench/simulated/sweep.h"
#include "cli/run_options.h"
#include "core/error.h"
#include "core/parse.h"
#include "simulator/simulate.h"

namespace collbench {
namespace {

constexpr const char* what_to_simulate = "What to simulate";
constexpr const char* network = "Network";
constexpr const char* disturbance = "Disturbances";
constexpr const char* spread = "Parallel runs and their file";

constexpr OptionRow spread_rows[] = {
    {spread, "output", "o", "FILE", "",
     "JSON Lines, one record per case as it ends; continues FILE if it exists"},
    {spread, "jobs", "j", "N", "auto", "processes; auto is one per core"},
    {spread, "shard", "", "I/N", "auto",
     "only every N-th case, from I = 0; auto asks Slurm, Kubernetes or MPI"},
    {spread, "fresh", "", "", "", "discard what FILE holds and start over"},
};

constexpr OptionRow network_rows[] = {
    {what_to_simulate, "algo", "A", "NAME[,..]", "auto",
     "ring, torus:pincer, ...; nccl (as it would play); auto (by prediction), all"},
    {what_to_simulate, "workers", "W", "N[,..]", "",
     "ranks; 8,64 or 8:64:x2; one per device of --topo by default, 8 without it"},
    {what_to_simulate, "collective", "", "NAME", "all-reduce",
     "reduce-scatter, all-gather, broadcast or reduce"},
    {what_to_simulate, "root", "", "N", "0", "root rank of a broadcast or reduce"},
    {what_to_simulate, "groups", "", "GROUPS", "",
     "disjoint groups of ranks side by side: 2x4, or 0-3;4-7"},
    {what_to_simulate, "counts", "", "N,..", "",
     "elements of each rank's share of a reduce-scatter or all-gather: 1M,2M,0,4K"},
    {what_to_simulate, "datatype", "d", "TYPE", "f32", "f16, bf16, f32, f64, i32, i64, u8"},
    {what_to_simulate, "op", "", "OP", "sum", "sum, prod, min, max, avg"},
    {what_to_simulate, "engine", "E", "NAME", "auto",
     "model, quotient, fluid, simgrid; auto is the cheapest exact one"},
    {what_to_simulate, "check", "", "", "",
     "play on two engines; exit 3 if they differ by more than 1e-9"},
    {what_to_simulate, "real-data", "", "", "", "simgrid: move and add values, and check the sums"},
    {what_to_simulate, "filter", "F", "EXPR", "",
     "keep only matching cases: 'bytes>=1M algo:ring'"},

    {network, "topo", "t", "SPEC[;..]", "star,100Gbps,5us",
     "'collbench topo list' has names; star:8,100Gbps,5us; cluster:{2,4}xdgx-h100; a file"},
    {network, "latency", "", "TIME", "", "latency of links in a file that gives none (net.csv)"},
    {network, "mapping", "", "NAME[,..]", "row-major",
     "ranks to hosts: row-major, snake, rail, or hosts: 3,1,0,2"},
    {network, "posting", "", "NAME[,..]", "eager",
     "a message starts when its sender is ready (eager) or both sides are (rendezvous)"},
    {network, "protocol", "", "NAME[,..]", "auto",
     "protocol of the machine: auto, LL, Simple, ..."},
    {network, "equal-chunks", "", "", "", "cut the vector into equal shares, not whole elements"},
};

constexpr OptionRow disturbance_rows[] = {
    {disturbance, "jitter", "", "TIME", "0", "mean of the exponential delay of each rank's start"},
    {disturbance, "stragglers", "", "R:TIME,..", "", "ranks that start later, and by how much"},
    {disturbance, "slow-hosts", "", "H:X,..", "", "links of host H reach X of their bandwidth"},
    {disturbance, "seed", "", "N", "1", "seed of the jitter"},
};

constexpr OptionRow detail_rows[] = {
    {output_group, "explain", "x", "", "", "say what bounds each case, and show its busiest links"},
    {output_group, "links", "", "FILE", "", "CSV of bytes and utilisation of every link, one case"},
    {output_group, "ranks", "", "FILE", "", "CSV of when each rank and round ends, one case"},
    {output_group, "trace", "", "FILE", "", "messages of one case for ui.perfetto.dev"},
};

Sweep axes_of(const Settings& settings) {
  Sweep axes;
  axes.algorithms = settings.algorithms();
  axes.workers.clear();
  if (!settings.text("workers").empty()) {
    axes.workers = settings.worker_counts("workers");
  } else if (!settings.given("topo")) {
    axes.workers = {8};  // the network that is then simulated has no size of its own
  }
  read_sizes(settings, axes);
  axes.common.type = parse_data_type(settings.text("datatype"));
  axes.common.op = parse_reduce_op(settings.text("op"));
  read_collective(settings, axes);
  axes.common.buffers = Buffers::hot;
  return axes;
}

Simulated simulated_of(const Settings& settings) {
  Simulated simulated;
  simulated.engine = std::string(to_string(parse_engine(settings.text("engine"))));
  simulated.equal_chunks = settings.flag("equal-chunks");
  simulated.real_data = settings.flag("real-data");
  if (settings.text("jitter") != "0") simulated.jitter = settings.duration("jitter");
  simulated.stragglers = settings.text("stragglers");
  simulated.slow_hosts = settings.text("slow-hosts");
  simulated.seed = settings.seed();
  if (simulated.jitter == Seconds{0}) settings.disregard("seed");
  return simulated;
}

std::span<const OptionRow> common_option_rows() {
  static const std::vector<OptionRow> rows = concatenated(
      {network_rows, size_option_rows(), disturbance_rows, record_output_rows(), detail_rows});
  return rows;
}

// "3,1,0,2" is one placement, whose hosts are named; other names are placements each.
std::vector<std::string> mappings_of(const Settings& settings) {
  std::vector<std::string> mappings = settings.list("mapping");
  const bool names_hosts = std::ranges::all_of(
      mappings, [](const std::string& each) { return small_integer_in(each).has_value(); });
  if (!names_hosts) return mappings;
  return {fmt::format("{}", fmt::join(mappings, ","))};
}

}  // namespace

std::span<const OptionRow> simulate_option_rows() {
  static const std::vector<OptionRow> rows =
      concatenated({simulated_workload_rows(), common_option_rows()});
  return rows;
}

std::span<const OptionRow> sweep_option_rows() {
  static const std::vector<OptionRow> rows = concatenated({spread_rows, common_option_rows()});
  return rows;
}

std::vector<std::string> simulated_topologies_of(const Settings& settings) {
  const std::string label = settings.label("topo");
  const std::string& text = settings.text("topo");
  std::vector<std::string> topologies;
  for (const std::string& part : split_at(text, ';')) {
    const std::string word(trimmed(part));
    require(!word.empty(), fmt::format("{}: '{}' has an empty specification", label, text));
    const auto read_range = [&](const std::string& range) {
      return parse_worker_counts(label, range);
    };
    const std::string& latency = settings.text("latency");
    for (const std::string& one : expand_braces(word, read_range)) {
      topologies.push_back(latency.empty() ? one : one + ",latency=" + latency);
    }
  }
  return topologies;
}

std::vector<Case> simulated_cases_of(const Settings& settings, std::vector<std::string>* left_out) {
  SimulatedSweep sweep;
  sweep.topologies = simulated_topologies_of(settings);
  sweep.mappings = mappings_of(settings);
  sweep.postings = settings.list("posting");
  sweep.protocols = settings.list("protocol");
  sweep.axes = axes_of(settings);
  sweep.axes.common.simulated = simulated_of(settings);
  for (const std::string& posting : sweep.postings) parse_posting(posting);
  return filtered(settings, simulated_cases(sweep, left_out));
}

}  // namespace collbench
