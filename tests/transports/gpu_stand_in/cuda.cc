// The part of the CUDA driver: devices, copies, streams, graphs.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/transports/gpu_stand_in/stand_in.h"

namespace stand_in {
namespace {

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int no_device = 100;
constexpr int invalid_device = 101;
constexpr int not_ready = 600;

thread_local int device_of_thread = -1;

using Work = std::function<void()>;

// A queue and the thread that empties it. Shared with that thread, which may be stuck for ever.
struct Stream {
  std::mutex mutex;
  std::condition_variable changed;
  int device = 0;
  std::deque<Work> queue;
  std::uint64_t given = 0;
  std::uint64_t done = 0;
  bool closing = false;
  bool capturing = false;
  std::vector<Work> captured;

  void give(Work work) {
    const std::lock_guard lock(mutex);
    if (capturing) {
      captured.push_back(std::move(work));
      return;
    }
    queue.push_back(std::move(work));
    ++given;
    changed.notify_all();
  }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return closing || !queue.empty(); });
      if (queue.empty()) return;
      const Work work = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      work();
      lock.lock();
      ++done;
    }
  }
};

using StreamHandle = std::shared_ptr<Stream>;
std::mutex streams_mutex;
// Never destroyed: streams that hang may outlive it.
std::vector<std::weak_ptr<Stream>>& streams = *new std::vector<std::weak_ptr<Stream>>;

// As the driver before it frees memory: until the device does nothing, however long that takes.
void wait_for_device() {
  for (;;) {
    bool idle = true;
    {
      const std::lock_guard lock(streams_mutex);
      for (const std::weak_ptr<Stream>& known : streams) {
        const StreamHandle stream = known.lock();
        if (!stream || stream->device != device_of_thread) continue;
        const std::lock_guard stream_lock(stream->mutex);
        idle = idle && stream->done == stream->given;
      }
    }
    if (idle) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::atomic<int> graphs{0};

struct Graph {
  explicit Graph(std::vector<Work> captured) : work(std::move(captured)) { ++graphs; }
  Graph(const Graph& other) : work(other.work) { ++graphs; }
  ~Graph() { --graphs; }
  Graph& operator=(const Graph&) = delete;
  std::vector<Work> work;
};

StreamHandle& stream_of(void* handle) { return *static_cast<StreamHandle*>(handle); }

}  // namespace

std::string setting(const char* variable, const std::string& otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : value;
}

int devices() { return std::stoi(setting("STAND_IN_DEVICES", "8")); }

int current_device() { return device_of_thread; }

void enqueue(void* stream, std::function<void()> work) { stream_of(stream)->give(std::move(work)); }

}  // namespace stand_in

using namespace stand_in;

extern "C" {

/// How many graphs there are, for tests.
int stand_in_graphs() { return graphs; }

int cuInit(unsigned) { return devices() > 0 ? success : no_device; }
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return success;
}
int cuGetErrorName(int error, const char** name) {
  *name = error == out_of_memory    ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == no_device      ? "CUDA_ERROR_NO_DEVICE"
          : error == invalid_device ? "CUDA_ERROR_INVALID_DEVICE"
                                    : "CUDA_ERROR_INVALID_VALUE";
  return success;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == out_of_memory ? "out of memory" : "the stand-in's words";
  return success;
}
int cuDeviceGetCount(int* count) {
  *count = devices();
  return success;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < devices() ? success : invalid_device;
}
int cuDeviceGetPCIBusId(char* id, int length, int device) {
  std::istringstream gpus(setting("STAND_IN_GPUS", ""));
  std::string number = std::to_string(device);
  std::string each;
  for (int i = 0; i <= device && std::getline(gpus, each, ','); ++i) {
    if (i == device) number = each;
  }
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02X:00.0",
                0x10 + 0x10 * std::stoi(number));
  return success;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(device) + 1);
  return success;
}
int cuCtxSetCurrent(void* context) {
  device_of_thread = static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1;
  return success;
}
int cuCtxSynchronize() { return success; }

int cuStreamCreate(void** stream, unsigned) {
  if (current_device() < 0) return invalid_device;
  auto* const handle = new StreamHandle(std::make_shared<Stream>());
  (*handle)->device = current_device();
  std::thread([held = *handle] { held->run(); }).detach();
  const std::lock_guard lock(streams_mutex);
  streams.emplace_back(*handle);
  *stream = handle;
  return success;
}
int cuStreamDestroy_v2(void* stream) {
  auto* const handle = static_cast<StreamHandle*>(stream);
  {
    const std::lock_guard lock((*handle)->mutex);
    (*handle)->closing = true;
    (*handle)->changed.notify_all();
  }
  delete handle;
  return success;
}
int cuStreamQuery(void* stream) {
  const StreamHandle& queried = stream_of(stream);
  const std::lock_guard lock(queried->mutex);
  return queried->done == queried->given ? success : not_ready;
}

int cuMemAlloc_v2(std::uint64_t* pointer, std::size_t bytes) {
  void* const memory = allocate(bytes);
  *pointer = reinterpret_cast<std::uint64_t>(memory);
  return memory == nullptr ? out_of_memory : success;
}
int cuMemFree_v2(std::uint64_t pointer) {
  wait_for_device();
  return release(reinterpret_cast<void*>(pointer)) ? success : invalid_value;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  std::byte* const real = behind(reinterpret_cast<void*>(to));
  if (real == nullptr) return invalid_value;
  std::memcpy(real, from, bytes);
  return success;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  const std::byte* const real = behind(reinterpret_cast<void*>(from));
  if (real == nullptr) return invalid_value;
  std::memcpy(to, real, bytes);
  return success;
}
int cuPointerGetAttribute(void* value, int, std::uint64_t pointer) {
  if (behind(reinterpret_cast<void*>(pointer)) == nullptr) return invalid_value;
  *static_cast<unsigned*>(value) = 2;  // device memory
  return success;
}

int cuStreamBeginCapture_v2(void* stream, int) {
  const std::lock_guard lock(stream_of(stream)->mutex);
  stream_of(stream)->capturing = true;
  return success;
}
int cuStreamEndCapture(void* stream, void** graph) {
  const std::lock_guard lock(stream_of(stream)->mutex);
  stream_of(stream)->capturing = false;
  *graph = new Graph{std::move(stream_of(stream)->captured)};
  stream_of(stream)->captured.clear();
  return success;
}
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  *executable = new Graph(*static_cast<Graph*>(graph));
  return success;
}
int cuGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return success;
}
int cuGraphLaunch(void* executable, void* stream) {
  for (const Work& work : static_cast<Graph*>(executable)->work) enqueue(stream, work);
  return success;
}
int cuGraphExecDestroy(void* executable) {
  delete static_cast<Graph*>(executable);
  return success;
}

}  // extern "C"
