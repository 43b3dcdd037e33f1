#include "transports/mpi/profile/profile_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/crc32c.h"

namespace collbench {
namespace {

constexpr std::size_t calls_offset =
    sizeof(ProfileHeader) + most_profiled_communicators * sizeof(ProfiledCommunicator);

void fill_in(ProfileHeader& header, std::uint64_t capacity, int rank, int ranks) {
  std::memcpy(header.magic.data(), profile_magic.data(), header.magic.size());
  header.byte_order = profile_byte_order;
  header.header_bytes = sizeof(ProfileHeader);
  header.communicator_bytes = sizeof(ProfiledCommunicator);
  header.call_bytes = sizeof(MpiCallRecord);
  header.rank = rank;
  header.ranks = ranks;
  header.pid = getpid();
  gethostname(header.host.data(), header.host.size() - 1);
  header.capacity = capacity;
  for (ProfiledClock& clock : header.clocks) clock.error_ns = -1;
}

}  // namespace

void write_profile_problem(const char* folder, const char* text) {
  std::array<char, 4096> path{};
  std::snprintf(path.data(), path.size(), "%s/%d%s", folder, static_cast<int>(getpid()),
                profile_problem_suffix);
  const int descriptor = ::open(path.data(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return;
  [[maybe_unused]] const ssize_t ignored = ::write(descriptor, text, std::strlen(text));
  ::close(descriptor);
}

bool ProfileFile::open(const char* folder, std::uint64_t capacity, int rank, int ranks) {
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  std::snprintf(path_.data(), path_.size(), "%s/rank-%d.%s.%d%s", folder, rank, host.data(),
                static_cast<int>(getpid()), profile_suffix);
  const int descriptor = ::open(path_.data(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    write_profile_problem(folder, std::strerror(errno));
    return false;
  }
  bytes_ = calls_offset + capacity * sizeof(MpiCallRecord);
  // All of it now: a disk that fills up later would kill the program.
  const int failure = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes_));
  void* const memory =
      failure != 0 ? MAP_FAILED
                   : mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) {
    const int reason = failure != 0 ? failure : errno;
    ::close(descriptor);
    unlink(path_.data());
    write_profile_problem(folder, std::strerror(reason));
    return false;
  }
  // Programs close descriptors that are not theirs, and get the same number for others.
  ::close(descriptor);
  auto* const start = static_cast<char*>(memory);
  header_ = static_cast<ProfileHeader*>(memory);
  communicators_ = reinterpret_cast<ProfiledCommunicator*>(start + sizeof(ProfileHeader));
  calls_ = reinterpret_cast<MpiCallRecord*>(start + calls_offset);
  capacity_ = capacity;
  fill_in(*header_, capacity, rank, ranks);
  return true;
}

void ProfileFile::close(bool finished) {
  if (!is_open()) return;
  header_->finished = finished ? 1 : 0;
  const std::uint64_t used = std::min(header_->calls, capacity_);
  const std::size_t length = calls_offset + used * sizeof(MpiCallRecord);
  ProfileHeader* const header = std::exchange(header_, nullptr);
  if (finished) header->checksum = crc32c({reinterpret_cast<const std::byte*>(header), length});
  munmap(header, bytes_);
  // Of no use to the program if it fails: the file is only longer.
  [[maybe_unused]] const int ignored = truncate(path_.data(), static_cast<off_t>(length));
}

}  // namespace collbench
