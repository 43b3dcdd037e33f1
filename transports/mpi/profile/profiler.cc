#include "transports/mpi/profile/profiler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

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

constexpr int clock_rounds = 20;
// The kernel is asked for delays (some 2 us) after so long only.
constexpr std::int64_t notable_ns = 500'000;
constexpr std::uint64_t digest_basis = 0xcbf29ce484222325U;  // FNV-1a

// Set for preloaded libraries only, where it is the quickest.
[[gnu::tls_model("initial-exec")]] thread_local int calls_open = 0;
[[gnu::tls_model("initial-exec")]] thread_local ThreadDelay last_delay;

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/// How long this thread has been ready to run without a processor since it began; 0 where the
/// kernel does not say.
std::int64_t delayed_ns() {
  struct Descriptor {
    int number = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    ~Descriptor() { close(number); }
  };
  thread_local const Descriptor descriptor;
  std::array<char, 96> text{};
  if (pread(descriptor.number, text.data(), text.size() - 1, 0) <= 0) return 0;
  char* second = nullptr;
  std::strtoll(text.data(), &second, 10);
  return std::strtoll(second, nullptr, 10);
}

/// Asks again if that was notably long ago; gives how much it has grown since.
std::int64_t renew_delay(std::int64_t now) {
  if (now - last_delay.asked_ns < notable_ns) return 0;
  const std::int64_t before = std::exchange(last_delay.delayed_ns, delayed_ns());
  last_delay.asked_ns = now;
  return last_delay.delayed_ns - before;
}

/// Of the time from the end of the last call to `now`, in microseconds.
std::uint32_t delay_before(std::int64_t now) {
  const std::int64_t since = now - last_delay.call_ended_ns;
  if (last_delay.call_ended_ns == 0 || since < notable_ns) return 0;
  const std::int64_t delay = std::min(renew_delay(now), since) / 1000;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(delay, 0, UINT32_MAX));
}

std::uint64_t digest_of(const void* data, std::size_t bytes, std::uint64_t digest) {
  const auto* const each = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) digest = (digest ^ each[i]) * 0x100000001b3U;
  return digest;
}

/// Equal for processes whose CLOCK_MONOTONIC is the same: those of one start of one kernel.
std::uint64_t clock_identity() {
  std::array<char, 64> text{};
  const int descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || read(descriptor, text.data(), text.size()) <= 0) {
    gethostname(text.data(), text.size());
  }
  if (descriptor >= 0) close(descriptor);
  return digest_of(text.data(), text.size(), digest_basis);
}

std::uint64_t calls_wanted() {
  const char* const text = std::getenv(profile_calls_variable);
  const std::uint64_t calls = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  return calls == 0 ? usual_profiled_calls : calls;
}

/// The ranks of `comm` in MPI_COMM_WORLD, and ours in it.
std::vector<int> members_of(MPI_Comm comm, MPI_Comm world, int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  std::vector<int> members(all.size());
  MPI_Group inside{};
  MPI_Group outside{};
  COLLBENCH_REAL(PMPI_Comm_group)(comm, &inside);
  COLLBENCH_REAL(PMPI_Comm_group)(world, &outside);
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

MPI_Comm as_comm(MpiHandle handle) { return (MPI_Comm)handle; }

}  // namespace

void* mpi_symbol(const char* name) {
  if (void* const symbol = dlsym(RTLD_DEFAULT, name)) return symbol;
  // The MPI of a module that an interpreter has loaded is not in the global scope.
  for (const char* library : {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi.so"}) {
    void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    void* const symbol = handle == nullptr ? nullptr : dlsym(handle, name);
    if (symbol != nullptr) return symbol;
  }
  return nullptr;
}

Profiler& Profiler::instance() {
  static Profiler profiler;
  return profiler;
}

void Profiler::begin() {
  const char* const folder = std::getenv(profile_folder_variable);
  if (folder == nullptr || runs_) return;
  if (made_for_open_mpi != (mpi_symbol("ompi_mpi_comm_world") != nullptr)) {
    write_profile_problem(folder, made_for_open_mpi ? "the profiler is made for Open MPI, but the "
                                                      "program uses another MPI"
                                                    : "the profiler is made for MPICH, but the "
                                                      "program uses another MPI");
    return;
  }
  const auto everyone = COLLBENCH_HANDLE(MPI_Comm, MPI_COMM_WORLD, "ompi_mpi_comm_world");
  int rank = 0;
  int ranks = 1;
  COLLBENCH_REAL(PMPI_Comm_rank)(everyone, &rank);
  COLLBENCH_REAL(PMPI_Comm_size)(everyone, &ranks);
  const auto never_copied = [](MPI_Comm, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return static_cast<int>(MPI_SUCCESS);
  };
  COLLBENCH_REAL(PMPI_Comm_create_keyval)(never_copied, forget, &keyval_, nullptr);
  MPI_Comm copy{};
  COLLBENCH_REAL(PMPI_Comm_dup)(everyone, &copy);
  world_ = (MpiHandle)copy;
  runs_ = true;
  file_.open(folder, calls_wanted(), rank, ranks);
  measure_clock(0);
}

void Profiler::finish() {
  if (!std::exchange(runs_, false)) return;
  measure_clock(1);
  MPI_Comm copy = as_comm(world_);
  COLLBENCH_REAL(PMPI_Comm_free)(&copy);
  file_.close(true);
}

/// Messages to and from rank 0, of which the quickest pair counts: its answer was written half of
/// its time after the question. Every rank takes part, also one whose file could not be made.
void Profiler::measure_clock(int moment) {
  const auto bytes = COLLBENCH_HANDLE(MPI_Datatype, MPI_BYTE, "ompi_mpi_byte");
  const MPI_Comm world = as_comm(world_);
  int rank = 0;
  int ranks = 1;
  COLLBENCH_REAL(PMPI_Comm_rank)(world, &rank);
  COLLBENCH_REAL(PMPI_Comm_size)(world, &ranks);
  const std::uint64_t own = clock_identity();
  std::vector<std::uint64_t> identities(static_cast<std::size_t>(ranks));
  COLLBENCH_REAL(PMPI_Allgather)
  (&own, sizeof own, bytes, identities.data(), sizeof own, bytes, world);
  ProfiledClock clock{now_ns(), 0, 0};
  const auto send = COLLBENCH_REAL(PMPI_Send);
  const auto receive = COLLBENCH_REAL(PMPI_Recv);
  constexpr int size = sizeof(std::int64_t);
  for (int other = 1; other < ranks; ++other) {
    if (identities[static_cast<std::size_t>(other)] == identities[0]) continue;
    if (rank != 0 && rank != other) continue;
    std::int64_t quickest = -1;
    for (int round = 0; round < clock_rounds; ++round) {
      std::int64_t there = 0;
      if (rank == 0) {
        receive(&there, size, bytes, other, 0, world, MPI_STATUS_IGNORE);
        there = now_ns();
        send(&there, size, bytes, other, 0, world);
        continue;
      }
      const std::int64_t asked = now_ns();
      send(&there, size, bytes, 0, 0, world);
      receive(&there, size, bytes, 0, 0, world, MPI_STATUS_IGNORE);
      const std::int64_t answered = now_ns();
      if (quickest >= 0 && answered - asked >= quickest) continue;
      quickest = answered - asked;
      clock = {answered, there - (asked + quickest / 2), quickest / 2};
    }
  }
  if (file_.is_open()) file_.header().clocks[static_cast<std::size_t>(moment)] = clock;
}

ProfiledGroup* Profiler::group_of(MpiHandle comm) {
  void* found = nullptr;
  int flag = 0;
  COLLBENCH_REAL(PMPI_Comm_get_attr)(as_comm(comm), keyval_, &found, &flag);
  ProfiledGroup* const known = flag != 0 ? static_cast<ProfiledGroup*>(found) : identify(comm);
  if (known->ranks >= 2) return known;
  return nullptr;
}

/// Without a message: members and the order in which a process first uses communicators of the same
/// members are the same on all of them.
ProfiledGroup* Profiler::identify(MpiHandle handle) {
  static ProfiledGroup ignored;
  const MPI_Comm comm = as_comm(handle);
  const std::lock_guard lock(identifying_);
  int is_inter = 0;
  int rank = 0;
  int ranks = 0;
  COLLBENCH_REAL(PMPI_Comm_test_inter)(comm, &is_inter);
  COLLBENCH_REAL(PMPI_Comm_rank)(comm, &rank);
  COLLBENCH_REAL(PMPI_Comm_size)(comm, &ranks);
  ProfiledGroup* made = &ignored;
  if (is_inter == 0 && ranks >= 2) {
    const std::vector<int> members = members_of(comm, as_comm(world_), ranks);
    made = slot_for(digest_of(members.data(), members.size() * sizeof(int), digest_basis), ranks,
                    rank, handle);
    if (made == nullptr) made = &ignored;
  }
  COLLBENCH_REAL(PMPI_Comm_set_attr)(comm, keyval_, made);
  return made;
}

/// One that was freed by all its members goes on under the same name.
ProfiledGroup* Profiler::slot_for(std::uint64_t members, int ranks, int rank, MpiHandle comm) {
  ProfileHeader& header = file_.header();
  std::uint64_t ordinal = 0;
  for (std::uint32_t i = 0; i < header.communicators; ++i) {
    ProfiledGroup& one = groups_[i];
    if (one.members != members || one.ranks != ranks) continue;
    if (!std::exchange(one.in_use, true)) return &one;
    ++ordinal;
  }
  if (header.communicators == most_profiled_communicators) {
    ++header.left_out;
    return nullptr;
  }
  ProfiledGroup& made = groups_[header.communicators];
  made.members = members;
  made.index = header.communicators;
  made.ranks = ranks;
  made.in_use = true;
  ProfiledCommunicator& written = file_.communicators()[made.index];
  written.id = digest_of(&ordinal, sizeof ordinal, members);
  written.ranks = ranks;
  written.rank = rank;
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  COLLBENCH_REAL(PMPI_Comm_get_name)(as_comm(comm), name.data(), &length);
  std::snprintf(written.name.data(), written.name.size(), "%.31s", name.data());
  ++header.communicators;
  return &made;
}

/// Bytes of one element. Only of types that MPI names itself is the size kept: the handles of
/// others are used again for other types.
int Profiler::named_type(MpiHandle handle, std::uint8_t& name) {
  const auto type = (MPI_Datatype)handle;
  for (std::size_t i = 1; i < types_.size(); ++i) {
    NamedType& one = types_[i];
    if (!one.is_set.load(std::memory_order_acquire)) break;
    if (one.type != handle) continue;
    name = one.name;
    return one.bytes;
  }
  int bytes = 0;
  COLLBENCH_REAL(PMPI_Type_size)(type, &bytes);
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

MpiCallRecord* Profiler::call(ProfiledKind kind, MpiHandle comm, const ProfiledVector& vector,
                              MpiOp op, bool non_blocking) {
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
  call.start_ns = now_ns();
  call.delayed_us = delay_before(call.start_ns);
  return &call;
}

CallInScope::CallInScope(ProfiledKind kind, MpiHandle comm, const ProfiledVector& vector, MpiOp op,
                         bool non_blocking) {
  if (calls_open++ == 0) {
    call_ = Profiler::instance().call(kind, comm, vector, op, non_blocking);
  }
}

CallInScope::~CallInScope() {
  --calls_open;
  if (call_ == nullptr) return;
  const std::int64_t now = now_ns();
  if (call_->non_blocking == 0) call_->duration_ns = now - call_->start_ns;
  renew_delay(now);
  last_delay.call_ended_ns = now;
}

}  // namespace collbench
