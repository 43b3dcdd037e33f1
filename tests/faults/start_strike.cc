// Preloaded into a command and all that it starts, stops or kills one rank at its n-th call of
// those by which ranks find each other: sockets, shared memory, and what goes through sockets and
// pipes. START_STRIKE is "RANK CALL SIGNAL"; the file named by START_STRIKE_COUNT has two numbers
// of eight bytes, the calls so far and the strikes. A rank is known by its command line or its
// launcher's variable, so a moment of a start-up is the same in every run, however long the machine
// takes to come to it.
#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::vector<std::string> words_of_command_line() {
  std::vector<std::string> words(1);
  const int file = static_cast<int>(syscall(SYS_open, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  char letter = 0;
  while (syscall(SYS_read, file, &letter, 1) == 1) {
    if (letter == 0) {
      words.emplace_back();
    } else {
      words.back() += letter;
    }
  }
  syscall(SYS_close, file);
  return words;
}

bool variable_is(const char* name, const std::string& value) {
  const char* const found = std::getenv(name);
  return found != nullptr && value == found;
}

bool is_rank(const std::string& rank) {
  const std::vector<std::string> words = words_of_command_line();
  const bool is_ours =
      words[0].find("collbench") != std::string::npos || words[0] == "/proc/self/exe";
  if (!is_ours || words.size() < 2) return false;
  if (variable_is("OMPI_COMM_WORLD_RANK", rank)) return true;
  const char* const task = std::getenv("TF_CONFIG");
  if (task != nullptr && std::getenv("START_STRIKE_TASK") != nullptr) {
    return std::strstr(task, std::getenv("START_STRIKE_TASK")) != nullptr;
  }
  if (words[1] == "worker") return words.size() > 3 && words[3] == rank;
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (words[i] == "--rank") return words[i + 1] == rank;
  }
  return false;
}

struct Strike {
  std::atomic<std::int64_t>* calls = nullptr;  // and strikes; null: this process is not struck
  std::int64_t at = 0;
  int signal = 0;
};

Strike strike_here() {
  Strike strike;
  char rank[16] = "";
  long long at = 0;
  const char* const wish = std::getenv("START_STRIKE");
  const char* const path = std::getenv("START_STRIKE_COUNT");
  if (wish == nullptr || path == nullptr) return strike;
  if (std::sscanf(wish, "%15s %lld %d", rank, &at, &strike.signal) != 3 || !is_rank(rank)) {
    return strike;
  }
  strike.at = at;
  const int file = static_cast<int>(syscall(SYS_open, path, O_RDWR | O_CLOEXEC));
  if (file < 0) return strike;
  void* const shared = mmap(nullptr, 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  if (shared != MAP_FAILED) strike.calls = static_cast<std::atomic<std::int64_t>*>(shared);
  return strike;
}

void count_call() {
  static const Strike strike = strike_here();
  if (strike.calls == nullptr) return;
  if (strike.calls->fetch_add(1) + 1 != strike.at) return;
  strike.calls[1].fetch_add(1);
  kill(getpid(), strike.signal);
}

/// Whether a descriptor is a way to another process.
bool leads_out(int descriptor) {
  struct stat about {};
  return fstat(descriptor, &about) == 0 && (S_ISSOCK(about.st_mode) || S_ISFIFO(about.st_mode));
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  static const auto next = real<int (*)(int, int, int)>("socket");
  count_call();
  return next(domain, type, protocol);
}

int bind(int descriptor, const sockaddr* address, socklen_t size) noexcept {
  static const auto next = real<int (*)(int, const sockaddr*, socklen_t)>("bind");
  count_call();
  return next(descriptor, address, size);
}

int listen(int descriptor, int backlog) noexcept {
  static const auto next = real<int (*)(int, int)>("listen");
  count_call();
  return next(descriptor, backlog);
}

int connect(int descriptor, const sockaddr* address, socklen_t size) {
  static const auto next = real<int (*)(int, const sockaddr*, socklen_t)>("connect");
  count_call();
  return next(descriptor, address, size);
}

int accept4(int descriptor, sockaddr* address, socklen_t* size, int flags) {
  static const auto next = real<int (*)(int, sockaddr*, socklen_t*, int)>("accept4");
  count_call();
  return next(descriptor, address, size, flags);
}

int shm_open(const char* name, int flags, mode_t mode) {
  static const auto next = real<int (*)(const char*, int, mode_t)>("shm_open");
  count_call();
  return next(name, flags, mode);
}

int ftruncate(int descriptor, off_t size) noexcept {
  static const auto next = real<int (*)(int, off_t)>("ftruncate");
  count_call();
  return next(descriptor, size);
}

ssize_t send(int descriptor, const void* data, size_t size, int flags) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t, int)>("send");
  count_call();
  return next(descriptor, data, size, flags);
}

ssize_t recv(int descriptor, void* data, size_t size, int flags) {
  static const auto next = real<ssize_t (*)(int, void*, size_t, int)>("recv");
  count_call();
  return next(descriptor, data, size, flags);
}

ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  static const auto next = real<ssize_t (*)(int, const msghdr*, int)>("sendmsg");
  count_call();
  return next(descriptor, message, flags);
}

ssize_t recvmsg(int descriptor, msghdr* message, int flags) {
  static const auto next = real<ssize_t (*)(int, msghdr*, int)>("recvmsg");
  count_call();
  return next(descriptor, message, flags);
}

ssize_t read(int descriptor, void* data, size_t size) {
  static const auto next = real<ssize_t (*)(int, void*, size_t)>("read");
  if (leads_out(descriptor)) count_call();
  return next(descriptor, data, size);
}

ssize_t write(int descriptor, const void* data, size_t size) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t)>("write");
  if (leads_out(descriptor)) count_call();
  return next(descriptor, data, size);
}

}  // extern "C"
