#include "bench/measure/load_watch.h"

#include <chrono>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "core/input_file.h"
#include "core/parse.h"

namespace collbench {
namespace {

// user, nice, system, idle, iowait, irq, softirq, steal of the whole machine, in ticks.
void read_machine(LoadReading& reading) {
  std::istringstream line(first_line("/proc/stat"));
  std::string cpu;
  double ticks[8] = {};
  line >> cpu;
  for (double& value : ticks) line >> value;
  const auto rate = static_cast<double>(sysconf(_SC_CLK_TCK));
  reading.busy = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) / rate;
  reading.stolen = ticks[7] / rate;
}

// Fields 14 and 15 of /proc/PID/stat, counted after the name in parentheses (field 2).
double process_time(pid_t process) {
  const std::string line = first_line(fmt::format("/proc/{}/stat", process));
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(line.substr(name_end + 1));
  std::string skipped;
  for (int column = 3; column < 14; ++column) rest >> skipped;
  double user = 0;
  double system = 0;
  rest >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::int64_t involuntary_switches(pid_t process) {
  std::int64_t sum = 0;
  std::error_code gone;
  const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (std::filesystem::directory_iterator task(tasks, gone), end; !gone && task != end;
       task.increment(gone)) {
    const std::string count = value_in_file(task->path() / "status", "nonvoluntary_ctxt_switches");
    sum += integer_in(count).value_or(0);
  }
  return sum;
}

LoadReading read_load(const std::vector<pid_t>& processes) {
  LoadReading reading;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  reading.wall = std::chrono::duration<double>(now).count();
  for (const pid_t process : processes) {
    reading.ours += process_time(process);
    reading.involuntary_switches += involuntary_switches(process);
  }
  read_machine(reading);
  return reading;
}

}  // namespace

std::vector<std::string> load_warnings(const LoadReading& before, const LoadReading& after,
                                       int cores, int workers) {
  std::vector<std::string> warnings;
  const double wall = after.wall - before.wall;
  const double all = wall * cores;
  if (wall <= 0) return warnings;
  const double tick = 0.01 * (cores + workers);  // what counting in ticks may be wrong by
  const double foreign = (after.busy - before.busy) - (after.ours - before.ours);
  if (foreign > 0.1 * all && foreign > tick) {
    warnings.push_back(fmt::format("foreign load: {:.0f} % of the CPU time went to other processes",
                                   100 * foreign / all));
  }
  const double stolen = after.stolen - before.stolen;
  if (stolen > 0.02 * all && stolen > 0.01 * cores) {
    warnings.push_back(
        fmt::format("steal: the hypervisor took {:.0f} % of the CPU time", 100 * stolen / all));
  }
  const auto switches = after.involuntary_switches - before.involuntary_switches;
  if (workers <= cores && static_cast<double>(switches) > 50 * wall * workers && switches > 10) {
    warnings.push_back(fmt::format(
        "preempted: {} involuntary context switches of ranks that have a core each", switches));
  }
  return warnings;
}

LoadWatch::LoadWatch(std::vector<pid_t> children, int workers)
    : processes_(std::move(children)), workers_(workers) {
  processes_.push_back(getpid());
  start_ = read_load(processes_);
}

std::vector<std::string> LoadWatch::warnings() const {
  const auto cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return load_warnings(start_, read_load(processes_), cores, workers_);
}

}  // namespace collbench
