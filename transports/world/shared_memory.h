// Memory that processes share and that leaves nothing behind: a memfd, which has no name in any
// folder and ends with the last process that holds it.
#pragma once

#include <cstddef>
#include <string>

#include "core/units.h"

namespace collbench {

/// A mapping of a memfd. Move only. Pages that nobody touches cost nothing.
/// Thread safety: the memory may be used by anybody; the object belongs to one thread.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// Makes zeroed memory. Throws InvalidArgument if the system has no room for it.
  static SharedMemory create(Bytes size);
  /// Maps memory that another process made, by its path(). Throws Unavailable naming it.
  static SharedMemory open(const std::string& path, Bytes size);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  std::byte* data() const { return data_; }
  /// "/proc/PID/fd/N": by which other processes of this user open it while this object lives.
  std::string path() const;

 private:
  SharedMemory(int descriptor, Bytes size);
  void release();
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace collbench
