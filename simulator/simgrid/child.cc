#include "simulator/simgrid/child.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/stop_request.h"

namespace collbench {
namespace {

constexpr int poll_ms = 1000;

using ProgressCounter = std::atomic<std::uint64_t>;

enum class ChildReport : std::uint8_t { result, invalid, unavailable, failed };

[[noreturn]] void fail(const ChildOptions& options, std::string_view call) {
  throw TransportError(fmt::format("{}: {}: {}", options.name, call, std::strerror(errno)));
}

// A file in memory: no limit to what is written before the other side reads.
class MemoryFile {
 public:
  explicit MemoryFile(const ChildOptions& options) : fd_(memfd_create("collbench", MFD_CLOEXEC)) {
    if (fd_ < 0) fail(options, "memfd_create");
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int fd() const { return fd_; }

  std::vector<std::byte> content() const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(lseek(fd_, 0, SEEK_END)));
    std::size_t at = 0;
    while (at < bytes.size()) {
      const ssize_t n = pread(fd_, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
      if (n <= 0) break;
      at += static_cast<std::size_t>(n);
    }
    bytes.resize(at);
    return bytes;
  }

 private:
  int fd_;
};

class SharedProgress {
 public:
  explicit SharedProgress(const ChildOptions& options)
      : page_(mmap(nullptr, sizeof(ProgressCounter), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (page_ == MAP_FAILED) fail(options, "mmap");
    new (page_) ProgressCounter(0);
  }
  ~SharedProgress() { munmap(page_, sizeof(ProgressCounter)); }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;
  ProgressCounter& get() const { return *static_cast<ProgressCounter*>(page_); }

 private:
  void* page_;
};

void write_all(int fd, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = write(fd, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(EXIT_FAILURE);
    at += n;
    size -= static_cast<std::size_t>(n);
  }
}

void report(int fd, ChildReport kind, const void* data, std::size_t size) {
  write_all(fd, &kind, sizeof kind);
  write_all(fd, data, size);
}

void report(int fd, ChildReport kind, std::string_view text) {
  report(fd, kind, text.data(), text.size());
}

class ThisChild final : public Child {
 public:
  ThisChild(ProgressCounter& progress, int result) : progress_(progress), result_(result) {}
  void progress() override { ++progress_; }
  [[noreturn]] void give_up(const std::string& why) override {
    report(result_, ChildReport::failed, why);
    _exit(EXIT_SUCCESS);
  }

 private:
  ProgressCounter& progress_;
  int result_;
};

using ChildWork = std::function<std::vector<std::byte>(Child& child)>;

// Never returns: nothing of the parent's (exit handlers, streams) may run twice.
[[noreturn]] void be_the_child(const ChildWork& work, ProgressCounter& progress, int result,
                               int error_output, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_FAILURE);
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGTERM}) std::signal(signal, SIG_DFL);
  dup2(error_output, STDERR_FILENO);
  dup2(error_output, STDOUT_FILENO);
  ThisChild child(progress, result);
  try {
    const std::vector<std::byte> bytes = work(child);
    report(result, ChildReport::result, bytes.data(), bytes.size());
  } catch (const InvalidArgument& error) {
    report(result, ChildReport::invalid, error.what());
  } catch (const Unavailable& error) {
    report(result, ChildReport::unavailable, error.what());
  } catch (const std::exception& error) {
    report(result, ChildReport::failed, error.what());
  }
  _exit(EXIT_SUCCESS);
}

struct Ending {
  bool stood_still = false;
  int status = 0;
  bool known = false;  // false if other code of this process waited for our child
};

// Waits for the end of the child; ends it if it stands still.
Ending watch(pid_t child, int child_fd, const ProgressCounter& progress,
             const ChildOptions& options) {
  Ending ending;
  std::uint64_t last = progress;
  double still_s = 0;
  pollfd ended{child_fd, POLLIN, 0};
  for (;;) {
    if (stop_signal() != 0) kill(child, SIGKILL);
    const int ready = poll(&ended, 1, poll_ms);
    if (ready > 0) break;
    if (ready < 0) continue;
    const std::uint64_t seen = progress;
    still_s = seen == last ? still_s + poll_ms / 1000.0 : 0;
    last = seen;
    if (still_s >= options.patience.count()) {
      ending.stood_still = true;
      kill(child, SIGKILL);
    }
  }
  pid_t waited = -1;
  while ((waited = waitpid(child, &ending.status, 0)) < 0 && errno == EINTR) {
  }
  ending.known = waited == child;
  return ending;
}

std::string last_words(const MemoryFile& error_output) {
  constexpr std::size_t most = 600;
  const std::vector<std::byte> all = error_output.content();
  std::string text(reinterpret_cast<const char*>(all.data()), all.size());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.size() > most) text = "..." + text.substr(text.size() - most);
  return text.empty() ? "it left no message" : "its last words: " + text;
}

std::string how(const Ending& ending, const ChildOptions& options) {
  if (ending.stood_still) {
    return fmt::format("stood still for {} s and was ended", options.patience.count());
  }
  if (!ending.known) return "ended before it had a result";
  if (WIFSIGNALED(ending.status)) {
    const int signal = WTERMSIG(ending.status);
    const char* const hint = signal == SIGKILL ? "; is memory short?" : "";
    return fmt::format("ended by signal {} ({}){}", signal, strsignal(signal), hint);
  }
  return fmt::format("exited with code {} before it had a result", WEXITSTATUS(ending.status));
}

}  // namespace

std::vector<std::byte> run_in_child(const ChildWork& work, const ChildOptions& options) {
  const MemoryFile result(options);
  const MemoryFile error_output(options);
  const SharedProgress progress(options);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail(options, "fork");
  if (child == 0) be_the_child(work, progress.get(), result.fd(), error_output.fd(), parent);
  // Not by its name: the declaration of glibc 2.36 is wrong in C++.
  const auto child_fd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (child_fd < 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    fail(options, "pidfd_open");
  }
  const Ending ending = watch(child, child_fd, progress.get(), options);
  close(child_fd);
  leave_if_stopped();

  std::vector<std::byte> bytes = result.content();
  const bool exited =
      !ending.known || (WIFEXITED(ending.status) && WEXITSTATUS(ending.status) == 0);
  if (ending.stood_still || !exited || bytes.empty()) {
    throw TransportError(fmt::format("{}: the process that simulates {}; {}", options.name,
                                     how(ending, options), last_words(error_output)));
  }
  const auto kind = static_cast<ChildReport>(bytes.front());
  bytes.erase(bytes.begin());
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (kind) {
    case ChildReport::result:
      return bytes;
    case ChildReport::invalid:
      throw InvalidArgument(text);
    case ChildReport::unavailable:
      throw Unavailable(text);
    case ChildReport::failed:
      break;
  }
  throw TransportError(fmt::format("{}: {}", options.name, text));
}

}  // namespace collbench
