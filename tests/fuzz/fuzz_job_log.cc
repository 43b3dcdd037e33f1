// Fuzzes the readers of jobs' logs and what is concluded: any text is a log or an InvalidArgument,
// and of any log there is a report.
#include <sstream>

#include "tests/fuzz/fuzz_target.h"

#include "bench/logs/job_report.h"
#include "bench/logs/job_verdict.h"
#include "bench/logs/log_readers.h"
#include "core/error.h"

FUZZ_TARGET(job_log, input) {
  using namespace collbench;
  JobLog job;
  try {
    read_log(input, "fuzz.0.log", job);
    read_log(input, "fuzz.1.log", job);
  } catch (const InvalidArgument&) {
    return;  // Not a log.
  }
  const JobVerdict verdict = judge_job(job, {});
  std::ostringstream out;
  write_job_text(out, {job, verdict, {}});
  write_job_markdown(out, {job, verdict, {}});
  write_job_json(out, {job, verdict, {}});
  write_job_csv(out, {job, verdict, {}});
}
