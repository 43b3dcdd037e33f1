// The CUDA driver as found at run time, libcuda.so.1: streams, memory and graphs for libraries that
// work on GPUs (NCCL) in builds with and without the CUDA Toolkit.
//
// Only the driver's own interface is used, declared here by its documented types; it is what the
// CUDA runtime calls too, so pointers and streams of both are the same things. Devices are used
// through their primary contexts, which the runtime shares. COLLBENCH_CUDA_LIBRARY names another
// file than libcuda.so.1.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/units.h"

namespace collbench {

/// A CUstream or CUgraphExec; each is opaque.
using GpuStream = void*;
using GpuGraph = void*;

/// A CUipcMemHandle: by which another process of this machine opens an allocation.
using GpuHandle = std::array<std::byte, 64>;

/// What the driver reports before any device is started.
struct CudaDriverState {
  int version = 0;          // as CudaVersion; 0 without a driver
  int devices = 0;          // as CUDA_VISIBLE_DEVICES left them
  std::string unavailable;  // why no device can be used; empty if one can
};
/// Never throws.
CudaDriverState find_cuda_driver();

/// Where the GPUs that this process sees are on PCI, in CUDA's order, as the kernel writes it
/// ("0000:1b:00.0"): libraries that do not know CUDA_VISIBLE_DEVICES number them otherwise. Empty
/// where no device can be used. Never throws.
std::vector<std::string> cuda_bus_ids();

/// Every member throws Unavailable if memory does not suffice, and TransportError with the call and
/// the driver's message for any other failure.
/// Thread safety: const members may run on any number of threads; what they work on is the device
/// that the calling thread last gave to use().
class CudaDriver {
 public:
  /// That of this process, started at the first call. Throws Unavailable where find_cuda_driver()
  /// has a reason.
  static const CudaDriver& instance();
  CudaDriver();
  ~CudaDriver();
  CudaDriver(const CudaDriver&) = delete;
  CudaDriver& operator=(const CudaDriver&) = delete;

  int version() const;
  int devices() const;
  /// As cuda_bus_ids().
  std::string bus_id(int device) const;
  /// Makes `device` that of this thread.
  void use(int device) const;

  GpuStream make_stream() const;
  void destroy_stream(GpuStream stream) const noexcept;
  /// Whether all work on the stream is done.
  bool finished(GpuStream stream) const;

  std::byte* allocate(Bytes size) const;
  void free(std::byte* memory) const noexcept;
  /// Whether a GPU can work on `memory` without going through host memory.
  bool is_device_memory(const std::byte* memory) const;
  /// The handle of an allocation, by the address that allocate() or cudaMalloc() gave.
  GpuHandle share(const std::byte* memory) const;
  /// Maps another process's allocation for the device of this thread; null if that device cannot
  /// access it. The owner must not free it before close().
  std::byte* open(const GpuHandle& handle) const;
  void close(std::byte* opened) const noexcept;
  /// Copies between host and device; done when they return.
  void upload(std::byte* to, const std::byte* from, Bytes size) const;
  void download(std::byte* to, const std::byte* from, Bytes size) const;

  /// Work given to the stream between the two is not run but recorded as a graph.
  void begin_capture(GpuStream stream) const;
  GpuGraph end_capture(GpuStream stream) const;
  void launch(GpuGraph graph, GpuStream stream) const;
  void destroy_graph(GpuGraph graph) const noexcept;

 private:
  struct Functions;
  std::unique_ptr<Functions> functions_;
};

}  // namespace collbench
