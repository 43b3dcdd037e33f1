// The part of NCCL: communicators over shared memory.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/transports/gpu_stand_in/nccl_fold.h"
#include "tests/transports/gpu_stand_in/stand_in.h"

#include "transports/cuda/nccl_abi.h"

namespace {

using collbench::NcclConfig;
using collbench::NcclSimulation;
using collbench::NcclUniqueId;
using stand_in::fold_any;
using stand_in::setting;
using stand_in::width_of;

constexpr int success = 0;
constexpr int system_error = 2;
constexpr int invalid_argument = 4;
constexpr int invalid_usage = 5;
constexpr int remote_error = 6;
constexpr int in_progress = 7;
constexpr int most_ranks = 64;
constexpr std::size_t slot_bytes = 256 << 10;

// Zero is its initial state.
struct Shared {
  std::atomic<int> attached;
  std::atomic<int> arrived;
  std::atomic<int> generation;
  std::atomic<int> dead;
  std::uint64_t gpu[most_ranks];  // a hash of host and device of each rank
};

struct Comm {
  Shared* shared = nullptr;
  std::byte* slots = nullptr;
  std::size_t mapped = 0;
  int rank = 0;
  int ranks = 0;
  int device = 0;
  bool blocking = true;
  std::atomic<bool> aborted{false};
  std::atomic<int> state{success};
  std::atomic<int> registered{0};
  ~Comm() {
    if (shared != nullptr) munmap(shared, mapped);
  }
};
using CommHandle = std::shared_ptr<Comm>;

CommHandle& comm_of(void* handle) { return *static_cast<CommHandle*>(handle); }

std::mutex words_mutex;
std::string last_words;
std::map<std::string, std::string> seen;  // variables as the first call found them
std::once_flag read_variables;

void set_words(const std::string& words) {
  const std::lock_guard lock(words_mutex);
  last_words = words;
}

void initialise() {
  std::call_once(read_variables, [] {
    for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_HOSTID"})
      seen[name] = setting(name, "");
  });
}

bool faulty(const char* kind, int rank) {
  return setting("STAND_IN_FAULT", "") == std::string(kind) + ":" + std::to_string(rank);
}
bool hangs(int rank) { return faulty("hang", rank) || faulty("abort-hang", rank); }

// All ranks, or no more than those that give up.
bool barrier(Comm& comm) {
  const int generation = comm.shared->generation;
  if (++comm.shared->arrived == comm.ranks) {
    comm.shared->arrived = 0;
    ++comm.shared->generation;
    return true;
  }
  while (comm.shared->generation == generation) {
    if (comm.aborted || comm.shared->dead > 0) return false;
    std::this_thread::yield();
  }
  return true;
}

void wait_for_ever(Comm& comm) {
  while (!comm.aborted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// What the kernel of one rank would do. Where `folds`, `root` is -1 for an all-reduce.
void play(const CommHandle& held, const std::byte* in, std::byte* out, std::size_t count, int type,
          int op, int root, bool folds) {
  Comm& comm = *held;
  if (comm.aborted) return;
  if (hangs(comm.rank)) return wait_for_ever(comm);
  const std::size_t width = width_of(type);
  const std::size_t most = slot_bytes / width;
  for (std::size_t first = 0; first < count; first += most) {
    const std::size_t n = std::min(most, count - first);
    std::byte* const mine = comm.slots + static_cast<std::size_t>(comm.rank) * slot_bytes;
    std::memcpy(mine, in + first * width, n * width);
    if (!barrier(comm)) return wait_for_ever(comm);
    if (!folds) {
      std::memcpy(out + first * width, comm.slots + static_cast<std::size_t>(root) * slot_bytes,
                  n * width);
    } else if (root < 0 || root == comm.rank) {
      fold_any({comm.slots, slot_bytes, comm.ranks}, out + first * width, n, type, op);
    }
    if (first == 0 && faulty("wrong", comm.rank)) out[0] ^= std::byte{1};
    if (!barrier(comm)) return wait_for_ever(comm);
  }
}

struct Pending {
  CommHandle comm;
  const void* in;
  void* out;
  std::size_t count;
  int type;
  int op;
  int root;
  void* stream;
  bool folds = true;
};
thread_local int group_depth = 0;
thread_local std::vector<Pending> group;

int give(const Pending& call) {
  Comm& comm = *call.comm;
  if (faulty("enqueue", comm.rank)) {
    set_words("the stand-in was told to fail");
    return system_error;
  }
  if (faulty("call-hang", comm.rank)) {
    wait_for_ever(comm);
    return remote_error;
  }
  const std::byte* const in = stand_in::behind(call.in);
  std::byte* const out = stand_in::behind(call.out);
  if (in == nullptr || out == nullptr) return invalid_argument;
  if (faulty("async", comm.rank)) comm.state = remote_error;
  stand_in::enqueue(call.stream, [call, in, out] {
    play(call.comm, in, out, call.count, call.type, call.op, call.root, call.folds);
  });
  return success;
}

int take(const Pending& call) {
  if (group_depth > 0) {
    group.push_back(call);
    return success;
  }
  return give(call);
}

int attach(Comm& comm, const char* name) {
  comm.mapped = sizeof(Shared) + most_ranks * slot_bytes;
  const int file = shm_open(name, O_RDWR, 0600);
  if (file < 0) {
    set_words("the place where ranks meet is gone");
    return system_error;
  }
  void* memory = mmap(nullptr, comm.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  comm.shared = static_cast<Shared*>(memory);
  comm.slots = static_cast<std::byte*>(memory) + sizeof(Shared);
  return success;
}

// As NCCL: two ranks on one device of what it takes for one host are refused.
int refuse_duplicates(Comm& comm) {
  const bool shares = setting("NCCL_MULTI_RANK_GPU_ENABLE", "0") == "1";
  for (int other = 0; other < comm.ranks; ++other) {
    if (other == comm.rank || comm.shared->gpu[other] != comm.shared->gpu[comm.rank]) continue;
    if (shares) continue;
    set_words("Duplicate GPU detected : rank " + std::to_string(std::min(comm.rank, other)) +
              " and rank " + std::to_string(std::max(comm.rank, other)) + " both on CUDA device");
    return invalid_usage;
  }
  return success;
}

int join(const CommHandle& held, const std::string& name) {
  Comm& comm = *held;
  if (faulty("init-hang", comm.rank)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    shm_unlink(name.c_str());  // the others have come by now
    wait_for_ever(comm);
    return remote_error;
  }
  const std::string host = seen["NCCL_HOSTID"] + " gpu " + std::to_string(comm.device);
  comm.shared->gpu[comm.rank] = std::hash<std::string>{}(host);
  if (++comm.shared->attached == comm.ranks) shm_unlink(name.c_str());
  if (!barrier(comm)) return remote_error;
  return refuse_duplicates(comm);
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  *version = std::stoi(setting("STAND_IN_NCCL_VERSION", "22809"));
  return success;
}
const char* ncclGetErrorString(int error) {
  switch (error) {
    case system_error:
      return "unhandled system error";
    case invalid_argument:
      return "invalid argument";
    case invalid_usage:
      return "invalid usage";
    case remote_error:
      return "remote process exited or there was a network error";
    default:
      return "another error";
  }
}
const char* ncclGetLastError(void*) {
  static thread_local std::string words;
  const std::lock_guard lock(words_mutex);
  words = last_words;
  return words.c_str();
}

/// What NCCL would have read from the environment at its first call: for tests.
const char* standInSeen(const char* variable) { return seen[variable].c_str(); }

int ncclGetUniqueId(NcclUniqueId* id) {
  static std::atomic<int> made{0};
  initialise();
  const std::string name =
      "/collbench-stand-in-" + std::to_string(getpid()) + "-" + std::to_string(made++);
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared) + most_ranks * slot_bytes) != 0) {
    return system_error;
  }
  close(file);
  std::memset(id->bytes, 0, sizeof id->bytes);
  std::strncpy(id->bytes, name.c_str(), sizeof id->bytes - 1);
  return success;
}

int ncclCommInitRankConfig(void** comm, int ranks, NcclUniqueId id, int rank, NcclConfig* config) {
  initialise();
  if (config->magic != 0xcafebeef || config->size < 48 || ranks > most_ranks) {
    return invalid_argument;
  }
  auto made = std::make_shared<Comm>();
  made->rank = rank;
  made->ranks = ranks;
  made->device = stand_in::current_device();
  made->blocking = config->blocking != 0;
  if (made->device < 0) return invalid_usage;
  if (const int error = attach(*made, id.bytes); error != success) return error;
  *comm = new CommHandle(made);
  if (made->blocking) return join(made, id.bytes);
  made->state = in_progress;
  std::thread([made, name = std::string(id.bytes)] { made->state = join(made, name); }).detach();
  return in_progress;
}

int ncclCommFinalize(void*) { return success; }
int ncclCommDestroy(void* comm) {
  delete static_cast<CommHandle*>(comm);
  return success;
}
int ncclCommAbort(void* comm) {
  const CommHandle held = comm_of(comm);
  while (faulty("abort-hang", held->rank))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ++held->shared->dead;
  held->aborted = true;
  delete static_cast<CommHandle*>(comm);
  return success;
}
int ncclCommGetAsyncError(void* comm, int* state) {
  *state = comm_of(comm)->state;
  return success;
}

int ncclAllReduce(const void* in, void* out, std::size_t count, int type, int op, void* comm,
                  void* stream) {
  return take({comm_of(comm), in, out, count, type, op, -1, stream});
}
int ncclBroadcast(const void* in, void* out, std::size_t count, int type, int root, void* comm,
                  void* stream) {
  return take({comm_of(comm), in, out, count, type, 0, root, stream, false});
}
int ncclReduce(const void* in, void* out, std::size_t count, int type, int op, int root, void* comm,
               void* stream) {
  return take({comm_of(comm), in, out, count, type, op, root, stream});
}
int ncclReduceScatter(const void* in, void* out, std::size_t own, int type, int op, void* comm,
                      void* stream) {
  const CommHandle& held = comm_of(comm);
  int result = success;
  for (int root = 0; root < held->ranks && result == success; ++root) {
    const auto* const share =
        static_cast<const std::byte*>(in) + static_cast<std::size_t>(root) * own * width_of(type);
    void* const to = root == held->rank ? out : const_cast<std::byte*>(share);
    result = take({held, share, to, own, type, op, root, stream});
  }
  return result;
}
int ncclAllGather(const void* in, void* out, std::size_t own, int type, void* comm, void* stream) {
  const CommHandle& held = comm_of(comm);
  int result = success;
  for (int root = 0; root < held->ranks && result == success; ++root) {
    auto* const share =
        static_cast<std::byte*>(out) + static_cast<std::size_t>(root) * own * width_of(type);
    const void* const from = root == held->rank ? in : share;
    result = take({held, from, share, own, type, 0, root, stream, false});
  }
  return result;
}

int ncclGroupStart() {
  ++group_depth;
  return success;
}
int ncclGroupEnd() {
  if (--group_depth > 0) return success;
  int result = success;
  for (const Pending& call : group) result = result == success ? give(call) : result;
  group.clear();
  return result;
}
/// 10 us a call and one per 1,000 elements; a tree twice as much, to be told apart.
int ncclGroupSimulateEnd(NcclSimulation* simulation) {
  --group_depth;
  double estimate = 0;
  for (const Pending& call : group) estimate += 10 + static_cast<double>(call.count) / 1000;
  simulation->estimated_us =
      static_cast<float>(seen["NCCL_ALGO"] == "Tree" ? 2 * estimate : estimate);
  group.clear();
  return success;
}

#ifndef STAND_IN_WITHOUT_REGISTRATION
int ncclCommRegister(void* comm, void* buffer, std::size_t, void** handle) {
  if (stand_in::behind(buffer) == nullptr) return invalid_argument;
  ++comm_of(comm)->registered;
  *handle = buffer;
  return success;
}
int ncclCommDeregister(void* comm, void*) {
  --comm_of(comm)->registered;
  return success;
}
int ncclMemAlloc(void** memory, std::size_t bytes) {
  *memory = stand_in::allocate(bytes);
  return *memory == nullptr ? 1 : success;
}
int ncclMemFree(void* memory) { return stand_in::release(memory) ? success : invalid_argument; }
#endif

}  // extern "C"
