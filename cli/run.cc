// `collbench run`: settings in, records out.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "bench/measure/bound.h"
#include "bench/measure/run_cases.h"
#include "bench/measure/user_buffers.h"
#include "bench/records/environment.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/remote.h"
#include "cli/reporters.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "core/available_memory.h"
#include "core/error.h"
#include "core/plain_text.h"
#include "core/stop_request.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

std::string measured_case(const Case& point) {
  return fmt::format("{:<24} {:<6} workers={:<3} {:>10}  {} {} {}", point.algorithm, point.backend,
                     point.workers, to_string(point.bytes), to_string(point.type),
                     to_string(point.op), point.in_place ? "in place" : "out of place");
}

int list_cases(const std::vector<Case>& cases) {
  for (const Case& point : cases) std::cout << measured_case(point) << '\n';
  return exit_ok;
}

/// Compares with the gates; the slowest cycle of a case counts. Prints each miss.
bool passes(const std::vector<BandwidthGate>& gates, const std::vector<Record>& records) {
  bool all_pass = true;
  for (const BandwidthGate& gate : gates) {
    int found = 0;
    for (const Record& record : records) {
      if (record.point.bytes != gate.bytes || record.measurement.latency_ns.empty()) continue;
      ++found;
      const double median_ns = summarize(record.measurement.latency_ns).median_ns;
      const Bandwidth rate = bus_bandwidth(record, Seconds{median_ns / 1e9});
      if (rate >= gate.least) continue;
      all_pass = false;
      std::cerr << fmt::format("{}collbench: gate failed: {}: busbw {} is below {}\n", speaker(),
                               case_name(record.point), to_string(rate), to_string(gate.least));
    }
    if (found > 0) continue;
    all_pass = false;
    std::cerr << fmt::format("collbench: gate failed: no case of {} was measured\n",
                             to_string(gate.bytes));
  }
  return all_pass;
}

/// The same where gates hold, and where nothing could run.
int exit_code_of(const RunResult& result, const std::vector<BandwidthGate>& gates) {
  const int code = exit_code_of(result);
  if (code != exit_ok) return code;
  if (result.summary.measured == 0 && result.summary.skipped > 0) return exit_skipped;
  return passes(gates, result.records) ? exit_ok : exit_gate_failed;
}

/// Throws for the first case that cannot run, before anything is printed or started; with
/// `--skip-unavailable` the records of cases whose back end is missing say so instead. `all_here`:
/// all workers are on this machine, whose memory they need.
void require_runnable(const RunPlan& plan, bool all_here) {
  std::set<std::string> asked;
  const Bytes available = available_memory();
  for (const Case& point : plan.cases) {
    require_possible(point);
    if (!plan.skip_unavailable && asked.insert(point.backend).second) require_usable(point);
    if (!plan.skip_unavailable) require_elements(point);
    if (all_here) require_memory(point, available);
  }
}

/// `--dry-run`: the cases exist, so flags, sizes and schedules are in order; the rest remains.
int prove_runnable(const RunPlan& plan, bool all_here) {
  require_runnable(plan, all_here);
  std::cout << fmt::format("{} cases can run\n",
                           plan.cases.size() * static_cast<std::size_t>(plan.cycles));
  return exit_ok;
}

/// A file holds the sums of one case, and `algos order` reads them as an all-reduce's of all
/// workers.
void require_one_sum(const std::vector<Case>& cases) {
  require(cases.size() == 1,
          fmt::format("--observe writes the sums of one case, and these are {}", cases.size()));
  const Case& point = cases.front();
  require(point.type == DataType::f32 || point.type == DataType::f64,
          fmt::format("--observe is for f32 and f64, whose sums tell orders apart; not for {}",
                      to_string(point.type)));
  require(point.collective == CollectiveKind::all_reduce && point.op == ReduceOp::sum &&
              point.groups.empty(),
          "--observe is for sums of an all-reduce of all workers, whose order 'algos order' finds; "
          "leave other --collective, --op and --groups out");
}

RunPlan plan_of(const Settings& settings, std::vector<Case> cases, ProgressLine& progress) {
  RunPlan plan;
  plan.cases = std::move(cases);
  plan.sampling = sampling_of(settings);
  if (!plan.sampling.observe.empty()) require_one_sum(plan.cases);
  plan.cycles = settings.count("run-cycles", 1, 1'000'000);
  plan.skip_unavailable = settings.flag("skip-unavailable");
  follow(plan, progress, measured_case);
  plan.bound = [bounds = std::make_shared<MemoryBounds>(plan.sampling.max_time)](
                   const Case& point, const Measurement& measured) {
    return (*bounds)(point, measured);
  };
  return plan;
}

/// What one of the workers that the user starts joins.
JoinSpec job_of(const LaunchedWorker& worker, const Settings& settings, const RunPlan& plan) {
  JoinSpec job = join_spec_of(worker, settings);
  job.pin = plan.sampling.pin;
  job.cpus = plan.sampling.cpus;
  return job;
}

/// Alone or with the other workers of a job, of which rank 0 reports.
int measure(const std::optional<LaunchedWorker>& worker, const Settings& settings,
            std::vector<Case> cases) {
  ProgressLine progress(use_progress(settings.text("progress")));
  RunPlan plan = plan_of(settings, std::move(cases), progress);
  if (settings.flag("dry-run")) return prove_runnable(plan, !worker);
  if (!worker) require_runnable(plan, true);  // else join() does, and its team for each case
  Environment environment = run_environment(settings);
  const bool on_gpus = std::any_of(plan.cases.begin(), plan.cases.end(), [](const Case& point) {
    return find_backend(point.backend).on_gpus;
  });
  if (on_gpus) add_gpus(environment);
  const std::vector<BandwidthGate> gates = gates_of(settings);
  const Outputs outputs = outputs_of(settings, record_format_names());
  const JoinSpec job = worker ? job_of(*worker, settings, plan) : JoinSpec();
  watch_stop_signals();
  if (worker) join(job, plan, environment);
  const bool reports = !worker || job.rank == 0;
  std::optional<ReporterSet> reporters;
  if (reports) reporters.emplace(outputs, plan.sampling);
  const RunResult result =
      run_cases(plan, environment, reports ? reporters->pointers() : std::vector<Reporter*>());
  progress.clear();
  if (reports) {
    reporters->close();
    return exit_code_of(result, gates);
  }
  if (!result.error && !settings.flag("quiet")) {
    std::cerr << fmt::format("{}{} measured as worker {} of {} (by {}); rank 0 has the figures\n",
                             speaker(), counted(result.summary.measured, "case"), job.rank,
                             job.ranks(), job.source);
  }
  return exit_code_of(result, {});
}

// Workers inherit it; they load the library themselves.
void name_nccl_library(const Settings& settings) {
  const std::string& file = settings.text("nccl-library");
  if (!file.empty()) setenv("COLLBENCH_NCCL_LIBRARY", file.c_str(), 1);
}

int run(const Settings& settings) {
  name_nccl_library(settings);
  const std::optional<LaunchedWorker> worker = launched_here(settings);
  std::vector<Case> cases = cases_of(settings, worker);
  if (settings.flag("list")) return list_cases(cases);
  return measure(worker, settings, std::move(cases));
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  const auto files = [](const CLI::App& command) { return config_layers(config_file_of(command)); };
  add_default_command(app, "run", "measure for real (the default)", run_option_rows(), action, run,
                      files);
}

}  // namespace collbench
