// A child process that we write to and whose output we read as lines while it runs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace collbench {

/// Gets each line without its end; the last one also if it has none.
using LineReader = std::function<void(const std::string&)>;

/// The destructor kills and reaps it if it still runs. Move only. Thread safety: one thread.
class PipedProcess {
 public:
  /// Starts `command`, found in PATH, in a process group of its own. Throws Unavailable naming the
  /// program if it cannot be started.
  explicit PipedProcess(const std::vector<std::string>& command);
  PipedProcess(PipedProcess&& other) noexcept;
  PipedProcess& operator=(PipedProcess&&) = delete;
  ~PipedProcess();

  /// To its standard input; lost if it no longer reads.
  void write(const std::string& text);
  /// Gives what it has written since, to its standard output and standard error, to the readers.
  void read(const LineReader& out, const LineReader& err);
  /// Its exit code, or 128 + N if signal N ended it; nothing while it runs.
  std::optional<int> exit_code();
  /// Ends its whole process group.
  void kill();

  /// What to poll for input; -1 once its end has come.
  int out_descriptor() const { return out_.descriptor; }
  int err_descriptor() const { return err_.descriptor; }

 private:
  struct Stream {
    int descriptor = -1;
    std::string rest;  // a line whose end has not come
  };
  static void read(Stream& stream, const LineReader& reader);

  pid_t pid_ = -1;
  int in_ = -1;
  Stream out_;
  Stream err_;
  std::optional<int> code_;
};

}  // namespace collbench
