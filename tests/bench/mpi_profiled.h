// The records of `collbench profile`, made.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "bench/logs/log_readers.h"
#include "transports/mpi/profile/profile_format.h"

namespace collbench {

inline constexpr std::size_t calls_begin =
    sizeof(ProfileHeader) + most_profiled_communicators * sizeof(ProfiledCommunicator);

/// The file of one process with a communicator of all.
struct Profile {
  ProfileHeader header{};
  ProfiledCommunicator world{77, 4, 0, {"MPI_COMM_WORLD"}};
  std::vector<ProfiledCommunicator> groups;  // beside that of all
  std::vector<MpiCallRecord> calls;

  explicit Profile(int rank) {
    std::memcpy(header.magic.data(), profile_magic.data(), profile_magic.size());
    header.byte_order = profile_byte_order;
    header.header_bytes = sizeof(ProfileHeader);
    header.communicator_bytes = sizeof(ProfiledCommunicator);
    header.call_bytes = sizeof(MpiCallRecord);
    header.rank = world.rank = rank;
    header.ranks = 4;
    header.pid = 100 + rank;
    std::strcpy(header.host.data(), "node1");
    header.communicators = 1;
    header.finished = 1;
    header.capacity = 64;
  }
  /// Beginning at `start_us`, with so many microseconds in it.
  void add(std::int64_t start_us, std::int64_t us, std::int64_t bytes = 8 << 20) {
    MpiCallRecord call{};
    call.start_ns = start_us * 1000;
    call.duration_ns = us * 1000;
    call.bytes = bytes;
    call.sequence = static_cast<std::uint32_t>(calls.size());
    calls.push_back(call);
    header.calls = calls.size();
  }
  std::string text() const {
    std::string out(calls_begin + calls.size() * sizeof(MpiCallRecord), '\0');
    std::memcpy(out.data(), &header, sizeof header);
    std::memcpy(out.data() + sizeof header, &world, sizeof world);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      std::memcpy(out.data() + sizeof header + (i + 1) * sizeof world, &groups[i], sizeof world);
    }
    if (calls.empty()) return out;
    std::memcpy(out.data() + calls_begin, calls.data(), calls.size() * sizeof(MpiCallRecord));
    return out;
  }
};

inline JobLog job_of(const std::vector<Profile>& profiles) {
  JobLog job;
  for (const Profile& one : profiles) read_log(one.text(), "rank", job);
  return job;
}

}  // namespace collbench
