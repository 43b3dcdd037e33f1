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
#include <deque>
#include <mutex>

#include "transports/mpi/profile/profile_file.h"

namespace collbench {

/// The address of a function or variable of the program's MPI; null if it has none of that name.
void* mpi_symbol(const char* name);
/// Ends the program, with a note in the folder of the records, where it has none.
void* needed_mpi_symbol(const char* name);

template <typename Function>
Function mpi_function(const char* name) {
  return reinterpret_cast<Function>(needed_mpi_symbol(name));
}

/// A handle of MPI as a number: they are pointers or integers, and a header does without MPI's.
using MpiHandle = std::uintptr_t;

/// Elements of a call, or one count per rank.
struct ProfiledVector {
  std::int64_t count = 0;
  const int* counts = nullptr;  // of every rank; then `count` does not count
  MpiHandle type = 0;
};

/// A communicator, or several of the same name one after the other (Profiler::identify).
struct ProfiledGroup {
  std::uint64_t parent = 0;   // the id of the communicator that it was made of; 0: not known
  std::uint64_t members = 0;  // a digest of their ranks in MPI_COMM_WORLD
  std::uint64_t id = 0;
  int ranks = 0;
  int rank = 0;
  /// Where it stands in the file, from its first call on.
  std::uint32_t index = most_profiled_communicators;
  std::atomic<bool> is_listed = false;
  std::atomic<bool> in_use = true;
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
  MpiCallRecord* call(std::int64_t start_ns, ProfiledKind kind, MpiHandle comm,
                      const ProfiledVector& vector, MpiOp op, bool non_blocking);
  static MpiOp op_of(MpiHandle op);
  /// `made` was made of `parent`; it may be MPI_COMM_NULL.
  void made(MpiHandle parent, MpiHandle made);

 private:
  struct NamedType {
    std::atomic<bool> is_set = false;
    MpiHandle type = 0;
    std::int64_t bytes = 0;
    std::uint8_t name = 0;
  };

  bool is_spawned() const;
  ProfiledGroup* known(MpiHandle comm) const;
  ProfiledGroup* group_of(MpiHandle comm);
  ProfiledGroup* identify(MpiHandle comm, std::uint64_t parent);
  ProfiledGroup* named(std::uint64_t parent, std::uint64_t members, int ranks);
  void list(ProfiledGroup& group, MpiHandle comm);
  std::int64_t bytes_of(const ProfiledVector& vector, int ranks, std::uint8_t& name);
  std::int64_t named_type(MpiHandle type, std::uint8_t& name);

  ProfileFile file_;
  int keyval_ = 0;
  std::mutex identifying_;
  std::deque<ProfiledGroup> groups_;
  std::array<NamedType, most_profiled_types> types_;
};

/// A call of the program from here to the end of the scope, recorded or, without a kind, only
/// timed. Calls that MPI makes of itself inside of one (a Fortran binding of the C one) are part of
/// it.
class CallInScope {
 public:
  CallInScope();
  CallInScope(ProfiledKind kind, MpiHandle comm, const ProfiledVector& vector,
              MpiOp op = MpiOp::none, bool non_blocking = false);
  ~CallInScope();
  CallInScope(const CallInScope&) = delete;
  CallInScope& operator=(const CallInScope&) = delete;

 private:
  std::int64_t start_ns_ = 0;
  MpiCallRecord* call_ = nullptr;
};

}  // namespace collbench
