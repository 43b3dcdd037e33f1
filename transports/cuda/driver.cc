#include "transports/cuda/driver.h"

#include <cstdlib>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "transports/cuda/reason.h"
#include "transports/cuda/shared_library.h"

namespace collbench {
namespace {

// Values of CUDA's cuda.h.
constexpr int success = 0;
constexpr int out_of_memory = 2;
constexpr int peer_access_unsupported = 217;
constexpr int not_ready = 600;
constexpr int too_many_peers = 711;
constexpr unsigned non_blocking_stream = 1;
constexpr unsigned event_without_timing = 2;
constexpr int capture_thread_local = 1;
constexpr int attribute_memory_type = 2;
constexpr unsigned memory_type_device = 2;
constexpr unsigned open_enables_peer_access = 1;

using DriverContext = void*;
using DevicePointer = std::uint64_t;

DevicePointer address(const std::byte* memory) { return reinterpret_cast<DevicePointer>(memory); }

}  // namespace

struct CudaDriver::Functions {
  SharedLibrary library{environment_value("COLLBENCH_CUDA_LIBRARY", "libcuda.so.1")};

  int (*init)(unsigned) = nullptr;
  int (*driver_version)(int*) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  int (*error_string)(int, const char**) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_pci_bus_id)(char*, int, int) = nullptr;
  int (*primary_retain)(DriverContext*, int) = nullptr;
  int (*set_current)(DriverContext) = nullptr;
  int (*synchronize)() = nullptr;
  int (*stream_create)(GpuStream*, unsigned) = nullptr;
  int (*stream_destroy)(GpuStream) = nullptr;
  int (*stream_query)(GpuStream) = nullptr;
  int (*event_create)(GpuEvent*, unsigned) = nullptr;
  int (*event_destroy)(GpuEvent) = nullptr;
  int (*event_record)(GpuEvent, GpuStream) = nullptr;
  int (*event_query)(GpuEvent) = nullptr;
  int (*mem_alloc)(DevicePointer*, std::size_t) = nullptr;
  int (*mem_free)(DevicePointer) = nullptr;
  int (*copy_up)(DevicePointer, const void*, std::size_t) = nullptr;
  int (*copy_down)(void*, DevicePointer, std::size_t) = nullptr;
  int (*pointer_attribute)(void*, int, DevicePointer) = nullptr;
  int (*share)(GpuHandle*, DevicePointer) = nullptr;
  int (*open)(DevicePointer*, GpuHandle, unsigned) = nullptr;
  int (*close)(DevicePointer) = nullptr;
  int (*begin_capture)(GpuStream, int) = nullptr;
  int (*end_capture)(GpuStream, void**) = nullptr;
  int (*instantiate)(GpuGraph*, void*, unsigned long long) = nullptr;
  int (*graph_destroy)(void*) = nullptr;
  int (*graph_launch)(GpuGraph, GpuStream) = nullptr;
  int (*graph_exec_destroy)(GpuGraph) = nullptr;

  std::mutex mutex;
  std::vector<DriverContext> contexts;  // by device; null until used

  Functions() {
    library.bind(init, "cuInit");
    library.bind(driver_version, "cuDriverGetVersion");
    library.bind(error_name, "cuGetErrorName");
    library.bind(error_string, "cuGetErrorString");
    library.bind(device_count, "cuDeviceGetCount");
    library.bind(device_get, "cuDeviceGet");
    library.bind(device_name, "cuDeviceGetName");
    library.bind(device_pci_bus_id, "cuDeviceGetPCIBusId");
    library.bind(primary_retain, "cuDevicePrimaryCtxRetain");
    library.bind(set_current, "cuCtxSetCurrent");
    library.bind(synchronize, "cuCtxSynchronize");
    library.bind(stream_create, "cuStreamCreate");
    library.bind(stream_destroy, "cuStreamDestroy_v2");
    library.bind(stream_query, "cuStreamQuery");
    library.bind(event_create, "cuEventCreate");
    library.bind(event_destroy, "cuEventDestroy_v2");
    library.bind(event_record, "cuEventRecord");
    library.bind(event_query, "cuEventQuery");
    library.bind(mem_alloc, "cuMemAlloc_v2");
    library.bind(mem_free, "cuMemFree_v2");
    library.bind(copy_up, "cuMemcpyHtoD_v2");
    library.bind(copy_down, "cuMemcpyDtoH_v2");
    library.bind(pointer_attribute, "cuPointerGetAttribute");
    library.bind(share, "cuIpcGetMemHandle");
    library.bind(open, "cuIpcOpenMemHandle_v2");
    library.bind(close, "cuIpcCloseMemHandle");
    library.bind(begin_capture, "cuStreamBeginCapture_v2");
    library.bind(end_capture, "cuStreamEndCapture");
    library.bind(instantiate, "cuGraphInstantiateWithFlags");
    library.bind(graph_destroy, "cuGraphDestroy");
    library.bind(graph_launch, "cuGraphLaunch");
    library.bind(graph_exec_destroy, "cuGraphExecDestroy");
  }

  CudaFailure failure(int code, const char* call) const {
    const char* name = nullptr;
    const char* text = nullptr;
    error_name(code, &name);
    error_string(code, &text);
    return {call, name != nullptr ? name : fmt::format("error {}", code),
            text != nullptr ? text : "an error that the driver has no words for"};
  }

  void check(int code, const char* call) const {
    if (code == success) return;
    const CudaFailure what = failure(code, call);
    const std::string words = fmt::format("{} failed: {} ({})", call, what.text, what.name);
    if (code == out_of_memory) {
      throw Unavailable(words + "; use smaller vectors, or free the GPU's memory");
    }
    throw TransportError(words);
  }

  bool is_done(int code, const char* call) const {
    if (code == not_ready) return false;
    check(code, call);
    return true;
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
  functions_->check(functions_->driver_version(&number), "cuDriverGetVersion");
  return number;
}

int CudaDriver::devices() const {
  int count = 0;
  functions_->check(functions_->device_count(&count), "cuDeviceGetCount");
  return count;
}

std::string CudaDriver::name(int device) const {
  char text[256] = {};
  functions_->check(functions_->device_name(text, sizeof text - 1, device), "cuDeviceGetName");
  return text;
}

std::string CudaDriver::pci_bus_id(int device) const {
  char text[32] = {};
  functions_->check(functions_->device_pci_bus_id(text, sizeof text - 1, device),
                    "cuDeviceGetPCIBusId");
  return text;
}

void CudaDriver::use(int device) const {
  require(device >= 0 && device < static_cast<int>(functions_->contexts.size()),
          fmt::format("there is no device gpu:{}; this process sees {}", device,
                      functions_->contexts.size()));
  const std::lock_guard lock(functions_->mutex);
  DriverContext& context = functions_->contexts[static_cast<std::size_t>(device)];
  if (context == nullptr) {
    int handle = 0;
    functions_->check(functions_->device_get(&handle, device), "cuDeviceGet");
    functions_->check(functions_->primary_retain(&context, handle), "cuDevicePrimaryCtxRetain");
  }
  functions_->check(functions_->set_current(context), "cuCtxSetCurrent");
}

GpuStream CudaDriver::make_stream() const {
  GpuStream stream = nullptr;
  functions_->check(functions_->stream_create(&stream, non_blocking_stream), "cuStreamCreate");
  return stream;
}

void CudaDriver::destroy_stream(GpuStream stream) const noexcept {
  functions_->stream_destroy(stream);
}

bool CudaDriver::finished(GpuStream stream) const {
  return functions_->is_done(functions_->stream_query(stream), "cuStreamQuery");
}

GpuEvent CudaDriver::make_event() const {
  GpuEvent event = nullptr;
  functions_->check(functions_->event_create(&event, event_without_timing), "cuEventCreate");
  return event;
}

void CudaDriver::destroy_event(GpuEvent event) const noexcept { functions_->event_destroy(event); }

void CudaDriver::record(GpuEvent event, GpuStream stream) const {
  functions_->check(functions_->event_record(event, stream), "cuEventRecord");
}

bool CudaDriver::happened(GpuEvent event) const {
  return functions_->is_done(functions_->event_query(event), "cuEventQuery");
}

std::byte* CudaDriver::allocate(Bytes size) const {
  DevicePointer memory = 0;
  functions_->check(functions_->mem_alloc(&memory, static_cast<std::size_t>(size.count)),
                    "cuMemAlloc");
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
  functions_->check(functions_->share(&handle, address(memory)), "cuIpcGetMemHandle");
  return handle;
}

std::byte* CudaDriver::open(const GpuHandle& handle) const {
  DevicePointer memory = 0;
  const int code = functions_->open(&memory, handle, open_enables_peer_access);
  if (code == peer_access_unsupported || code == too_many_peers) return nullptr;
  functions_->check(code, "cuIpcOpenMemHandle");
  return reinterpret_cast<std::byte*>(memory);
}

void CudaDriver::close(std::byte* opened) const noexcept { functions_->close(address(opened)); }

// A copy from pageable memory may return while it is still under way.
void CudaDriver::upload(std::byte* to, const std::byte* from, Bytes size) const {
  functions_->check(functions_->copy_up(address(to), from, static_cast<std::size_t>(size.count)),
                    "cuMemcpyHtoD");
  functions_->check(functions_->synchronize(), "cuCtxSynchronize");
}

void CudaDriver::download(std::byte* to, const std::byte* from, Bytes size) const {
  functions_->check(functions_->copy_down(to, address(from), static_cast<std::size_t>(size.count)),
                    "cuMemcpyDtoH");
}

void CudaDriver::begin_capture(GpuStream stream) const {
  functions_->check(functions_->begin_capture(stream, capture_thread_local),
                    "cuStreamBeginCapture");
}

GpuGraph CudaDriver::end_capture(GpuStream stream) const {
  void* graph = nullptr;
  functions_->check(functions_->end_capture(stream, &graph), "cuStreamEndCapture");
  GpuGraph executable = nullptr;
  const int code = functions_->instantiate(&executable, graph, 0);
  functions_->graph_destroy(graph);
  functions_->check(code, "cuGraphInstantiate");
  return executable;
}

void CudaDriver::launch(GpuGraph graph, GpuStream stream) const {
  functions_->check(functions_->graph_launch(graph, stream), "cuGraphLaunch");
}

void CudaDriver::destroy_graph(GpuGraph graph) const noexcept {
  functions_->graph_exec_destroy(graph);
}

}  // namespace collbench
