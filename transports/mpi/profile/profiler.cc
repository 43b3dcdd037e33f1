#include "transports/mpi/profile/profiler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <dlfcn.h>
#include <mpi.h>

#include "transports/mpi/profile/profile_clock.h"
#include "transports/mpi/profile/thread_time.h"

// A function of MPI by its PMPI name, looked up once.
#define COLLBENCH_REAL(name)                                           \
  ([] {                                                                \
    static const auto function = mpi_function<decltype(&name)>(#name); \
    return function;                                                   \
  }())

// Open MPI's predefined handles are addresses of its variables, those of others are numbers.
#ifdef OPEN_MPI
#define COLLBENCH_HANDLE(Type, name, symbol) static_cast<Type>(mpi_symbol(symbol))
constexpr bool made_for_open_mpi = true;
#else
#define COLLBENCH_HANDLE(Type, name, symbol) (name)
constexpr bool made_for_open_mpi = false;
#endif

namespace collbench {
namespace {

constexpr std::uint64_t digest_basis = 0xcbf29ce484222325U;  // FNV-1a

// Set for preloaded libraries only, where it is the quickest.
[[gnu::tls_model("initial-exec")]] thread_local int calls_open = 0;

std::uint64_t digest_of(const void* data, std::size_t bytes, std::uint64_t digest) {
  const auto* const each = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) digest = (digest ^ each[i]) * 0x100000001b3U;
  return digest;
}

std::uint64_t calls_wanted() {
  const char* const text = std::getenv(profile_calls_variable);
  const std::uint64_t calls = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  return calls == 0 ? usual_profiled_calls : calls;
}

MPI_Comm world() { return COLLBENCH_HANDLE(MPI_Comm, MPI_COMM_WORLD, "ompi_mpi_comm_world"); }
MPI_Comm no_comm() { return COLLBENCH_HANDLE(MPI_Comm, MPI_COMM_NULL, "ompi_mpi_comm_null"); }
MPI_Comm as_comm(MpiHandle handle) { return (MPI_Comm)handle; }

/// The ranks of `comm` in MPI_COMM_WORLD.
std::vector<int> members_of(MPI_Comm comm, int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  std::vector<int> members(all.size());
  MPI_Group inside{};
  MPI_Group outside{};
  COLLBENCH_REAL(PMPI_Comm_group)(comm, &inside);
  COLLBENCH_REAL(PMPI_Comm_group)(world(), &outside);
  COLLBENCH_REAL(PMPI_Group_translate_ranks)
  (inside, ranks, all.data(), outside, members.data());
  COLLBENCH_REAL(PMPI_Group_free)(&inside);
  COLLBENCH_REAL(PMPI_Group_free)(&outside);
  return members;
}

/// Called by MPI when a communicator is freed.
int forget(MPI_Comm, int, void* group, void*) {
  static_cast<ProfiledGroup*>(group)->in_use = false;
  return MPI_SUCCESS;
}

}  // namespace

void* mpi_symbol(const char* name) {
  if (void* const symbol = dlsym(RTLD_DEFAULT, name)) return symbol;
  // The MPI of a module that an interpreter has loaded is not in the global scope.
  for (const char* library :
       {"libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_usempif08.so.40", "libmpich.so.12",
        "libmpichfort.so.12", "libmpi.so.12", "libmpifort.so.12", "libmpi.so"}) {
    void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    void* const symbol = handle == nullptr ? nullptr : dlsym(handle, name);
    if (symbol != nullptr) return symbol;
  }
  return nullptr;
}

void* needed_mpi_symbol(const char* name) {
  if (void* const symbol = mpi_symbol(name)) return symbol;
  std::array<char, 256> text{};
  std::snprintf(
      text.data(), text.size(),
      "the program calls an MPI whose %s was not found in the libraries that it has loaded", name);
  if (const char* folder = std::getenv(profile_folder_variable)) {
    write_profile_problem(folder, text.data());
  }
  std::abort();
}

Profiler& Profiler::instance() {
  // Never destroyed: programs call MPI_Finalize from destructors and at exit.
  static Profiler& profiler = *new Profiler;
  return profiler;
}

/// Without a message: a rank that was started without the profiler would not take part.
void Profiler::begin() {
  const char* const folder = std::getenv(profile_folder_variable);
  if (folder == nullptr || file_.is_open()) return;
  if (made_for_open_mpi != (mpi_symbol("ompi_mpi_comm_world") != nullptr)) {
    write_profile_problem(folder, made_for_open_mpi ? "the profiler is made for Open MPI, but the "
                                                      "program uses another MPI"
                                                    : "the profiler is made for MPICH, but the "
                                                      "program uses another MPI");
    return;
  }
  if (is_spawned()) {
    write_profile_problem(folder, "processes that MPI_Comm_spawn starts are not recorded");
    return;
  }
  int rank = 0;
  int ranks = 1;
  COLLBENCH_REAL(PMPI_Comm_rank)(world(), &rank);
  COLLBENCH_REAL(PMPI_Comm_size)(world(), &ranks);
  const auto never_copied = [](MPI_Comm, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return static_cast<int>(MPI_SUCCESS);
  };
  COLLBENCH_REAL(PMPI_Comm_create_keyval)(never_copied, forget, &keyval_, nullptr);
  const ProfiledClock clock = clock_against(std::getenv(profile_clock_variable));
  if (!file_.open(folder, calls_wanted(), rank, ranks)) return;
  file_.header().clocks[0] = clock;
  identify((MpiHandle)world(), 0);
}

void Profiler::finish() {
  if (!file_.is_open()) return;
  file_.header().clocks[1] = clock_against(std::getenv(profile_clock_variable));
  file_.close(true);
}

bool Profiler::is_spawned() const {
  MPI_Comm parent = no_comm();
  COLLBENCH_REAL(PMPI_Comm_get_parent)(&parent);
  return parent != no_comm();
}

ProfiledGroup* Profiler::known(MpiHandle comm) const {
  void* found = nullptr;
  int flag = 0;
  COLLBENCH_REAL(PMPI_Comm_get_attr)(as_comm(comm), keyval_, &found, &flag);
  return flag != 0 ? static_cast<ProfiledGroup*>(found) : nullptr;
}

ProfiledGroup* Profiler::group_of(MpiHandle comm) {
  ProfiledGroup* group = known(comm);
  if (group == nullptr) group = identify(comm, 0);
  if (!group->is_listed.load(std::memory_order_acquire)) list(*group, comm);
  return group->index < most_profiled_communicators ? group : nullptr;
}

void Profiler::made(MpiHandle parent, MpiHandle made) {
  if (!file_.is_open() || as_comm(made) == no_comm() || known(made) != nullptr) return;
  const ProfiledGroup* const from = known(parent);
  identify(made, from == nullptr ? 0 : from->id);
}

/// Gives a communicator its name, when it is made or, where that was not seen, when it is first
/// used. Groups on both sides, one rank alone and ranks of another world are left out.
ProfiledGroup* Profiler::identify(MpiHandle handle, std::uint64_t parent) {
  static ProfiledGroup ignored{.is_listed = true};
  const MPI_Comm comm = as_comm(handle);
  const std::lock_guard lock(identifying_);
  if (ProfiledGroup* const found = known(handle)) return found;  // by another thread
  int is_inter = 0;
  int ranks = 0;
  COLLBENCH_REAL(PMPI_Comm_test_inter)(comm, &is_inter);
  COLLBENCH_REAL(PMPI_Comm_size)(comm, &ranks);
  ProfiledGroup* group = &ignored;
  if (is_inter == 0 && ranks >= 2) {
    const std::vector<int> members = members_of(comm, ranks);
    if (std::find(members.begin(), members.end(), MPI_UNDEFINED) == members.end()) {
      const void* const data = members.data();
      group = named(parent, digest_of(data, members.size() * sizeof(int), digest_basis), ranks);
      COLLBENCH_REAL(PMPI_Comm_rank)(comm, &group->rank);
    }
  }
  COLLBENCH_REAL(PMPI_Comm_set_attr)(comm, keyval_, group);
  return group;
}

/// Without a message: members, and the order in which communicators of the same members are made of
/// one parent and freed, are the same on all members. One that was freed by all goes on.
ProfiledGroup* Profiler::named(std::uint64_t parent, std::uint64_t members, int ranks) {
  std::uint64_t ordinal = 0;
  for (ProfiledGroup& one : groups_) {
    if (one.parent != parent || one.members != members || one.ranks != ranks) continue;
    if (!one.in_use.exchange(true)) {
      one.is_listed = false;
      return &one;
    }
    ++ordinal;
  }
  ProfiledGroup& made = groups_.emplace_back();
  made.parent = parent;
  made.members = members;
  made.ranks = ranks;
  made.id = digest_of(&ordinal, sizeof ordinal, digest_of(&parent, sizeof parent, members));
  return &made;
}

/// The names that the program gave to those that follow each other stand beside each other.
void Profiler::list(ProfiledGroup& group, MpiHandle comm) {
  const std::lock_guard lock(identifying_);
  if (group.is_listed) return;
  ProfileHeader& header = file_.header();
  if (group.index == most_profiled_communicators) {
    if (header.communicators == most_profiled_communicators) {
      ++header.left_out;
      group.is_listed = true;
      return;
    }
    group.index = header.communicators;
    ProfiledCommunicator& written = file_.communicators()[group.index];
    written.id = group.id;
    written.ranks = group.ranks;
    written.rank = group.rank;
    ++header.communicators;
  }
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  COLLBENCH_REAL(PMPI_Comm_get_name)(as_comm(comm), name.data(), &length);
  std::array<char, 32>& written = file_.communicators()[group.index].name;
  const std::size_t used = std::strlen(written.data());
  const char* const between = used == 0 ? "" : ", ";
  const bool fits = used + std::strlen(between) + std::strlen(name.data()) < written.size();
  if (used == 0 || (fits && std::strstr(written.data(), name.data()) == nullptr)) {
    std::snprintf(written.data() + used, written.size() - used, "%s%.31s", between, name.data());
  }
  group.is_listed.store(true, std::memory_order_release);
}

/// Bytes of one element. Only of types that MPI names itself is the size kept: the handles of
/// others are used again for other types.
std::int64_t Profiler::named_type(MpiHandle handle, std::uint8_t& name) {
  const auto type = (MPI_Datatype)handle;
  for (std::size_t i = 1; i < types_.size(); ++i) {
    NamedType& one = types_[i];
    if (!one.is_set.load(std::memory_order_acquire)) break;
    if (one.type != handle) continue;
    name = one.name;
    return one.bytes;
  }
  MPI_Count bytes = 0;  // an int ends at 2 GiB
  COLLBENCH_REAL(PMPI_Type_size_x)(type, &bytes);
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  COLLBENCH_REAL(PMPI_Type_get_envelope)(type, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) return bytes;
  const std::lock_guard lock(identifying_);
  for (std::size_t i = 1; i < types_.size(); ++i) {
    NamedType& one = types_[i];
    if (one.is_set.load(std::memory_order_acquire)) continue;
    std::array<char, MPI_MAX_OBJECT_NAME> text{};
    int length = 0;
    COLLBENCH_REAL(PMPI_Type_get_name)(type, text.data(), &length);
    std::snprintf(file_.header().types[i].data(), file_.header().types[i].size(), "%.23s",
                  text.data());
    one.type = handle;
    one.bytes = bytes;
    one.name = name = static_cast<std::uint8_t>(i);
    one.is_set.store(true, std::memory_order_release);
    break;
  }
  return bytes;
}

std::int64_t Profiler::bytes_of(const ProfiledVector& vector, int ranks, std::uint8_t& name) {
  if (vector.count == 0 && vector.counts == nullptr) return 0;
  std::int64_t count = vector.count;
  if (vector.counts != nullptr) {
    count = 0;
    for (int i = 0; i < ranks; ++i) count += vector.counts[i];
    count = (count + ranks - 1) / ranks;
  }
  return count * named_type(vector.type, name);
}

MpiOp Profiler::op_of(MpiHandle op) {
  static const std::array<MPI_Op, 4> known = {
      COLLBENCH_HANDLE(MPI_Op, MPI_SUM, "ompi_mpi_op_sum"),
      COLLBENCH_HANDLE(MPI_Op, MPI_PROD, "ompi_mpi_op_prod"),
      COLLBENCH_HANDLE(MPI_Op, MPI_MIN, "ompi_mpi_op_min"),
      COLLBENCH_HANDLE(MPI_Op, MPI_MAX, "ompi_mpi_op_max")};
  const auto found = std::find(known.begin(), known.end(), (MPI_Op)op);
  return static_cast<MpiOp>(found - known.begin() + 1);
}

MpiCallRecord* Profiler::call(std::int64_t start_ns, ProfiledKind kind, MpiHandle comm,
                              const ProfiledVector& vector, MpiOp op, bool non_blocking) {
  if (!file_.is_open()) return nullptr;
  ProfiledGroup* const group = group_of(comm);
  if (group == nullptr) return nullptr;
  std::uint8_t type = 0;
  const std::int64_t bytes = bytes_of(vector, group->ranks, type);
  MpiCallRecord& call = file_.next();
  call.duration_ns = -1;
  call.bytes = bytes;
  call.communicator = group->index;
  call.sequence = group->sequence.fetch_add(1, std::memory_order_relaxed);
  call.kind = kind;
  call.op = op;
  call.type = type;
  call.non_blocking = non_blocking ? 1 : 0;
  call.not_own_us = take_not_own_us();
  call.start_ns = start_ns;
  return &call;
}

CallInScope::CallInScope() {
  if (calls_open++ > 0) return;
  start_ns_ = now_ns();
  enter_mpi(start_ns_);
}

CallInScope::CallInScope(ProfiledKind kind, MpiHandle comm, const ProfiledVector& vector, MpiOp op,
                         bool non_blocking)
    : CallInScope() {
  if (calls_open > 1) return;
  call_ = Profiler::instance().call(start_ns_, kind, comm, vector, op, non_blocking);
}

CallInScope::~CallInScope() {
  if (--calls_open > 0) return;
  const std::int64_t now = now_ns();
  leave_mpi(now);
  if (call_ == nullptr || call_->non_blocking != 0) return;
  call_->duration_ns = now - call_->start_ns;
  take_not_own_us();  // what comes before the next begins here
}

}  // namespace collbench
