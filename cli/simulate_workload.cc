// `collbench simulate --workload`: a job's step, or one of a table, on other networks.
#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "bench/logs/job_files.h"
#include "bench/logs/job_replay.h"
#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/simulate_options.h"
#include "cli/terminal.h"
#include "core/plain_text.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

constexpr OptionRow job_workload_rows[] = {
    {"What to simulate", "workload", "", "LOGS", "",
     "a step of a job whose logs these are, or of a table as for train: all-reduces and overlap"},
};

/// A table by its name or content, or else a job's logs.
ReplayedJob job_named(const std::string& name) {
  const std::vector<std::string> shipped = shipped_workloads();
  const bool is_table =
      name.ends_with(".csv") || std::find(shipped.begin(), shipped.end(), name) != shipped.end();
  if (is_table) return {find_workload(name), 0, {}, Seconds{0}, {}};
  JobLog job = read_job({name});
  const JobVerdict verdict = judge_job(job, {});
  return replayed_job(job, verdict);
}

std::vector<int> worker_counts_of(const Settings& settings, const std::string& topology,
                                  int recorded) {
  if (!settings.text("workers").empty()) return settings.worker_counts("workers");
  const int hosts = machine(topology, recorded).topology.hosts();
  return {hosts};
}

}  // namespace

std::span<const OptionRow> simulated_workload_rows() { return job_workload_rows; }

int simulate_workload(const Settings& settings) {
  const ReplayedJob job = job_named(settings.text("workload"));
  for (const std::string& remark : job.remarks) std::cerr << "note: " << remark << '\n';
  std::vector<ReplayedStep> steps;
  ProgressLine progress(use_progress(settings.text("progress")));
  if (!job.transfers.empty()) steps.push_back(replay_as_recorded(job));
  for (const std::string& topology : simulated_topologies_of(settings)) {
    for (const int workers : worker_counts_of(settings, topology, job.ranks)) {
      for (const std::string& algorithm : settings.algorithms()) {
        const auto show = [&](std::size_t at, std::size_t buckets) {
          progress.show(fmt::format("{} on {}, {} workers: all-reduce {}/{}", algorithm, topology,
                                    workers, at + 1, buckets));
        };
        steps.push_back(replay_on(job, topology, algorithm, workers, show));
      }
    }
  }
  progress.clear();
  if (settings.text("json") != "-") {
    const ReplayedStep& first = steps.front();
    std::cout << fmt::format("# {}: {} of {}, {}\n", job.workload.sample,
                             counted(static_cast<std::int64_t>(first.buckets), "all-reduce"),
                             to_string(first.bytes), job.workload.source);
    if (!job.workload.measured) {
      std::cout << "# what is computed beside them is not known: all counts as exposed\n";
    }
    if (job.with_waiting > Seconds{0}) {
      std::cout << fmt::format("# rank 0 spent {} in them, with its waiting for other ranks\n",
                               to_string(job.with_waiting));
    }
    std::cout << replay_table(steps);
  }
  write_output(settings.text("json"), [&](std::ostream& out) { out << replay_json(steps); });
  return exit_ok;
}

}  // namespace collbench
