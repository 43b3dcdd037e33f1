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
  const int descriptor = memfd_create("collbench", MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, size.count) != 0) {
    const std::string reason = std::strerror(errno);
    if (descriptor >= 0) close(descriptor);
    throw InvalidArgument("no shared memory of " + to_string(size) + ": " + reason);
  }
  return {descriptor, size};
}

SharedMemory SharedMemory::open(const std::string& path, Bytes size) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    throw Unavailable("cannot open the shared memory " + path + ": " + std::strerror(errno));
  }
  return {descriptor, size};
}

SharedMemory::SharedMemory(int descriptor, Bytes size)
    : descriptor_(descriptor), bytes_(static_cast<std::size_t>(size.count)) {
  void* start =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (start == MAP_FAILED) {
    const std::string reason = std::strerror(errno);
    close(std::exchange(descriptor_, -1));
    throw InvalidArgument("cannot map shared memory of " + to_string(size) + ": " + reason);
  }
  data_ = static_cast<std::byte*>(start);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this == &other) return *this;
  release();
  descriptor_ = std::exchange(other.descriptor_, -1);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

SharedMemory::~SharedMemory() { release(); }

void SharedMemory::release() {
  if (data_ != nullptr) munmap(data_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

std::string SharedMemory::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor_);
}

}  // namespace collbench
