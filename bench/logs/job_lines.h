// What is said about a job's logs, in words: text, Markdown and the page have the same lines and
// cells.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/logs/job_report.h"

namespace collbench {

enum class JobHealth : std::uint8_t { good, bad, unknown, plain };

/// One answer, and what it says of the job: `plain` is a figure.
struct JobAnswer {
  std::string text;
  JobHealth health = JobHealth::plain;
};
/// Network, late rank, standstill, the ranks' programs, and what rank 0 spent.
std::vector<JobAnswer> job_answers(const JobReport& report);

/// "NCCL Inspector: 4 files, 48 records of 1 communicator".
std::string job_source_line(const JobReport& report);
/// Hidden communication costs nothing, whatever it waited for. Empty: the logs hold no computing.
std::string job_exposure_line(const JobVerdict& verdict);
/// "mean waiting by rank, us: 2533, 2531, 0, 2536"; empty: not known.
std::string job_wait_line(const JobVerdict& verdict);
/// What was not used, and notes.
std::vector<std::string> job_remarks(const JobLog& job);

/// A communicator's rows of JobVerdict::sizes, with what a machine would take if one was named.
struct JobTable {
  std::string title;                           // "communicator 'DP' (0x5d), 4 ranks on 2 hosts"
  std::vector<std::vector<std::string>> rows;  // cells; the first are the names of the columns
};
/// Of each communicator that has rows.
std::vector<JobTable> job_tables(const JobReport& report);

/// Four digits; "-" for what is not known.
std::string number_cell(double value);

}  // namespace collbench
