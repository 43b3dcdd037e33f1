// The profiler inside of an MPI program: what its wrappers of MPI's functions (profile_c.cc,
// profile_fortran.cc) share.
//
// Nothing of MPI is linked: its functions are looked up in the program that the library was
// preloaded into, so that it can also be loaded into programs without MPI (launchers, shells),
// where it does nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "transports/mpi/profile/profile_file.h"

namespace collbench {

/// The address of a function or variable of the program's MPI; null if it has none of that name.
void* mpi_symbol(const char* name);

template <typename Function>
Function mpi_function(const char* name) {
  return reinterpret_cast<Function>(mpi_symbol(name));
}

/// A handle of MPI as a number: they are pointers or integers, and a header does without MPI's.
using MpiHandle = std::uintptr_t;

/// Elements of a call, or one count per rank.
struct ProfiledVector {
  std::int64_t count = 0;
  const int* counts = nullptr;  // of every rank; then `count` does not count
  MpiHandle type = 0;
};

/// A communicator that is in use.
struct ProfiledGroup {
  std::uint64_t members = 0;  // a digest of their ranks in MPI_COMM_WORLD
  std::uint32_t index = 0;
  int ranks = 0;
  bool in_use = false;
  std::atomic<std::uint32_t> sequence = 0;
};

/// One for each process. Thread safety: calls may begin and end on any number of threads.
class Profiler {
 public:
  static Profiler& instance();

  /// After MPI_Init and before MPI_Finalize.
  void begin();
  void finish();

  /// The slot of a call that begins, already filled in; null if it is not recorded: no file,
  /// one rank alone, groups on both sides.
  MpiCallRecord* call(ProfiledKind kind, MpiHandle comm, const ProfiledVector& vector, MpiOp op,
                      bool non_blocking);
  static MpiOp op_of(MpiHandle op);

 private:
  struct NamedType {
    std::atomic<bool> is_set = false;
    MpiHandle type = 0;
    int bytes = 0;
    std::uint8_t name = 0;
  };

  ProfiledGroup* group_of(MpiHandle comm);
  ProfiledGroup* identify(MpiHandle comm);
  ProfiledGroup* slot_for(std::uint64_t members, int ranks, int rank, MpiHandle comm);
  std::int64_t bytes_of(const ProfiledVector& vector, int ranks, std::uint8_t& name);
  int named_type(MpiHandle type, std::uint8_t& name);
  void measure_clock(int moment);

  ProfileFile file_;
  int keyval_ = 0;
  bool runs_ = false;    // between MPI_Init and MPI_Finalize
  MpiHandle world_ = 0;  // our own copy, so that no message meets one of the program
  std::mutex identifying_;
  std::array<ProfiledGroup, most_profiled_communicators> groups_;
  std::array<NamedType, most_profiled_types> types_;
};

/// How long a thread had been ready without a processor when it was last asked for, and when its
/// last call ended.
struct ThreadDelay {
  std::int64_t call_ended_ns = 0;
  std::int64_t asked_ns = 0;
  std::int64_t delayed_ns = 0;
};

/// A call of the program from here to the end of the scope. Calls that MPI makes of itself inside
/// of one (a Fortran binding of the C one) are part of it.
class CallInScope {
 public:
  CallInScope(ProfiledKind kind, MpiHandle comm, const ProfiledVector& vector,
              MpiOp op = MpiOp::none, bool non_blocking = false);
  ~CallInScope();
  CallInScope(const CallInScope&) = delete;
  CallInScope& operator=(const CallInScope&) = delete;

 private:
  MpiCallRecord* call_ = nullptr;
};

}  // namespace collbench
