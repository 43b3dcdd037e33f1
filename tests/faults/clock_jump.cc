// Preloaded into a process, lets its wall clock jump: the seconds to add stand as text in the file
// named by CLOCK_JUMP_FILE, which may change at any time. The monotonic clock is left alone, as the
// kernel leaves it when somebody sets the time. Waits until a wall time, which the kernel counts by
// the clock that has not jumped, are moved back by as much (gRPC waits so, through futexes).
#include <cstdarg>
#include <cstdlib>
#include <ctime>

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

long jump() {
  const char* const path = std::getenv("CLOCK_JUMP_FILE");
  if (path == nullptr) return 0;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[32] = "";
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  return length > 0 ? std::strtol(text, nullptr, 10) : 0;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  using Real = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += jump();
  }
  return result;
}

int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec precise{};
  const int result = clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return result;
}

time_t time(time_t* copy) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (copy != nullptr) *copy = now.tv_sec;
  return now.tv_sec;
}

long syscall(long number, ...) noexcept {
  using Real = long (*)(long, ...);
  static const auto real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "syscall"));
  long words[6];
  va_list rest;
  va_start(rest, number);
  for (long& word : words) word = va_arg(rest, long);
  va_end(rest);
  timespec until{};
  if (number == SYS_futex && (words[1] & FUTEX_CLOCK_REALTIME) != 0 && words[3] != 0) {
    until = *reinterpret_cast<const timespec*>(words[3]);
    until.tv_sec -= jump();
    words[3] = reinterpret_cast<long>(&until);
  }
  return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

}  // extern "C"
