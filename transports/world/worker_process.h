// Starting, watching and ending the processes of a team.
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/descriptor.h"
#include "core/units.h"

namespace collbench {

/// What a child has as its standard input, output and error: descriptors of this process; none:
/// /dev/null.
struct ChildStreams {
  int in = -1;
  int out = -1;
  int err = -1;
};
constexpr ChildStreams only_errors_shown{.err = 2};

/// A child process; the destructor kills and reaps it if it still runs. Move only.
class ChildProcess {
 public:
  ChildProcess() = default;
  /// Starts `command`, found in PATH, in a process group of its own, with `variables`
  /// ("NAME=VALUE") added to the environment. Throws Unavailable naming the program if it cannot
  /// be started.
  ChildProcess(const std::vector<std::string>& command, const std::vector<std::string>& variables,
               ChildStreams streams);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  /// How it ended, "was killed by signal 9 (Killed)" or "exited with code 1"; nothing while it
  /// runs.
  std::optional<std::string> ended();
  /// The same after waiting up to `patience`.
  std::optional<std::string> ended_within(Seconds patience);
  /// Its exit code, or 128 + N if signal N ended it; nothing while it runs.
  std::optional<int> exit_code();
  void signal(int number);
  /// To its whole process group, while it runs itself.
  void signal_group(int number);
  /// Ends its whole process group.
  void kill() { signal_group(SIGKILL); }

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;  // of wait(2)
};

/// Any process of this user by a handle that is never reused. Move only.
class ProcessHandle {
 public:
  ProcessHandle() = default;
  explicit ProcessHandle(pid_t pid);

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// Stopped by a signal (SIGSTOP, a debugger).
  bool stopped() const;

 private:
  pid_t pid_ = -1;
  Descriptor descriptor_;
};

}  // namespace collbench
