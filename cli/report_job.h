// What `logs` and `profile` have in common: the report of a job and its options.
#pragma once

#include <span>

#include "bench/logs/job_log.h"
#include "cli/settings.h"

namespace collbench {

/// --topo, --expect-busbw, --check, and the outputs.
std::span<const OptionRow> job_report_rows();

/// Whether standard output gets something for programs, beside which nothing else may stand.
bool job_report_is_printed(const Settings& settings);

/// Throws as report_job() does for its options, before there is a job.
void check_job_report(const Settings& settings);

/// Judges the job, prints the report and writes the files asked for. Returns the exit code: 1 with
/// --check if something holds the job up. Throws InvalidArgument naming the option for a value that
/// is wrong.
int report_job(JobLog job, const Settings& settings);

}  // namespace collbench
