#include "transports/world/piped_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"

extern char** environ;

namespace collbench {
namespace {

/// Two connected sockets, ours and the child's. Not pipes: writing to a child that has ended must
/// not raise SIGPIPE.
std::array<int, 2> connected() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw Unavailable(std::string("cannot start a process: ") + std::strerror(errno));
  }
  return ends;
}

}  // namespace

PipedProcess::PipedProcess(const std::vector<std::string>& command) {
  std::vector<std::string> words = command;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  // Ctrl-C at the terminal is for us; we pass it on.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const std::array<std::array<int, 2>, 3> streams{connected(), connected(), connected()};
  for (int i = 0; i < 3; ++i) {
    posix_spawn_file_actions_adddup2(&files, streams[static_cast<std::size_t>(i)][1], i);
  }
  const int failure =
      posix_spawnp(&pid_, words[0].c_str(), &files, &attributes, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  for (const auto& ends : streams) close(ends[1]);
  in_ = streams[0][0];
  out_.descriptor = streams[1][0];
  err_.descriptor = streams[2][0];
  if (failure == 0) return;
  for (const auto& ends : streams) close(ends[0]);
  throw Unavailable("cannot start " + words[0] + ": " + std::strerror(failure));
}

PipedProcess::PipedProcess(PipedProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, Stream())),
      err_(std::exchange(other.err_, Stream())),
      code_(other.code_) {}

PipedProcess::~PipedProcess() {
  if (pid_ > 0 && !exit_code()) {
    kill();
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  for (const int descriptor : {in_, out_.descriptor, err_.descriptor}) {
    if (descriptor >= 0) close(descriptor);
  }
}

void PipedProcess::write(const std::string& text) {
  send(in_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void PipedProcess::read(const LineReader& out, const LineReader& err) {
  read(out_, out);
  read(err_, err);
}

void PipedProcess::read(Stream& stream, const LineReader& reader) {
  std::array<char, 65'536> buffer;
  while (stream.descriptor >= 0) {
    const ssize_t got = recv(stream.descriptor, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      close(std::exchange(stream.descriptor, -1));
      if (!stream.rest.empty()) reader(std::exchange(stream.rest, {}));
      return;
    }
    stream.rest.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = stream.rest.find('\n', begin)) != std::string::npos;) {
      reader(stream.rest.substr(begin, end - begin));
      begin = end + 1;
    }
    stream.rest.erase(0, begin);
  }
}

std::optional<int> PipedProcess::exit_code() {
  int status = 0;
  if (!code_ && waitpid(pid_, &status, WNOHANG) == pid_) {
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return code_;
}

void PipedProcess::kill() {
  if (!code_) ::kill(-pid_, SIGKILL);
}

}  // namespace collbench
