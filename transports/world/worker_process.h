// Starting, watching and ending the processes of a team.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/units.h"

namespace collbench {

/// A child process; the destructor kills and reaps it if it still runs. Move only.
class ChildProcess {
 public:
  ChildProcess() = default;
  /// Starts `command` in a process group of its own, with `variables` ("NAME=VALUE") added to the
  /// environment, stdin and stdout at /dev/null, and stderr there too if `quiet`.
  /// Throws Unavailable naming the program if it cannot be started.
  ChildProcess(const std::vector<std::string>& command, const std::vector<std::string>& variables,
               bool quiet);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  /// How it ended, "was killed by signal 9 (Killed)" or "exited with code 1"; nothing while it
  /// runs.
  const std::optional<std::string>& ended();
  /// The same after waiting up to `patience`.
  const std::optional<std::string>& ended_within(Seconds patience);
  void signal(int number);

 private:
  pid_t pid_ = -1;
  std::optional<std::string> end_;
};

/// Any process of this user by a handle that is never reused. Move only.
class ProcessHandle {
 public:
  ProcessHandle() = default;
  explicit ProcessHandle(pid_t pid);
  ProcessHandle(ProcessHandle&& other) noexcept;
  ProcessHandle& operator=(ProcessHandle&& other) noexcept;
  ~ProcessHandle();

  pid_t pid() const { return pid_; }
  void kill() const;
  /// Stopped by a signal (SIGSTOP, a debugger).
  bool stopped() const;

 private:
  pid_t pid_ = -1;
  int descriptor_ = -1;
};

}  // namespace collbench
