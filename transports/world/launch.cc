#include "transports/world/launch.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/parse.h"
#include "transports/world/line_socket.h"
#include "transports/world/worker_process.h"

namespace collbench {
namespace {

/// Receives each line without its end, and a last line that has none.
using LineReader = std::function<void(const std::string&)>;

/// Connects `ours`, which never waits to send, to what is returned. Not a pipe: writing to a child
/// that has ended must not raise SIGPIPE.
Descriptor connected_to(LineSocket& ours) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Unavailable(std::string("cannot start a process: ") + std::strerror(errno));
  }
  ours = LineSocket(ends[0]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Descriptor(ends[1]);
}

void read_lines(LineSocket& socket, const LineReader& reader) {
  while (socket.readable(std::chrono::milliseconds(0))) {
    const bool open = socket.receive();
    while (const std::optional<std::string> line = socket.take_line()) reader(*line);
    if (open) continue;
    if (!socket.received().empty()) reader(socket.received());
    socket = LineSocket();
  }
}

/// A child process that we write to and whose output we read as lines while it runs. The destructor
/// kills and reaps it if it still runs. Move only. Thread safety: one thread.
class PipedProcess {
 public:
  /// Starts `command`, found in PATH, in a process group of its own. Throws Unavailable naming the
  /// program if it cannot be started.
  explicit PipedProcess(const std::vector<std::string>& command) {
    const Descriptor in = connected_to(in_);
    const Descriptor out = connected_to(out_);
    const Descriptor err = connected_to(err_);
    process_ = ChildProcess(command, {}, {in.number(), out.number(), err.number()});
  }

  /// Writes to its standard input; lost if it no longer reads.
  void write(const std::string& line) { in_.send(line); }
  /// Passes new lines of its standard output and standard error to the readers.
  void read(const LineReader& out, const LineReader& err) {
    read_lines(out_, out);
    read_lines(err_, err);
  }

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

using Clock = std::chrono::steady_clock;

/// Started by the remote shell with the worker's command as arguments. The first line it reads is
/// the secret, later ones are signals. At the end of input the worker is asked to end, and 5 s
/// later killed.
constexpr const char* remote_script =
    "IFS= read -r COLLBENCH_JOB_TOKEN || exit 5; export COLLBENCH_JOB_TOKEN; exec 3<&0; "
    "\"$@\" </dev/null 3<&- & worker=$!; "
    "(while read -r signal; do kill -s \"$signal\" \"$worker\"; done; kill \"$worker\"; sleep 5; "
    "kill -9 \"$worker\") "
    "<&3 >/dev/null 2>&1 & watcher=$!; "
    "wait \"$worker\"; code=$?; kill \"$watcher\" 2>/dev/null; exit \"$code\"";

/// As ssh takes it: an IPv6 address without brackets.
std::string ssh_destination(const std::string& host) {
  std::string destination = host;
  std::erase_if(destination, [](char c) { return c == '[' || c == ']'; });
  return destination;
}

std::string address_of(const LaunchHost& host, int port) {
  return fmt::format("{}:{}", host.name.substr(host.name.rfind('@') + 1), port);
}

LaunchHost parse_launch_host(const std::string& text) {
  LaunchHost host{text, 1};
  const std::size_t colon =
      text.find(':', text.find(']') == std::string::npos ? 0 : text.find(']'));
  if (colon != std::string::npos) {
    host.name = text.substr(0, colon);
    const std::string slots = text.substr(colon + 1);
    host.slots = small_integer_in(slots, 1, 9999).value_or(0);
    require(host.slots > 0,
            fmt::format("--hosts: '{}' is not HOST:SLOTS; slots are a number from 1 to 9999 "
                        "(--port says where they listen)",
                        text));
  }
  require(!host.name.empty() && host.name[0] != '-' &&
              host.name.find_first_of(" \t\n'\"\\$;&|<>`") == std::string::npos,
          fmt::format("--hosts: '{}' is not the name of a host", text));
  return host;
}

/// A worker as the launcher sees it.
struct WatchedWorker {
  LaunchCommand command;
  PipedProcess process;
  bool ended = false;
};

class Launch {
 public:
  Launch(const LaunchPlan& plan, const LaunchHooks& hooks) : plan_(plan), hooks_(hooks) {
    for (LaunchCommand& command : launch_commands(plan)) {
      PipedProcess process(command.words);
      process.write(plan.token);
      workers_.push_back({std::move(command), std::move(process)});
    }
  }

  LaunchEnd run() {
    while (running()) {
      wait();
      for (WatchedWorker& worker : workers_) look_after(worker);
      if (!signalled_) {
        const std::string name = hooks_.signalled();
        if (!name.empty()) tell(name.substr(3));
        signalled_ = !name.empty();
      }
      escalate();
    }
    return end_;
  }

 private:
  bool running() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const WatchedWorker& w) { return !w.ended; });
  }

  void wait() {
    std::vector<pollfd> descriptors;
    for (const WatchedWorker& worker : workers_) {
      if (worker.ended) continue;
      descriptors.push_back({worker.process.out_descriptor(), POLLIN, 0});
      descriptors.push_back({worker.process.err_descriptor(), POLLIN, 0});
    }
    poll(descriptors.data(), descriptors.size(), 50);
  }

  void look_after(WatchedWorker& worker) {
    if (worker.ended) return;
    const std::optional<int> code =
        worker.process.process().exit_code();  // before the last of its output
    const Rank rank = worker.command.rank;
    worker.process.read([&](const std::string& line) { hooks_.on_line(rank, false, line); },
                        [&](const std::string& line) { hooks_.on_line(rank, true, line); });
    if (!code) return;
    worker.ended = true;
    if (*code == 0 || failed_) return;
    // A worker that loses an interrupted peer first ends as one that lost it.
    const bool was_told = *code == 130 || *code == 143;
    if (end_.code == 0 || (end_.code == 5 && was_told)) end_ = end_of(worker.command, *code);
    // Asked to stop, workers take the time they need; a second Ctrl-C ends us, and them with us.
    failed_ = !signalled_;
    // Without the others none can go on for long, and a hung connection would never end. One that
    // was told may still write what it has.
    if (!deadline_) give_time(was_told ? 6 : 1);
  }

  LaunchEnd end_of(const LaunchCommand& command, int code) const {
    const std::string identity = fmt::format("rank {} on {}", command.rank, command.host);
    if (code == 255) {
      return {
          5, fmt::format("{}: '{}' failed; 'ssh {}' must find the host and work without a password",
                         identity, plan_.ssh[0], ssh_destination(command.host))};
    }
    if (code == 126 || code == 127) {
      return {4, fmt::format("{}: there is no '{}' that can be run; --program says where it is",
                             identity, plan_.program)};
    }
    if (code == 130 || code == 143) return {code, fmt::format("{} was interrupted", identity)};
    if (code > 128) return {5, fmt::format("{} was killed by signal {}", identity, code - 128)};
    return {code, fmt::format("{} ended with exit code {}", identity, code)};
  }

  void tell(const std::string& signal) {
    for (WatchedWorker& worker : workers_) {
      if (!worker.ended) worker.process.write(signal);
    }
  }

  void give_time(int times = 1) {
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(times * plan_.patience);
  }

  /// SIGTERM, SIGKILL, and at last the connection.
  void escalate() {
    if (!deadline_ || Clock::now() < *deadline_ || !running()) return;
    if (++stage_ <= 2) return tell_and_wait(stage_ == 1 ? "TERM" : "KILL");
    for (WatchedWorker& worker : workers_) worker.process.process().kill();
  }

  void tell_and_wait(const std::string& signal) {
    tell(signal);
    give_time();
  }

  const LaunchPlan& plan_;
  const LaunchHooks& hooks_;
  std::vector<WatchedWorker> workers_;
  LaunchEnd end_;
  bool signalled_ = false;
  bool failed_ = false;  // a worker, and not because it was told to stop
  int stage_ = 0;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace

std::string shell_quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::vector<LaunchHost> parse_launch_hosts(const std::string& text) {
  std::vector<LaunchHost> hosts;
  std::set<std::string> names;
  for (const std::string& word : parse_list("--hosts", text)) {
    hosts.push_back(parse_launch_host(word));
    require(names.insert(hosts.back().name).second,
            fmt::format("--hosts: '{}' is listed twice; '{}:2' starts two workers on it",
                        hosts.back().name, hosts.back().name));
  }
  return hosts;
}

std::vector<LaunchCommand> launch_commands(const LaunchPlan& plan) {
  const std::vector<std::string>& words = plan.arguments;
  require(!words.empty() && (words[0] == "run" || words[0] == "train"),
          fmt::format("after -- comes 'run ...' or 'train ...', not '{}'",
                      words.empty() ? "" : words[0]));
  for (const std::string& word : words) {
    for (const char* own : {"--hosts", "--rank", "--token-file"}) {
      require(word != own && !word.starts_with(std::string(own) + "="),
              fmt::format("{} after -- is what launch gives each worker; leave it out", own));
    }
  }
  std::vector<LaunchCommand> commands;
  std::string addresses;
  for (const LaunchHost& host : plan.hosts) {
    require(plan.first_port + host.slots - 1 <= 65'535,
            fmt::format("{} workers on {} from port {} need ports beyond 65535", host.slots,
                        host.name, plan.first_port));
    for (int slot = 0; slot < host.slots; ++slot) {
      addresses += (addresses.empty() ? "" : ",") + address_of(host, plan.first_port + slot);
      commands.push_back({static_cast<Rank>(commands.size()), host.name, plan.ssh});
    }
  }
  for (LaunchCommand& command : commands) {
    std::string line =
        fmt::format("exec sh -c {} sh {}", shell_quoted(remote_script), shell_quoted(plan.program));
    for (const std::string& word : words) line += " " + shell_quoted(word);
    line += fmt::format(" --hosts {} --rank {}", shell_quoted(addresses), command.rank);
    command.words.push_back(ssh_destination(command.host));
    command.words.push_back(line);
  }
  return commands;
}

LaunchEnd launch(const LaunchPlan& plan, const LaunchHooks& hooks) {
  return Launch(plan, hooks).run();
}

}  // namespace collbench
