#include "core/output_file.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <streambuf>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file_error.h"
#include "core/stop_request.h"

namespace collbench {
namespace {

constexpr std::size_t buffer_bytes = 64 * 1024;

// A link that the system keeps for a stream of a process, /dev/stdout: its own target is written.
bool is_stream_name(const std::string& path) {
  return path.starts_with("/dev/") || path.starts_with("/proc/");
}

// What may be replaced: a regular file, a link to one, or nothing yet.
bool is_replaceable(const std::string& path) {
  struct stat found {};
  if (is_stream_name(path)) return false;
  return stat(path.c_str(), &found) != 0 || S_ISREG(found.st_mode);
}

bool is_named_pipe(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISFIFO(found.st_mode);
}

constexpr std::string_view unfinished_mark = ".unfinished.";

// Hidden, so that what lists the folder for results does not find it.
std::string unfinished_name(const std::string& path) {
  static std::atomic<int> count{0};
  const std::size_t name = path.rfind('/') + 1;  // 0 if there is no folder
  return path.substr(0, name) + "." + path.substr(name) + std::string(unfinished_mark) +
         std::to_string(getpid()) + "." + std::to_string(count++);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash + 1);
}

// So that the new name outlives a loss of power. Some file systems cannot; the name then comes
// later.
void flush_folder_of(const std::string& path) {
  const int descriptor = open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

bool is_full(int reason) { return reason == ENOSPC || reason == EDQUOT || reason == EFBIG; }

}  // namespace

/// Writes to a descriptor and keeps the reason of the first failure.
class OutputFile::Buffer final : public std::streambuf {
 public:
  explicit Buffer(int descriptor) : descriptor_(descriptor) { empty(); }
  ~Buffer() override { close_file(); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  int failure() const { return failure_; }

  /// Everything to the disk, where the target is on one; then closed.
  void finish() {
    sync();
    // EINVAL: a pipe, a terminal or a device, which cannot be flushed.
    if (failure_ == 0 && fsync(descriptor_) != 0 && errno != EINVAL) failure_ = errno;
    close_file();
  }

 protected:
  int_type overflow(int_type c) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }

  int sync() override {
    const char* next = pbase();
    while (next != pptr() && failure_ == 0) {
      const ssize_t n = write(descriptor_, next, static_cast<std::size_t>(pptr() - next));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) failure_ = errno;
      if (n > 0) next += n;
    }
    empty();
    return failure_ == 0 ? 0 : -1;
  }

 private:
  void empty() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

  void close_file() {
    if (descriptor_ >= 0 && close(descriptor_) != 0 && failure_ == 0) failure_ = errno;
    descriptor_ = -1;
  }

  int descriptor_;
  int failure_ = 0;
  std::array<char, buffer_bytes> bytes_;
};

OutputFile::OutputFile(std::string path) : path_(std::move(path)), stream_(nullptr) {
  require(!path_.empty(), "a file to write must have a name");
  if (is_replaceable(path_)) {
    open_beside();
  } else {
    open_in_place();
  }
  stream_.rdbuf(buffer_.get());
}

OutputFile::~OutputFile() {
  if (!unfinished_.empty()) std::remove(unfinished_.c_str());
}

void OutputFile::open_in_place() {
  constexpr std::chrono::milliseconds look_interval{20};
  const auto open_now = [&] {
    return open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK);
  };
  int descriptor = open_now();
  // A pipe without a reader yet. open() would wait, too, but through a signal to stop.
  while (descriptor < 0 && errno == ENXIO && is_named_pipe(path_)) {
    leave_if_stopped();
    std::this_thread::sleep_for(look_interval);
    descriptor = open_now();
  }
  if (descriptor < 0) fail(errno);
  fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  buffer_ = std::make_unique<Buffer>(descriptor);
}

void OutputFile::open_beside() {
  struct stat old {};
  const bool replaces = stat(path_.c_str(), &old) == 0;
  if (replaces && access(path_.c_str(), W_OK) != 0) fail(errno);
  unfinished_ = unfinished_name(path_);
  const int descriptor =
      open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const int reason = errno;
    unfinished_.clear();
    // A file that may be written in a folder that may not.
    if (replaces && (reason == EACCES || reason == EROFS)) return open_in_place();
    fail(reason);
  }
  if (replaces) fchmod(descriptor, old.st_mode & 0777);
  buffer_ = std::make_unique<Buffer>(descriptor);
}

void OutputFile::show() {
  stream_.flush();
  take_place();
}

void OutputFile::commit() {
  buffer_->finish();
  take_place();
}

void OutputFile::take_place() {
  if (const int reason = buffer_->failure(); reason != 0) {
    throw Error("could not write '" + path_ + "': " + std::strerror(reason));
  }
  if (!stream_) throw Error("could not write '" + path_ + "'");
  if (unfinished_.empty()) return;
  if (std::rename(unfinished_.c_str(), path_.c_str()) != 0) {
    throw Error("could not write '" + path_ + "': " + std::strerror(errno));
  }
  unfinished_.clear();
  flush_folder_of(path_);
}

void OutputFile::fail(int reason) const {
  const std::string message = "cannot write '" + path_ + "': " + std::strerror(reason);
  if (is_full(reason)) throw Error(message);
  throw FileUnavailable(message);
}

void require_writable(const std::string& path) {
  struct stat found {};
  const bool is_there = stat(path.c_str(), &found) == 0;
  int reason = is_there || errno == ENOENT ? 0 : errno;
  const std::string place = is_there ? path : folder_of(path);
  if (is_there && S_ISDIR(found.st_mode)) reason = EISDIR;
  if (reason == 0 && access(place.c_str(), W_OK) != 0) reason = errno;
  if (reason == 0) return;
  throw FileUnavailable("cannot write '" + path + "': " + std::strerror(reason));
}

bool is_unfinished_output(std::string_view name) { return name.find(unfinished_mark) != name.npos; }

void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.stream() << text;
  file.commit();
}

void make_folder(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) throw FileUnavailable("cannot make the folder '" + path + "': " + failure.message());
}

}  // namespace collbench
