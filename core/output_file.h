// The one way to write a file of results, so that none is silently lost.
//
// A result is written under a name of its own beside the target, flushed to the disk, and then
// takes the target's place: a failure leaves the old file. What is not a regular file (a pipe, a
// terminal, a device) cannot be replaced and is written in place.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace collbench {

/// Thread safety: belongs to one thread.
class OutputFile {
 public:
  /// Throws Unavailable if `path` cannot be written, Error if the disk is full. A pipe is waited
  /// for until something reads it; then throws Stopped if a signal comes.
  explicit OutputFile(std::string path);
  /// Without commit(): the target keeps what it had.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return stream_; }
  /// Puts the file in the target's place with what has been written so far, and goes on writing to
  /// it there: for what shall outlive a kill. Throws as commit().
  void show();
  /// Puts the file in the target's place. Throws Error, with the path and the reason, if anything
  /// since the beginning could not be written.
  void commit();

 private:
  class Buffer;

  void open_in_place();
  void open_beside();
  void take_place();
  [[noreturn]] void fail(int reason) const;

  std::string path_;
  std::string unfinished_;  // the name beside the target; empty: written in place
  std::unique_ptr<Buffer> buffer_;
  std::ostream stream_;
};

/// Throws Unavailable, as OutputFile would, where `path` surely cannot be written, and leaves what
/// is there alone: for results that come after long work.
void require_writable(const std::string& path);

/// Whether a file of this name is what a process left that was killed while it wrote.
bool is_unfinished_output(std::string_view name);

/// The same for a text that is there already.
void write_file(const std::string& path, std::string_view text);

/// Makes a folder and those above it where they are not there. Throws Unavailable if it cannot.
void make_folder(const std::string& path);

}  // namespace collbench
