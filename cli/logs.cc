// `collbench logs`: what a job's collectives did, whether the network is slow or a rank late.
#include "bench/logs/job_files.h"
#include "cli/declare.h"
#include "cli/report_job.h"

namespace collbench {
namespace {

constexpr OptionRow logs_rows[] = {
    {arguments_group, "FILE", "", "FILE...", "",
     "logs of one job, or folders of them; recognised by their content, gzip unpacked",
     Presence::required},
};

int logs(const Settings& settings) {
  JobLog job = read_job(settings.words("FILE"));
  require_content(job);
  return report_job(std::move(job), settings);
}

}  // namespace

void add_logs(CLI::App& app, Action& action) {
  static const std::vector<OptionRow> rows = concatenated({logs_rows, job_report_rows()});
  add_command(app, "logs", "read a job's logs: is the network slow, or a rank late, and which",
              rows, action, logs);
}

}  // namespace collbench
