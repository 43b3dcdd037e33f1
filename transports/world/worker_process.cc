#include "transports/world/worker_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file_error.h"
#include "core/input_file.h"
#include "core/stop_request.h"

extern char** environ;

namespace collbench {
namespace {

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    return "was killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
           strsignal(WTERMSIG(status)) + ")";
  }
  return "exited with code " + std::to_string(WEXITSTATUS(status));
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// The settings of posix_spawn, released on every way out.
struct SpawnSettings {
  explicit SpawnSettings(const ChildStreams& streams) {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    give(STDIN_FILENO, streams.in, O_RDONLY);
    give(STDOUT_FILENO, streams.out, O_WRONLY);
    give(STDERR_FILENO, streams.err, O_WRONLY);
    // Ctrl-C at the terminal must reach this process only, which then ends the children in order.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  void give(int number, int descriptor, int mode) {
    if (descriptor >= 0) {
      posix_spawn_file_actions_adddup2(&files, descriptor, number);
    } else {
      posix_spawn_file_actions_addopen(&files, number, "/dev/null", mode, 0);
    }
  }

  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
};

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command,
                           const std::vector<std::string>& variables, ChildStreams streams) {
  std::vector<std::string> words = command;
  std::vector<std::string> environment = variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  const SpawnSettings settings(streams);
  const int failure = posix_spawnp(&pid_, words[0].c_str(), &settings.files, &settings.attributes,
                                   pointers(words).data(), pointers(environment).data());
  if (failure != 0) {
    pid_ = -1;
    throw FileUnavailable("cannot start " + words[0] + ": " + std::strerror(failure));
  }
  kill_on_second_stop(pid_);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(status_, other.status_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ < 0 || ended()) return;
  kill();
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  forget_group(pid_);
}

std::optional<std::string> ChildProcess::ended() {
  if (!exit_code()) return std::nullopt;
  return describe_end(*status_);
}

std::optional<std::string> ChildProcess::ended_within(Seconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!exit_code() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return ended();
}

std::optional<int> ChildProcess::exit_code() {
  int status = 0;
  if (pid_ >= 0 && !status_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = status;
    forget_group(pid_);
  }
  if (!status_) return std::nullopt;
  return WIFEXITED(*status_) ? WEXITSTATUS(*status_) : 128 + WTERMSIG(*status_);
}

void ChildProcess::signal(int number) {
  if (pid_ >= 0 && !exit_code()) ::kill(pid_, number);
}

void ChildProcess::signal_group(int number) {
  if (pid_ >= 0 && !exit_code()) ::kill(-pid_, number);
}

ProcessHandle::ProcessHandle(pid_t pid)
    : pid_(pid), descriptor_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

void ProcessHandle::signal(int number) const {
  if (descriptor_.number() >= 0) {
    syscall(SYS_pidfd_send_signal, descriptor_.number(), number, nullptr, 0);
  }
}

bool ProcessHandle::stopped() const {
  const std::string line = first_line("/proc/" + std::to_string(pid_) + "/stat");
  const auto name_end = line.rfind(')');  // the state follows the name in parentheses
  if (name_end == std::string::npos || name_end + 2 >= line.size()) return false;
  return line[name_end + 2] == 'T' || line[name_end + 2] == 't';
}

}  // namespace collbench
