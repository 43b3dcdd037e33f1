#include "transports/cuda/driver.h"

#include <cstdlib>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "core/environment_variable.h"
#include "core/error.h"
#include "core/plain_text.h"
#include "core/shared_library.h"
#include "transports/cuda/reason.h"

namespace collbench {
namespace {

// Values of CUDA's cuda.h.
constexpr int success = 0;
constexpr int out_of_memory = 2;
constexpr int peer_access_unsupported = 217;
constexpr int not_ready = 600;
constexpr int too_many_peers = 711;
constexpr unsigned non_blocking_stream = 1;
constexpr int capture_thread_local = 1;
constexpr int attribute_memory_type = 2;
constexpr unsigned memory_type_device = 2;
constexpr unsigned open_enables_peer_access = 1;

using DriverContext = void*;
using DevicePointer = std::uint64_t;

DevicePointer address(const std::byte* memory) { return reinterpret_cast<DevicePointer>(memory); }

}  // namespace

struct CudaDriver::Functions {
  SharedLibrary library{environment_variable("COLLBENCH_CUDA_LIBRARY", "libcuda.so.1")};

  LibraryFunction<int(unsigned)> init{library, "cuInit"};
  LibraryFunction<int(int*)> driver_version{library, "cuDriverGetVersion"};
  LibraryFunction<int(int, const char**)> error_name{library, "cuGetErrorName"};
  LibraryFunction<int(int, const char**)> error_string{library, "cuGetErrorString"};
  LibraryFunction<int(int*)> device_count{library, "cuDeviceGetCount"};
  LibraryFunction<int(int*, int)> device_get{library, "cuDeviceGet"};
  LibraryFunction<int(char*, int, int)> pci_bus_id{library, "cuDeviceGetPCIBusId"};
  LibraryFunction<int(DriverContext*, int)> primary_retain{library, "cuDevicePrimaryCtxRetain"};
  LibraryFunction<int(DriverContext)> set_current{library, "cuCtxSetCurrent"};
  LibraryFunction<int()> synchronize{library, "cuCtxSynchronize"};
  LibraryFunction<int(GpuStream*, unsigned)> stream_create{library, "cuStreamCreate"};
  LibraryFunction<int(GpuStream)> stream_destroy{library, "cuStreamDestroy_v2"};
  LibraryFunction<int(GpuStream)> stream_query{library, "cuStreamQuery"};
  LibraryFunction<int(DevicePointer*, std::size_t)> mem_alloc{library, "cuMemAlloc_v2"};
  LibraryFunction<int(DevicePointer)> mem_free{library, "cuMemFree_v2"};
  LibraryFunction<int(DevicePointer, const void*, std::size_t)> copy_up{library, "cuMemcpyHtoD_v2"};
  LibraryFunction<int(void*, DevicePointer, std::size_t)> copy_down{library, "cuMemcpyDtoH_v2"};
  LibraryFunction<int(void*, int, DevicePointer)> pointer_attribute{library,
                                                                    "cuPointerGetAttribute"};
  LibraryFunction<int(GpuHandle*, DevicePointer)> share{library, "cuIpcGetMemHandle"};
  LibraryFunction<int(DevicePointer*, GpuHandle, unsigned)> open{library, "cuIpcOpenMemHandle_v2"};
  LibraryFunction<int(DevicePointer)> close{library, "cuIpcCloseMemHandle"};
  LibraryFunction<int(GpuStream, int)> begin_capture{library, "cuStreamBeginCapture_v2"};
  LibraryFunction<int(GpuStream, void**)> end_capture{library, "cuStreamEndCapture"};
  LibraryFunction<int(GpuGraph*, void*, unsigned long long)> instantiate{
      library, "cuGraphInstantiateWithFlags"};
  LibraryFunction<int(void*)> graph_destroy{library, "cuGraphDestroy"};
  LibraryFunction<int(GpuGraph, GpuStream)> graph_launch{library, "cuGraphLaunch"};
  LibraryFunction<int(GpuGraph)> graph_exec_destroy{library, "cuGraphExecDestroy"};

  std::mutex mutex;
  std::vector<DriverContext> contexts;  // by device; null until used

  CudaFailure failure(int code, std::string_view call) const {
    const char* name = nullptr;
    const char* text = nullptr;
    error_name(code, &name);
    error_string(code, &text);
    return {std::string(call), name != nullptr ? name : fmt::format("error {}", code),
            text != nullptr ? text : "an error that the driver has no words for"};
  }

  template <typename... Parameters>
  void check(int code, const LibraryFunction<int(Parameters...)>& call) const {
    if (code == success) return;
    const CudaFailure what = failure(code, call.name());
    const std::string words = fmt::format("{} failed: {} ({})", call.name(), what.text, what.name);
    if (code == out_of_memory) {
      throw Unavailable(words + "; use smaller vectors, or free the GPU's memory");
    }
    throw TransportError(words);
  }
  template <typename... Parameters, typename... Arguments>
  void run(const LibraryFunction<int(Parameters...)>& call, Arguments... arguments) const {
    check(call(arguments...), call);
  }
  /// Whether what `query` asks about is done.
  bool is_done(const LibraryFunction<int(void*)>& query, void* asked) const {
    const int code = query(asked);
    if (code != not_ready) check(code, query);
    return code != not_ready;
  }
};

namespace {

// CUDA's names of errors as its runtime has them, whose remedies transports/cuda/reason.h has.
std::string runtime_name(const std::string& driver_name) {
  if (driver_name == "CUDA_ERROR_NO_DEVICE") return "cudaErrorNoDevice";
  if (driver_name == "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH") return "cudaErrorInsufficientDriver";
  return driver_name;
}

}  // namespace

CudaDriver::CudaDriver() {
  try {
    functions_ = std::make_unique<Functions>();
  } catch (const Unavailable& error) {
    throw Unavailable(fmt::format("no NVIDIA driver on this machine ({})", error.what()));
  }
  CudaFailure failure{"cuDeviceGetCount", "cudaErrorNoDevice", "no device"};
  const int code = functions_->init(0);
  if (code != success) {
    failure = functions_->failure(code, "cuInit");
    failure.name = runtime_name(failure.name);
  }
  if (code != success || devices() == 0) {
    const CudaVersion version{this->version()};
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    throw Unavailable(why_no_device(failure, version, version, visible));
  }
  functions_->contexts.resize(static_cast<std::size_t>(devices()), nullptr);
}

CudaDriver::~CudaDriver() = default;

const CudaDriver& CudaDriver::instance() {
  // Never destroyed: communicators of other threads may outlive the statics.
  static const CudaDriver* const driver = new CudaDriver;
  return *driver;
}

CudaDriverState find_cuda_driver() {
  CudaDriverState state;
  try {
    const CudaDriver& driver = CudaDriver::instance();
    state.version = driver.version();
    state.devices = driver.devices();
  } catch (const Error& error) {
    state.unavailable = error.what();
  }
  return state;
}

int CudaDriver::version() const {
  int number = 0;
  functions_->run(functions_->driver_version, &number);
  return number;
}

int CudaDriver::devices() const {
  int count = 0;
  functions_->run(functions_->device_count, &count);
  return count;
}

std::string CudaDriver::bus_id(int device) const {
  int handle = 0;
  functions_->run(functions_->device_get, &handle, device);
  char text[32] = {};
  functions_->run(functions_->pci_bus_id, text, static_cast<int>(sizeof text), handle);
  return lower_case(text);
}

std::vector<std::string> cuda_bus_ids() {
  std::vector<std::string> ids;
  try {
    const CudaDriver& driver = CudaDriver::instance();
    for (int device = 0; device < driver.devices(); ++device) ids.push_back(driver.bus_id(device));
  } catch (const Error&) {
    ids.clear();
  }
  return ids;
}

void CudaDriver::use(int device) const {
  require(device >= 0 && device < static_cast<int>(functions_->contexts.size()),
          fmt::format("there is no device gpu:{}; this process sees {}", device,
                      functions_->contexts.size()));
  const std::lock_guard lock(functions_->mutex);
  DriverContext& context = functions_->contexts[static_cast<std::size_t>(device)];
  if (context == nullptr) {
    int handle = 0;
    functions_->run(functions_->device_get, &handle, device);
    functions_->run(functions_->primary_retain, &context, handle);
  }
  functions_->run(functions_->set_current, context);
}

GpuStream CudaDriver::make_stream() const {
  GpuStream stream = nullptr;
  functions_->run(functions_->stream_create, &stream, non_blocking_stream);
  return stream;
}

void CudaDriver::destroy_stream(GpuStream stream) const noexcept {
  functions_->stream_destroy(stream);
}

bool CudaDriver::finished(GpuStream stream) const {
  return functions_->is_done(functions_->stream_query, stream);
}

std::byte* CudaDriver::allocate(Bytes size) const {
  DevicePointer memory = 0;
  functions_->run(functions_->mem_alloc, &memory, static_cast<std::size_t>(size.count));
  return reinterpret_cast<std::byte*>(memory);
}

void CudaDriver::free(std::byte* memory) const noexcept { functions_->mem_free(address(memory)); }

bool CudaDriver::is_device_memory(const std::byte* memory) const {
  unsigned type = 0;
  const int code = functions_->pointer_attribute(&type, attribute_memory_type, address(memory));
  return code == success && type == memory_type_device;
}

GpuHandle CudaDriver::share(const std::byte* memory) const {
  GpuHandle handle{};
  functions_->run(functions_->share, &handle, address(memory));
  return handle;
}

std::byte* CudaDriver::open(const GpuHandle& handle) const {
  DevicePointer memory = 0;
  const int code = functions_->open(&memory, handle, open_enables_peer_access);
  if (code == peer_access_unsupported || code == too_many_peers) return nullptr;
  functions_->check(code, functions_->open);
  return reinterpret_cast<std::byte*>(memory);
}

void CudaDriver::close(std::byte* opened) const noexcept { functions_->close(address(opened)); }

// A copy from pageable memory may return while it is still under way.
void CudaDriver::upload(std::byte* to, const std::byte* from, Bytes size) const {
  functions_->run(functions_->copy_up, address(to), from, static_cast<std::size_t>(size.count));
  functions_->run(functions_->synchronize);
}

void CudaDriver::download(std::byte* to, const std::byte* from, Bytes size) const {
  functions_->run(functions_->copy_down, to, address(from), static_cast<std::size_t>(size.count));
}

void CudaDriver::begin_capture(GpuStream stream) const {
  functions_->run(functions_->begin_capture, stream, capture_thread_local);
}

GpuGraph CudaDriver::end_capture(GpuStream stream) const {
  void* graph = nullptr;
  functions_->run(functions_->end_capture, stream, &graph);
  GpuGraph executable = nullptr;
  const int code = functions_->instantiate(&executable, graph, 0);
  functions_->graph_destroy(graph);
  functions_->check(code, functions_->instantiate);
  return executable;
}

void CudaDriver::launch(GpuGraph graph, GpuStream stream) const {
  functions_->run(functions_->graph_launch, graph, stream);
}

void CudaDriver::destroy_graph(GpuGraph graph) const noexcept {
  functions_->graph_exec_destroy(graph);
}

}  // namespace collbench
