// What was found in a job's logs, as text for people, a page, JSON, CSV and Markdown, and its
// records in the formats of other tools.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/logs/job_log.h"
#include "bench/logs/job_verdict.h"
#include "heuristics/exports/export_rules.h"

namespace collbench {

/// What the job's collectives would take on a machine, and with the best choice inside its library.
struct ChoiceOnMachine {
  std::size_t row = 0;  // of JobVerdict::sizes
  std::string played;   // "ring, Simple"; what the library would take if the log does not say
  Seconds expected{0};  // of that
  std::string best;     // "nvls, Simple"
  Seconds best_time{0};
  double regret() const { return expected / best_time - 1; }
};
/// For each row of all-reduces of at least two ranks whose place on the machine is known. Throws as
/// machine() does.
std::vector<ChoiceOnMachine> choices_on(const std::string& topology, const JobLog& job,
                                        const JobVerdict& verdict);

/// The rules of the policy `auto` on a machine for the numbers of ranks and the sizes that the job
/// reduces, among what the form of another library can name. Throws as machine() does, and
/// InvalidArgument if there is no all-reduce of at least two ranks whose place there is known.
SelectionTable rules_for_job(const std::string& topology, const RuleFormat& format,
                             const JobLog& job, const JobVerdict& verdict);

struct JobReport {
  const JobLog& job;
  const JobVerdict& verdict;
  std::vector<ChoiceOnMachine> choices;  // empty: no machine was named
};

void write_job_text(std::ostream& out, const JobReport& report);
void write_job_markdown(std::ostream& out, const JobReport& report);
/// A page that works offline and needs no script.
void write_job_html(std::ostream& out, const JobReport& report);
/// One object; docs/logs.md has its keys.
void write_job_json(std::ostream& out, const JobReport& report);
/// A row per communicator, kind and size.
void write_job_csv(std::ostream& out, const JobReport& report);

// A job's records in the formats of other tools, a file per rank.

/// NCCL Inspector's lines (v4.0), as rank<r>.log in `folder`, which is made if it is not
/// there. Times are whole microseconds, as NCCL writes them; records without a duration are left
/// out, as it does. Throws Unavailable if the folder cannot be written.
void write_inspector_files(const JobLog& job, const std::string& folder);

/// PyTorch Flight Recorder's JSON (version 2.10), as fr_rank_<r>.json, with states and durations.
/// Sizes are in elements of f32. Throws likewise.
void write_flight_recorder_files(const JobLog& job, const std::string& folder);

}  // namespace collbench
