#include "core/input_file.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/file_error.h"

namespace collbench {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void unreadable(const std::string& path, const std::string& reason) {
  throw FileUnavailable(fmt::format("cannot read '{}': {}", path, reason));
}

/// Waits at most 0.1 s for an event: a pipe that was never opened for writing gives
/// no event. True if all writers have closed it and nothing is left in it.
bool was_hung_up(int file) {
  pollfd state{file, POLLIN, 0};
  return ::poll(&state, 1, 100) > 0 && state.revents == POLLHUP;
}

/// Reads at most `limit` + 1 bytes, enough to detect a file that is too large. `likely` is how many
/// there probably are; `patience_s` is for a pipe, none otherwise.
std::string read_all(int file, const std::string& path, std::size_t limit, std::size_t likely,
                     std::optional<double> patience_s) {
  const Clock::time_point begin = Clock::now();
  bool writer_came = !patience_s;
  std::string text;
  constexpr std::size_t piece = 1 << 16;
  text.reserve(likely + piece);
  while (text.size() <= limit) {
    const std::size_t old = text.size();
    text.resize(old + std::min(piece, limit + 1 - old));
    const ssize_t count = ::read(file, text.data() + old, text.size() - old);
    const int reason = count < 0 ? errno : 0;
    text.resize(old + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && reason != EAGAIN && reason != EINTR) unreadable(path, std::strerror(reason));
    if (count != 0) writer_came = true;
    if (count > 0) continue;
    const bool hung_up = was_hung_up(file);
    if (count == 0 && (writer_came || hung_up)) break;
    if (!writer_came && Clock::now() - begin > std::chrono::duration<double>(*patience_s)) {
      unreadable(path, fmt::format("a pipe that nothing wrote to for {} s", *patience_s));
    }
  }
  return text;
}

}  // namespace

std::string read_file(const std::string& path, std::size_t limit, double pipe_patience_s) {
  assert(limit < std::numeric_limits<std::size_t>::max());
  // Without O_NONBLOCK, opening a pipe waits for its writer for ever.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.number() < 0) {
    const int reason = errno;
    unreadable(path,
               path == "-" ? "no such file; standard input is /dev/stdin" : std::strerror(reason));
  }
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) unreadable(path, std::strerror(errno));
  // The size of a file in /proc is 0; a true size saves reading what is refused anyway.
  const bool too_large = static_cast<std::size_t>(facts.st_size) > limit;
  std::string text;
  if (!too_large) {
    const bool is_pipe = S_ISFIFO(facts.st_mode);
    text = read_all(file.number(), path, limit, static_cast<std::size_t>(facts.st_size),
                    is_pipe ? std::optional(pipe_patience_s) : std::nullopt);
  }
  require(!too_large && text.size() <= limit,
          fmt::format("'{}' is larger than {} MiB, the most that is read", path, limit >> 20));
  return text;
}

std::string read_kept(const std::string& path, std::size_t limit) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISFIFO(facts.st_mode)) return read_file(path, limit);
  static std::mutex mutex;
  static std::map<std::string, std::string> kept;
  const std::lock_guard lock(mutex);
  const auto found = kept.find(path);
  if (found != kept.end()) return found->second;
  return kept.emplace(path, read_file(path, limit)).first->second;
}

bool is_file_or_pipe(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && (S_ISREG(facts.st_mode) || S_ISFIFO(facts.st_mode));
}

bool names_a_file(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return errno != ENOENT && errno != ENOTDIR;
  return !S_ISDIR(facts.st_mode);
}

std::vector<std::string> files_below(const std::string& folder, std::vector<std::string>& unread) {
  namespace fs = std::filesystem;
  constexpr std::size_t most_files = 100'000;
  std::vector<std::string> files;
  std::vector<fs::path> folders{folder};
  const auto note = [&](const fs::path& path, std::error_code error) {
    if (error) unread.push_back(fmt::format("{}: {}", path.string(), error.message()));
  };
  while (!folders.empty()) {
    const fs::path at = std::move(folders.back());
    folders.pop_back();
    std::error_code broken;
    fs::directory_iterator entry(at, broken);
    for (const fs::directory_iterator end; !broken && entry != end; entry.increment(broken)) {
      std::error_code unseen;
      const fs::file_status own = entry->symlink_status(unseen);
      const fs::file_status meant = fs::is_symlink(own) ? entry->status(unseen) : own;
      note(entry->path(), unseen);
      if (fs::is_directory(own)) folders.push_back(entry->path());
      if (fs::is_regular_file(meant)) files.push_back(entry->path());
    }
    note(at, broken);
    require(files.size() <= most_files,
            fmt::format("'{}' holds more than {} files", folder, most_files));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string first_line(const std::string& path, const std::string& otherwise) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) && !line.empty() ? line : otherwise;
}

std::string value_in_file(const std::string& path, const std::string& key,
                          const std::string& otherwise) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (line.rfind(key, 0) != 0 || colon == std::string::npos) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return otherwise;
}

std::string about_file(const std::string& path, const std::string& message) {
  return message.find(path) != std::string::npos ? message : "'" + path + "': " + message;
}

}  // namespace collbench
