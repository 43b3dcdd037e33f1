#include "cli/run_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/measure/case_filter.h"
#include "bench/reports/columns.h"
#include "bench/reports/formats.h"
#include "cli/remote.h"
#include "core/error.h"
#include "core/suggest.h"
#include "transports/cuda/devices.h"
#include "transports/faults/injected_fault.h"
#include "transports/world/core_order.h"

namespace collbench {
namespace {

constexpr const char* what_to_run = "What to run";
constexpr const char* measuring = "Measuring";

constexpr OptionRow run_rows[] = {
    {what_to_run, "algo", "A", "NAME[,..]", "auto",
     "ring, ring:segments=4, file:x.xml, ...; auto, all, nccl"},
    {what_to_run, "workers", "W", "N[,..]", "2", "workers; 2,4,8 or 1:8 or 2:64:x2 for several"},
    {what_to_run, "backend", "B", "NAME[,..]", "auto",
     "auto, shm (threads of a process), grpc, cuda, gloo, mpi, nccl"},
    {what_to_run, "isolate", "", "", "", "shm, cuda: each worker is a process"},
    {what_to_run, "private-buffers", "", "", "", "shm: processes whose buffers no other can read"},
    {what_to_run, "transport", "", "NAME", "raw",
     "grpc: raw or tf-recvbuf (TensorFlow's encoding)"},
    {what_to_run, "devices", "", "GPU[,..]", "",
     "cuda: gpu:0,gpu:2, ...; all that there are by default"},
    {what_to_run, "logical-devices", "", "N", "", "cuda: N workers on each, in place of --workers"},
    {what_to_run, "executor", "", "NAME", "auto", "cuda: auto, graph or persistent (docs/gpus.md)"},
    {what_to_run, "nccl-library", "", "FILE", "", "nccl: load it instead of libnccl.so.2"},
    {what_to_run, "checksum", "", "", "", "shm, grpc: compare every message with its CRC-32C"},
    {what_to_run, "inject", "", "FAULT[,..]", "",
     "faults to suffer, as in kill:rank=1:message=8 (docs/faults.md)"},
    {what_to_run, "datatype", "d", "TYPE", "f32", "f16, bf16, f32, f64, i32, i64, u8"},
    {what_to_run, "op", "o", "OP", "sum", "sum, prod, min, max, avg"},
    {what_to_run, "root", "r", "N", "", "taken for nccl-tests' sake; an all-reduce has no root"},
    {what_to_run, "in-place", "", "", "", "input and output are one buffer (the default)"},
    {what_to_run, "out-of-place", "", "", "", "they are two"},
    {what_to_run, "buffers", "", "STATE", "produced",
     "hot (untouched), produced (rewritten) or cold (uncached)"},
    {what_to_run, "filter", "F", "EXPR", "",
     "only cases where e.g. 'bytes>=1M workers:(4|8)' holds"},

    {sizes_group, "minbytes", "b", "SIZE", "1K", "smallest vector; K, M, G are binary"},
    {sizes_group, "maxbytes", "e", "SIZE", "64M", "largest vector"},
    {sizes_group, "stepfactor", "f", "X", "4", "each size is X times the one before"},
    {sizes_group, "stepbytes", "i", "SIZE", "", "each size is SIZE more than the one before"},

    {measuring, "iters", "n", "N", "auto", "timed iterations; auto stops at --target-ci"},
    {measuring, "warmup-iters", "w", "N", "5", "iterations before timing"},
    {measuring, "target-ci", "", "PERCENT", "2%", "stop at this half width of the 95% interval"},
    {measuring, "max-time", "", "TIME", "1s", "or after so long per case"},
    {measuring, "trial", "", "TIME|off", "300ms", "auto: try close algorithms first, for so long"},
    {measuring, "run-cycles", "N", "N", "1", "run all so many times, with new workers each time"},
    {measuring, "check", "c", "0|1", "1", "compare results with the exact ones"},
    {measuring, "timeout", "T", "SEC", "60", "a worker silent for so long is lost"},
    {measuring, "seed", "", "N", "1", "of all random choices"},
    {measuring, "pin", "", "HOW", "compact",
     "rank r on the r-th core: compact, scatter, none or 0,2-5"},
    {measuring, "min-busbw", "", "SIZE:RATE", "", "exit 1 if slower, as in 64M:4GB/s; a list"},
    {measuring, "skip-unavailable", "", "", "", "skip back ends that cannot run; 77 if all"},

    {output_group, "format", "", "NAME", "table",
     "on standard output: table, csv, ... (docs/formats.md)"},
    {output_group, "columns", "", "NAME[,..]", "",
     "of the table, as in size,p50,busbw (docs/formats.md)"},
    {output_group, "sort", "", "NAME[,..]", "",
     "rows of the table by columns; -busbw: largest first"},
    {output_group, "json", "J", "FILE", "",
     "all samples and the environment; - is standard output"},
    {output_group, "csv", "", "FILE", "", "one row per case"},
    {output_group, "markdown", "", "FILE", "", "the table as Markdown, for issues"},
    {output_group, "raw-samples", "", "", "", "CSV: one row per sample instead"},
    {output_group, "gbench", "", "FILE", "", "Google Benchmark's JSON"},
    {output_group, "color", "", "WHEN", "auto", "auto, always, never"},
    {output_group, "progress", "", "WHEN", "auto", "auto, on, off"},
    {output_group, "quiet", "q", "", "", "only the rows"},
    {output_group, "verbose", "v", "", "", "say where settings came from"},
    {output_group, "list", "l", "", "", "list the cases, run nothing"},
    {output_group, "dry-run", "", "", "", "prove that everything can run, run nothing"},

    {settings_group, "config", "", "FILE", "", "read settings from FILE as well"},
    {settings_group, "dump-config", "", "", "", "print the settings in force as a file"},
};

std::string one_of(const Settings& settings, const std::string& name,
                   const std::vector<std::string>& known) {
  const std::string& value = settings.text(name);
  require(std::find(known.begin(), known.end(), value) != known.end(),
          fmt::format("{}: unknown '{}'.{} Known are {}", settings.label(name), value,
                      did_you_mean(value, known), fmt::join(known, ", ")));
  return value;
}

/// The names of columns that an option lists, each perhaps led by "-" if `sorts`.
std::vector<std::string> columns_of(const Settings& settings, const char* option, bool sorts) {
  if (!settings.declares(option) || settings.text(option).empty()) return {};
  const std::vector<std::string> known = column_names();
  std::vector<std::string> names = parse_list(settings.label(option), settings.text(option));
  for (const std::string& name : names) {
    const std::string column = sorts && name.starts_with('-') ? name.substr(1) : name;
    require(std::find(known.begin(), known.end(), column) != known.end(),
            fmt::format("{}: unknown column '{}'.{} Known are {}", settings.label(option), column,
                        did_you_mean(column, known), fmt::join(known, ", ")));
  }
  return names;
}

void pin_as_asked(const Settings& settings, Sampling& sampling) {
  const std::string& how = settings.text("pin");
  sampling.pin = how != "none";
  if (how == "scatter") sampling.cpus = scattered(usable_core_sites());
  // A word that does not begin like a list is a name, perhaps a misspelt one.
  if (!how.empty() && how[0] >= '0' && how[0] <= '9') {
    sampling.cpus = parse_cpu_list(settings.label("pin"), how);
    for (const int cpu : sampling.cpus) {
      const auto sites = usable_core_sites();
      require(
          std::any_of(sites.begin(), sites.end(), [&](auto site) { return site.cpu == cpu; }),
          fmt::format("{}: this process may not run on processor {}", settings.label("pin"), cpu));
    }
  } else {
    one_of(settings, "pin", {"compact", "scatter", "none"});
  }
}

/// The GPUs that are named, and with --logical-devices as many workers on each.
void place_on_devices(const Settings& settings, Sweep& sweep) {
  sweep.common.devices = settings.text("devices");
  if (!settings.given("logical-devices")) return;
  const std::string label = settings.label("logical-devices");
  const auto each = parse_count(label, settings.text("logical-devices"), 1, 1024);
  require(!settings.given("workers"),
          fmt::format("{} gives the number of workers; leave --workers out", label));
  // Without a GPU the case is listed as for one; running it says what is missing.
  const std::size_t here = std::max<std::size_t>(find_cuda_devices().devices.size(), 1);
  const std::string& named = sweep.common.devices;
  const std::size_t gpus =
      named.empty() ? here : parse_list(settings.label("devices"), named).size();
  sweep.workers = {static_cast<int>(each) * static_cast<int>(gpus)};
}

Sweep sweep_of(const Settings& settings, const std::optional<LaunchedWorker>& worker) {
  Sweep sweep;
  sweep.algorithms = parse_list(settings.label("algo"), settings.text("algo"));
  sweep.backends = parse_list(settings.label("backend"), settings.text("backend"));
  sweep.workers = parse_worker_counts(settings.label("workers"), settings.text("workers"));
  read_sizes(settings, sweep);
  const std::string_view place = settings.pick("in-place", "out-of-place");
  const bool both = place.empty() && settings.text("format") == "nccl";
  sweep.out_of_place = both || place == "out-of-place";
  sweep.in_place = both || place != "out-of-place";
  sweep.common.type = parse_data_type(settings.text("datatype"));
  sweep.common.op = parse_reduce_op(settings.text("op"));
  sweep.common.buffers = parse_buffers(settings.text("buffers"));
  sweep.common.private_buffers = settings.flag("private-buffers");
  sweep.common.isolate = settings.flag("isolate") || settings.flag("private-buffers");
  sweep.common.checksum = settings.flag("checksum");
  sweep.common.inject = settings.text("inject");
  parse_injected_faults(sweep.common.inject);
  if (worker) fit_to_workers(*worker, settings, sweep);
  sweep.common.transport = one_of(settings, "transport", {"raw", "tf-recvbuf"});
  sweep.executor = one_of(settings, "executor", {"auto", "graph", "persistent"});
  if (sweep.executor == "auto") sweep.executor.clear();
  place_on_devices(settings, sweep);
  return sweep;
}

}  // namespace

void read_sizes(const Settings& settings, Sweep& sweep) {
  const auto size = [&](const char* name) {
    return parse_size_option(settings.label(name), settings.text(name));
  };
  sweep.first = size("minbytes");
  sweep.last = size("maxbytes");
  // A single bound of nccl-tests' habit "-b 128M" means that size alone, not an empty range.
  if (sweep.first > sweep.last && !settings.given("maxbytes")) sweep.last = sweep.first;
  if (sweep.first > sweep.last && !settings.given("minbytes")) sweep.first = sweep.last;
  if (settings.pick("stepfactor", "stepbytes") == "stepbytes") {
    sweep.step = size("stepbytes");
    require(sweep.step.count > 0, fmt::format("{} must be above 0", settings.label("stepbytes")));
  } else {
    sweep.factor = parse_number(settings.label("stepfactor"), settings.text("stepfactor"));
    require(sweep.factor > 1,
            fmt::format("{} must be above 1 (got {})", settings.label("stepfactor"), sweep.factor));
  }
}

std::span<const OptionRow> run_option_rows() {
  static const std::vector<OptionRow> all = [] {
    std::vector<OptionRow> merged(std::begin(run_rows), std::end(run_rows));
    const auto after = std::find_if(merged.begin(), merged.end(),
                                    [](const OptionRow& row) { return row.group != what_to_run; });
    merged.insert(after, worker_option_rows().begin(), worker_option_rows().end());
    return merged;
  }();
  return all;
}

std::vector<Case> cases_of(const Settings& settings, const std::optional<LaunchedWorker>& worker) {
  if (settings.given("root"))
    parse_count(settings.label("root"), settings.text("root"), -1, 65'535);
  const auto filter = parse_filter(settings.text("filter"));
  std::vector<Case> cases = sweep_cases(sweep_of(settings, worker));
  std::erase_if(cases, [&](const Case& point) { return !matches(filter, point); });
  require(!cases.empty(), fmt::format("{} leaves no case", settings.label("filter")));
  return cases;
}

Sampling sampling_of(const Settings& settings) {
  const auto count = [&](const char* name, std::int64_t least, std::int64_t most) {
    return parse_count(settings.label(name), settings.text(name), least, most);
  };
  Sampling sampling;
  if (settings.text("iters") != "auto") {
    sampling.iterations = static_cast<int>(count("iters", 1, 100'000'000));
  }
  sampling.warmup = static_cast<int>(count("warmup-iters", 0, 100'000'000));
  sampling.target_interval =
      parse_fraction(settings.label("target-ci"), settings.text("target-ci"));
  sampling.max_time =
      parse_positive_duration(settings.label("max-time"), settings.text("max-time"));
  sampling.trial = settings.text("trial") == "off"
                       ? Seconds{0}
                       : parse_positive_duration(settings.label("trial"), settings.text("trial"));
  sampling.timeout = parse_positive_duration(settings.label("timeout"), settings.text("timeout"));
  sampling.check = count("check", 0, 1'000'000) > 0;
  sampling.seed =
      static_cast<std::uint64_t>(count("seed", 0, std::numeric_limits<std::int64_t>::max()));
  pin_as_asked(settings, sampling);
  return sampling;
}

Outputs outputs_of(const Settings& settings) {
  Outputs outputs;
  outputs.console = one_of(settings, "format", record_format_names());
  outputs.raw_samples = settings.flag("raw-samples");
  bool taken = settings.given("format") && outputs.console != "table";
  for (const std::string& name : record_format_names()) {
    if (!settings.declares(name) || settings.text(name).empty()) continue;
    if (settings.text(name) != "-") {
      outputs.files[name] = settings.text(name);
      continue;
    }
    require(!taken, fmt::format("{}: standard output already carries another format",
                                settings.label(name)));
    taken = true;
    outputs.console = name;
  }
  outputs.columns = columns_of(settings, "columns", false);
  outputs.sort = columns_of(settings, "sort", true);
  return outputs;
}

std::vector<BandwidthGate> gates_of(const Settings& settings) {
  std::vector<BandwidthGate> gates;
  if (settings.text("min-busbw").empty()) return gates;
  const std::string label = settings.label("min-busbw");
  for (const std::string& gate : parse_list(label, settings.text("min-busbw"))) {
    gates.push_back(parse_bandwidth_gate(label, gate));
  }
  return gates;
}

}  // namespace collbench
