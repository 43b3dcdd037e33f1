// A child process that we write to and whose output we read as lines while it runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "transports/world/line_socket.h"
#include "transports/world/worker_process.h"

namespace collbench {

/// Gets each line without its end; the last one also if it has none.
using LineReader = std::function<void(const std::string&)>;

/// The destructor kills and reaps it if it still runs. Move only. Thread safety: one thread.
class PipedProcess {
 public:
  /// Starts `command`, found in PATH, in a process group of its own. Throws Unavailable naming the
  /// program if it cannot be started.
  explicit PipedProcess(const std::vector<std::string>& command);

  /// To its standard input; lost if it no longer reads.
  void write(const std::string& line) { in_.send(line); }
  /// Gives what it has written since, to its standard output and standard error, to the readers.
  void read(const LineReader& out, const LineReader& err);
  ChildProcess& process() { return process_; }

  /// What to poll for input; -1 once its end has come.
  int out_descriptor() const { return out_.descriptor(); }
  int err_descriptor() const { return err_.descriptor(); }

 private:
  ChildProcess process_;
  LineSocket in_;
  LineSocket out_;
  LineSocket err_;
};

}  // namespace collbench
