// Fuzzes the readers of jobs' logs and what is concluded: any text is a log or an InvalidArgument,
// and of any log there is a report.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string_view>

#include "bench/logs/job_report.h"
#include "bench/logs/job_verdict.h"
#include "bench/logs/log_readers.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace collbench;
  JobLog job;
  try {
    read_log({reinterpret_cast<const char*>(data), size}, "fuzz.0.log", job);
    read_log({reinterpret_cast<const char*>(data), size}, "fuzz.1.log", job);
  } catch (const InvalidArgument&) {
    return 0;  // Not a log.
  }
  const JobVerdict verdict = judge_job(job, {});
  std::ostringstream out;
  write_job_text(out, {job, verdict, {}});
  write_job_markdown(out, {job, verdict, {}});
  write_job_json(out, {job, verdict, {}});
  write_job_csv(out, {job, verdict, {}});
  return 0;
}
