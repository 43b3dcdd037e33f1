#include "cli/run_options.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "bench/measure/case_filter.h"
#include "cli/remote.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/parse.h"
#include "transports/cuda/devices.h"
#include "transports/faults/injected_fault.h"
#include "transports/world/backend.h"
#include "transports/world/core_order.h"

namespace collbench {
namespace {

constexpr const char* what_to_run = "What to run";
constexpr const char* measuring = "Measuring";

constexpr OptionRow what_to_run_rows[] = {
    {what_to_run, "algo", "A", "NAME[,..]", "auto",
     "ring, ring:segments=4, ring@grpc, file:x.xml; auto, all, nccl"},
    {what_to_run, "workers", "W", "N[,..]", "2", "workers; 2,4,8 or 1:8 or 2:64:x2 for several"},
    {what_to_run, "backend", "B", "NAME[,..]", "auto",
     "auto, shm (threads of a process), grpc, cuda, gloo, mpi, nccl"},
    {what_to_run, "isolate", "", "", "", "shm, cuda: each worker is a process"},
    {what_to_run, "private-buffers", "", "", "", "shm: processes whose buffers no other can read"},
    {what_to_run, "transport", "", "NAME", "raw",
     "grpc: raw, tcp (fast short messages) or tf-recvbuf"},
    {what_to_run, "devices", "", "GPU[,..]", "", "cuda: gpu:0,gpu:2, ...; all by default"},
    {what_to_run, "logical-devices", "", "N", "", "cuda: N workers on each, in place of --workers"},
    {what_to_run, "executor", "", "NAME", "auto", "cuda: auto, graph or persistent (docs/gpus.md)"},
    {what_to_run, "nccl-library", "", "FILE", "", "nccl: load it instead of libnccl.so.2"},
    {what_to_run, "checksum", "", "", "", "shm, grpc: compare every message with its CRC-32C"},
    {what_to_run, "inject", "", "FAULT[,..]", "",
     "inject faults such as kill:rank=1:message=8 (docs/faults.md)"},
    {what_to_run, "datatype", "d", "TYPE[,..]", "f32", "f16, bf16, f32, f64, i32, i64, u8; all"},
    {what_to_run, "op", "", "OP[,..]", "sum", "sum, prod, min, max, avg; all"},
    {what_to_run, "collective", "", "NAME", "all-reduce",
     "reduce-scatter, all-gather, broadcast or reduce"},
    {what_to_run, "root", "r", "N", "0", "root rank of a broadcast or reduce"},
    {what_to_run, "groups", "", "GROUPS", "",
     "disjoint groups side by side: 2x4, or 0-3;4-7 (shm, grpc, mpi)"},
    {what_to_run, "counts", "", "N,..", "",
     "elements of each worker's share of a reduce-scatter or all-gather: 1M,2M,0,4K"},
    {what_to_run, "in-place", "", "", "", "input and output share a buffer (the default)"},
    {what_to_run, "out-of-place", "", "", "", "input and output are separate buffers"},
    {what_to_run, "buffers", "", "STATE", "produced",
     "hot (untouched), produced (rewritten) or cold (uncached)"},
    {what_to_run, "filter", "F", "EXPR", "", "keep only matching cases: 'bytes>=1M workers:(4|8)'"},
};

constexpr OptionRow measuring_rows[] = {
    {measuring, "iters", "n", "N", "auto", "timed iterations; auto stops at --target-ci"},
    {measuring, "warmup-iters", "w", "N", "5", "iterations before timing"},
    {measuring, "target-ci", "", "PERCENT", "2%", "stop at this half width of the 95% interval"},
    {measuring, "max-time", "", "TIME", "1s", "or stop after this long per case"},
    {measuring, "trial", "", "TIME|off", "300ms",
     "auto: time to try algorithms that are predicted to be close"},
    {measuring, "run-cycles", "N", "N", "1",
     "repeat everything N times, with new workers each time"},
    {measuring, "rank-times", "", "", "",
     "keep every rank's time of each iteration, for 'collbench logs'"},
    {measuring, "check", "c", "0|1", "1", "compare results with the exact ones"},
    {measuring, "timeout", "T", "SEC", "60", "give up on a worker that is silent for this long"},
    {measuring, "seed", "", "N", "1", "seed of all random choices"},
    {measuring, "observe", "", "FILE", "",
     "write rank 0's sums of known inputs, for 'algos order'"},
    {measuring, "pin", "", "HOW", "compact",
     "rank r on the r-th core: compact, scatter, none or 0,2-5"},
    {measuring, "min-busbw", "", "SIZE:RATE", "",
     "exit 1 if slower: 64M:4GB/s; several with commas"},
    {measuring, "skip-unavailable", "", "", "",
     "skip back ends that cannot run; exit 77 if none can"},
};

constexpr OptionRow dry_run_row[] = {
    {output_group, "dry-run", "", "", "", "prove that everything can run, run nothing"}};

void pin_as_asked(const Settings& settings, Sampling& sampling) {
  const std::string& how = settings.text("pin");
  sampling.pin = how != "none";
  if (how == "scatter") sampling.cpus = scattered(usable_core_sites());
  // A word that does not begin like a list is a name, perhaps a misspelt one.
  if (!how.empty() && how[0] >= '0' && how[0] <= '9') {
    sampling.cpus = parse_cpu_list(settings.label("pin"), how);
    const auto sites = usable_core_sites();
    for (const int cpu : sampling.cpus) {
      require(
          std::any_of(sites.begin(), sites.end(), [&](auto site) { return site.cpu == cpu; }),
          fmt::format("{}: this process may not run on processor {}", settings.label("pin"), cpu));
    }
  } else {
    settings.one_of("pin", option_words("pin"));
  }
}

/// The GPUs that are named, and with --logical-devices as many workers on each.
void place_on_devices(const Settings& settings, Sweep& sweep) {
  sweep.common.devices = settings.text("devices");
  if (!settings.given("logical-devices")) return;
  const int each = settings.count("logical-devices", 1, 1024);
  require(!settings.given("workers"),
          fmt::format("{} gives the number of workers; leave --workers out",
                      settings.label("logical-devices")));
  // Without a GPU the case is listed as for one; running it says what is missing.
  const std::size_t here = std::max<std::size_t>(find_cuda_devices().devices.size(), 1);
  const std::size_t named = settings.list("devices").size();
  sweep.workers = {each * static_cast<int>(named == 0 ? here : named)};
}

/// A fault of a rank that does not exist would never strike, and a case would look sound.
void check_faults(const Settings& settings, const Sweep& sweep) {
  const int least = *std::min_element(sweep.workers.begin(), sweep.workers.end());
  for (const InjectedFault& fault : parse_injected_faults(sweep.common.inject)) {
    require(fault.rank < least && fault.to < least,
            fmt::format("{}: '{}' names rank {}, but ranks of {} workers are 0 to {}",
                        settings.label("inject"), sweep.common.inject,
                        std::max(fault.rank, fault.to), least, least - 1));
  }
}

Sweep sweep_of(const Settings& settings, const std::optional<LaunchedWorker>& worker) {
  Sweep sweep;
  sweep.algorithms = settings.algorithms();
  sweep.backends = settings.list("backend");
  sweep.workers = settings.worker_counts("workers");
  read_sizes(settings, sweep);
  const std::string_view place = settings.pick("in-place", "out-of-place");
  const bool both = place.empty() && settings.text("format") == "nccl";
  sweep.out_of_place = both || place == "out-of-place";
  sweep.in_place = both || place != "out-of-place";
  read_collective(settings, sweep);
  sweep.common.buffers = parse_buffers(settings.text("buffers"));
  sweep.common.private_buffers = settings.flag("private-buffers");
  sweep.common.isolate = settings.flag("isolate") || settings.flag("private-buffers");
  sweep.common.checksum = settings.flag("checksum");
  sweep.common.inject = settings.text("inject");
  if (worker) fit_to_workers(*worker, sweep);
  sweep.common.transport = settings.one_of("transport", option_words("transport"));
  sweep.executor = settings.one_of("executor", option_words("executor"));
  if (sweep.executor == "auto") sweep.executor.clear();
  place_on_devices(settings, sweep);
  check_faults(settings, sweep);
  return sweep;
}

/// nccl-tests, too, takes as many whole elements as a size has, which may be none.
void note_empty_vectors(const Settings& settings, const std::vector<Case>& cases) {
  const auto is_empty = [](const Case& point) {
    return point.bytes.count == 0 && point.counts.empty();
  };
  const auto empty = std::ranges::find_if(cases, is_empty);
  if (empty == cases.end() || settings.size("minbytes") == Bytes{0} || !speaks_for_all()) return;
  std::cerr << fmt::format(
      "note: sizes below one element of {} ({}) have 0 bytes, as with "
      "nccl-tests: vectors are whole elements\n",
      to_string(empty->type), to_string(Bytes{size_of(empty->type)}));
}

/// Counts say how large the vector is, and how many workers there are unless that is said.
void read_counts(const Settings& settings, Sweep& sweep) {
  sweep.common.counts = settings.text("counts");
  if (sweep.common.counts.empty()) return;
  for (const char* size : {"minbytes", "maxbytes"}) {
    require(!settings.given(size), fmt::format("{} says how large the vector is; leave {} out",
                                               settings.label("counts"), settings.label(size)));
  }
  if (settings.given("workers")) return;
  if (!sweep.common.groups.empty()) return;
  sweep.workers = {static_cast<int>(split_at(sweep.common.counts, ',').size())};
}

}  // namespace

CollectiveKind collective_asked(const Settings& settings) {
  return parse_collective(settings.one_of("collective", option_words("collective")));
}

Collective rooted_asked(const Settings& settings) {
  const CollectiveKind kind = collective_asked(settings);
  return {kind, has_root(kind) ? settings.count("root", 0, 65'535) : 0};
}

void read_collective(const Settings& settings, Sweep& sweep) {
  sweep.common.collective = collective_asked(settings);
  // nccl-tests take a root everywhere, and -1 for each in turn; where there is none it means
  // nothing.
  sweep.common.groups = settings.text("groups");
  if (!sweep.common.groups.empty() && !settings.given("workers")) {
    sweep.workers = {ranks_of_groups(sweep.common.groups)};
  }
  read_counts(settings, sweep);
  const bool rooted = has_root(sweep.common.collective);
  const int root = settings.count("root", rooted ? 0 : -1, 65'535);
  if (rooted) sweep.common.root = root;
  if (!rooted) settings.disregard("root");
}

void read_sizes(const Settings& settings, Sweep& sweep) {
  sweep.first = settings.size("minbytes");
  sweep.last = settings.size("maxbytes");
  // A single bound of nccl-tests' habit "-b 128M" means that size alone, not an empty range.
  if (sweep.first > sweep.last && !settings.given("maxbytes")) sweep.last = sweep.first;
  if (sweep.first > sweep.last && !settings.given("minbytes")) sweep.first = sweep.last;
  if (settings.pick("stepfactor", "stepbytes") == "stepbytes") {
    sweep.step = settings.size("stepbytes");
    require(sweep.step.count > 0, fmt::format("{} must be above 0", settings.label("stepbytes")));
  } else {
    sweep.factor = settings.number("stepfactor");
    require(sweep.factor > 1,
            fmt::format("{} must be above 1 (got {})", settings.label("stepfactor"), sweep.factor));
  }
}

std::span<const OptionRow> size_option_rows() {
  static constexpr OptionRow rows[] = {
      {sizes_group, "minbytes", "b", "SIZE", "1K", "smallest vector; K, M, G are binary"},
      {sizes_group, "maxbytes", "e", "SIZE", "64M", "largest vector"},
      {sizes_group, "stepfactor", "f", "X", "4", "each size is X times the one before"},
      {sizes_group, "stepbytes", "i", "SIZE", "", "each size is SIZE more than the one before"},
  };
  return rows;
}

std::span<const OptionRow> record_output_rows() {
  static constexpr OptionRow rows[] = {
      {output_group, "format", "", "NAME", "table",
       "on standard output: table, csv, ... (docs/formats.md)"},
      {output_group, "columns", "", "NAME[,..]", "",
       "columns of the table: size,p50,busbw (docs/formats.md)"},
      {output_group, "sort", "", "NAME[,..]", "",
       "sort rows by these columns; -busbw: largest first"},
      {output_group, "json", "J", "FILE", "",
       "all samples and the environment; - is standard output"},
      {output_group, "csv", "", "FILE", "", "one row per case"},
      {output_group, "markdown", "", "FILE", "", "the table as Markdown, for issues"},
      {output_group, "raw-samples", "", "", "", "CSV: one row per sample instead"},
      {output_group, "gbench", "", "FILE", "", "Google Benchmark's JSON"},
      {output_group, "color", "", "WHEN", "auto", "auto, always, never"},
      {output_group, "progress", "", "WHEN", "auto", "auto, on, off"},
      {output_group, "quiet", "q", "", "", "print only the rows"},
      {output_group, "verbose", "v", "", "", "say where settings came from and why auto chose"},
      {output_group, "list", "l", "", "", "list the cases, run nothing"},

      {settings_group, "config", "", "FILE", "", "read settings from FILE as well"},
      {settings_group, "dump-config", "", "", "", "print the settings in force as a file"},
  };
  return rows;
}

std::span<const OptionRow> run_option_rows() {
  static const std::vector<OptionRow> rows =
      concatenated({what_to_run_rows, worker_option_rows(), size_option_rows(), measuring_rows,
                    record_output_rows(), dry_run_row});
  return rows;
}

std::vector<Case> filtered(const Settings& settings, std::vector<Case> cases) {
  const auto filter = parse_filter(settings.text("filter"));
  std::erase_if(cases, [&](const Case& point) { return !matches(filter, point); });
  require(!cases.empty(), fmt::format("{} leaves no case", settings.label("filter")));
  note_empty_vectors(settings, cases);
  return cases;
}

/// The values of a list, where "all" stands for every one that there is.
template <typename Value>
std::vector<Value> all_named(const Settings& settings, const char* option,
                             std::span<const Value> all, Value (*parse)(std::string_view)) {
  std::vector<Value> values;
  bool has_all = false;
  for (const std::string& name : settings.list(option)) {
    has_all |= name == "all";
    if (name != "all") values.push_back(parse(name));
  }
  return has_all ? std::vector<Value>(all.begin(), all.end()) : values;
}

/// Options of back ends that no case has are without effect.
void disregard_others(const Settings& settings, const std::vector<Case>& cases) {
  const auto any_backend = [&](auto has) {
    return std::ranges::any_of(cases,
                               [&](const Case& point) { return has(find_backend(point.backend)); });
  };
  for (const char* option : {"transport", "executor"}) {
    if (!any_backend([&](const Backend& b) { return b.transport_option == option; })) {
      settings.disregard(option);
    }
  }
  if (!any_backend([](const Backend& b) { return b.takes_devices; })) settings.disregard("devices");
  if (!any_backend([](const Backend& b) { return b.on_gpus && b.has_library; })) {
    settings.disregard("nccl-library");
  }
}

std::vector<Case> cases_of(const Settings& settings, const std::optional<LaunchedWorker>& worker) {
  Sweep sweep = sweep_of(settings, worker);
  std::vector<Case> cases;
  for (const DataType type : all_named(settings, "datatype", all_data_types(), parse_data_type)) {
    for (const ReduceOp op : all_named(settings, "op", all_reduce_ops(), parse_reduce_op)) {
      sweep.common.type = type;
      sweep.common.op = op;
      std::ranges::move(sweep_cases(sweep), std::back_inserter(cases));
    }
  }
  if (worker) fit_to_workers(*worker, settings, cases);
  disregard_others(settings, cases);
  return filtered(settings, std::move(cases));
}

Sampling sampling_of(const Settings& settings) {
  Sampling sampling;
  if (settings.text("iters") != "auto") {
    sampling.iterations = settings.count("iters", 1, 100'000'000);
  }
  sampling.warmup = settings.count("warmup-iters", 0, 100'000'000);
  sampling.target_interval = settings.fraction("target-ci");
  sampling.max_time = settings.duration("max-time");
  sampling.trial = settings.text("trial") == "off" ? Seconds{0} : settings.duration("trial");
  if (sampling.iterations > 0) settings.disregard("target-ci");
  sampling.timeout = settings.duration("timeout");
  sampling.rank_times = settings.flag("rank-times");
  sampling.check = settings.count("check", 0, 1'000'000) > 0;
  sampling.seed = settings.seed();
  sampling.observe = settings.text("observe");
  require(sampling.observe != "-", "--observe: name a file; the run prints on standard output");
  pin_as_asked(settings, sampling);
  return sampling;
}

std::vector<BandwidthGate> gates_of(const Settings& settings) {
  std::vector<BandwidthGate> gates;
  for (const std::string& gate : settings.list("min-busbw")) {
    gates.push_back(parse_bandwidth_gate(settings.label("min-busbw"), gate));
  }
  return gates;
}

}  // namespace collbench
