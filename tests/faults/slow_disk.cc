// Preloaded into a process, makes the disk below the folder SLOW_DISK slow: every write there takes
// 5 ms longer and every flush 200 ms. The file SLOW_DISK_WAITS, if it is there, grows by a byte
// each time.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace {

bool is_below(int descriptor, std::string_view folder) {
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path);
  return length > 0 &&
         std::string_view(path, static_cast<std::size_t>(length)).substr(0, folder.size()) ==
             folder;
}

void note_wait() {
  const char* const path = std::getenv("SLOW_DISK_WAITS");
  const int file = path == nullptr ? -1 : open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return;
  syscall(SYS_write, file, "w", 1);
  close(file);
}

void wait_if_slow(int descriptor, long milliseconds) {
  const char* const folder = std::getenv("SLOW_DISK");
  if (folder == nullptr || !is_below(descriptor, folder)) return;
  note_wait();
  const timespec time{0, milliseconds * 1'000'000};
  nanosleep(&time, nullptr);
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, size_t size) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t)>("write");
  wait_if_slow(descriptor, 5);
  return next(descriptor, data, size);
}

int fsync(int descriptor) {
  static const auto next = real<int (*)(int)>("fsync");
  wait_if_slow(descriptor, 200);
  return next(descriptor);
}

}  // extern "C"
