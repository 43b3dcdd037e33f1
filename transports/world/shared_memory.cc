#include "transports/world/shared_memory.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"

namespace collbench {

SharedMemory SharedMemory::create(Bytes size) {
  Descriptor descriptor(memfd_create("collbench", MFD_CLOEXEC));
  if (descriptor.number() < 0 || ftruncate(descriptor.number(), size.count) != 0) {
    throw TransportError("no shared memory of " + to_string(size) + ": " + std::strerror(errno));
  }
  return {std::move(descriptor), size};
}

SharedMemory SharedMemory::open(const std::string& path, Bytes size) {
  Descriptor descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (descriptor.number() < 0) {
    throw Unavailable("cannot open the shared memory " + path + ": " + std::strerror(errno));
  }
  return {std::move(descriptor), size};
}

SharedMemory::SharedMemory(Descriptor descriptor, Bytes size) : descriptor_(std::move(descriptor)) {
  const auto bytes = static_cast<std::size_t>(size.count);
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                     descriptor_.number(), 0);
  if (start == MAP_FAILED) {
    throw TransportError("cannot map shared memory of " + to_string(size) + ": " +
                         std::strerror(errno));
  }
  data_ = {static_cast<std::byte*>(start), [bytes](std::byte* data) { munmap(data, bytes); }};
}

std::string SharedMemory::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor_.number());
}

}  // namespace collbench
