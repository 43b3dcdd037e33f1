#include "core/locked_file.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "core/file_error.h"

namespace collbench {
namespace {

constexpr int lock_attempts = 40;
constexpr std::chrono::milliseconds lock_pause{50};

/// Whether the open file still has this name: another process may have put a new one in its place.
bool still_has_name(int descriptor, const std::string& path) {
  struct stat opened = {};
  struct stat named = {};
  return fstat(descriptor, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

}  // namespace

Descriptor locked_file(const std::string& path, const char* instead) {
  // The workers of a sweep that was killed share its lock until they are gone as well.
  for (int attempt = 0; attempt < lock_attempts; ++attempt) {
    Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (file.number() < 0) {
      throw FileUnavailable(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
    }
    const bool locked = flock(file.number(), LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno != EWOULDBLOCK) return file;  // a file system without locks
    if (locked && still_has_name(file.number(), path)) return file;
    std::this_thread::sleep_for(lock_pause);
  }
  throw FileUnavailable(fmt::format(
      "'{}' is being filled by another process; wait for it, or name {}", path, instead));
}

}  // namespace collbench
