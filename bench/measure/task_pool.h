// Independent tasks in forked processes: a crash costs one task, and engines that a process can
// have only once (SimGrid) run side by side.
#pragma once

#include <functional>
#include <string>

namespace collbench {

/// What came of one task: `line` from work(), or why there is none.
struct TaskResult {
  int task = 0;
  std::string line;
  std::string failure;  // the message of what work() threw, or how its process ended
  bool wrong = false;   // the failure is a WrongResult
};

/// Calls work(task) for 0 <= task < tasks in up to `jobs` child processes, in ascending order of
/// start, and done(result) in this process as each ends. work() returns one line without a line
/// end. Ends early, its children killed, once stop() holds. A process that died is replaced.
/// Requires that this process has one thread. Throws Unavailable if processes cannot be started.
void run_tasks(int tasks, int jobs, const std::function<std::string(int task)>& work,
               const std::function<void(const TaskResult&)>& done,
               const std::function<bool()>& stop);

}  // namespace collbench
