// What the profiler of MPI programs writes: a file per process, mapped into it, so that what was
// recorded survives a crash or a kill.
//
// A header, room for communicators, then a ring of calls: the k-th call stands in slot k modulo
// `capacity`, so the latest are kept. All is in the byte order and the layout of the machine that
// wrote it, which the header lets a reader check. Reader: bench/logs/mpi_profile.cc.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace collbench {

inline constexpr std::string_view profile_magic = "collbench MPI 1\n";
inline constexpr std::uint32_t profile_byte_order = 0x01020304;
inline constexpr std::uint32_t most_profiled_communicators = 256;
inline constexpr std::uint32_t most_profiled_types = 32;
inline constexpr const char* profile_suffix = ".mpi-profile";
inline constexpr const char* profile_problem_suffix = ".mpi-profile-problem";

/// Environment of a profiled program: the folder of the files, the clock that all are compared with
/// (profile_clock.h), and calls that a file has room for.
inline constexpr const char* profile_folder_variable = "MPI_PROFILE_FOLDER";
inline constexpr const char* profile_clock_variable = "MPI_PROFILE_CLOCK";
inline constexpr const char* profile_calls_variable = "MPI_PROFILE_CALLS";
inline constexpr std::uint64_t usual_profiled_calls = std::uint64_t{1} << 18;

enum class ProfiledKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  barrier
};

enum class MpiOp : std::uint8_t { none, sum, prod, min, max, other };

/// The clock of the process behind that of all, and how far that may be off; at two moments.
struct ProfiledClock {
  std::int64_t at_ns = 0;
  std::int64_t behind_ns = 0;
  std::int64_t error_ns = -1;  // -1: not measured
};

struct ProfileHeader {
  std::array<char, 16> magic;
  std::uint32_t byte_order;
  std::uint32_t header_bytes;
  std::uint32_t communicator_bytes;
  std::uint32_t call_bytes;
  std::int32_t rank;  // in MPI_COMM_WORLD
  std::int32_t ranks;
  std::int64_t pid;
  std::array<char, 60> host;
  std::uint32_t checksum;       // CRC-32C of a finished file with 0 here; 0: none
  std::uint32_t communicators;  // that have calls
  std::uint32_t finished;       // 1: MPI_Finalize was reached
  std::uint64_t capacity;       // calls
  std::uint64_t calls;          // ever begun
  std::uint64_t left_out;       // communicators beyond those that there is room for
  std::array<ProfiledClock, 2> clocks;
  std::array<std::array<char, 24>, most_profiled_types> types;  // "MPI_DOUBLE"; 0 is of no call
};

struct ProfiledCommunicator {
  std::uint64_t id;  // equal on all its members, and theirs alone
  std::int32_t ranks;
  std::int32_t rank;
  std::array<char, 32> name;
};

struct MpiCallRecord {
  std::int64_t start_ns;     // CLOCK_MONOTONIC
  std::int64_t duration_ns;  // -1: has not ended, or ends elsewhere
  std::int64_t bytes;        // of an all-gather or reduce-scatter the mean part of a rank
  std::uint32_t communicator;
  std::uint32_t sequence;  // on the communicator, from 0
  ProfiledKind kind;
  MpiOp op;
  std::uint8_t type;
  std::uint8_t non_blocking;
  /// How long of the time since its last call was no work of its own: it was inside of MPI, or
  /// ready without a processor, where that was notable and the kernel says it.
  std::uint32_t not_own_us;
};

static_assert(sizeof(MpiCallRecord) == 40);
static_assert(sizeof(ProfiledCommunicator) == 48);

}  // namespace collbench
