// Memory that processes share and that leaves nothing behind: a memfd, which has no name in any
// folder and ends with the last process that holds it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/descriptor.h"
#include "core/units.h"

namespace collbench {

/// A mapping of a memfd. Move only. Untouched pages cost nothing.
/// Thread safety: the memory may be used by any thread or process; the object belongs to one
/// thread.
class SharedMemory {
 public:
  SharedMemory() = default;
  /// Makes zeroed memory. Throws TransportError if the system has no room for it.
  static SharedMemory create(Bytes size);
  /// Maps memory that another process made, by its path(). Throws Unavailable naming it, and
  /// TransportError where it does not fit into this one.
  static SharedMemory open(const std::string& path, Bytes size);

  std::byte* data() const { return data_.get(); }
  /// "/proc/PID/fd/N": by which other processes of this user open it while this object lives.
  std::string path() const;

 private:
  SharedMemory(Descriptor descriptor, Bytes size);

  Descriptor descriptor_;
  std::shared_ptr<std::byte> data_;
};

}  // namespace collbench
