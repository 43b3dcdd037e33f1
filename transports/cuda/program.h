// One collective on the devices of a process: its commands and rows, and their replay on given
// buffers. Private to this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transports/cuda/device_commands.h"
#include "transports/cuda/device_rows.h"
#include "transports/cuda/levels.h"
#include "transports/cuda/rows.h"

struct CUgraphExec_st;  // what cudaGraphExec_t points to

namespace collbench {

/// One GPU with the ranks that are on it.
struct CudaPlace {
  int device = 0;
  std::vector<std::int32_t> ranks;
  CUstream_st* stream = nullptr;
  std::shared_ptr<std::byte> flags;       // of all ranks: this device's copy
  std::shared_ptr<std::byte> flag_table;  // addresses of all copies
  int flag_copies = 1;
  int home = 0;  // which of them is `flags`
};

/// Lanes that flags have room for, per rank.
constexpr int most_flag_lanes = 256;
Bytes cuda_flag_bytes(int ranks);

/// Arrays of numbers in the memory of one device.
std::shared_ptr<std::byte> copy_to_cuda(int device, const void* data, std::size_t bytes);

/// Commands as a graph for given buffers. Thread safety: none.
class CudaGraph {
 public:
  CudaGraph(const DeviceCommands& commands, const DeviceBases& bases,
            std::span<const CudaPlace> places);
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  /// Enqueues it on the first place's stream.
  void launch(std::span<const CudaPlace> places) const;

 private:
  CUgraphExec_st* graph_ = nullptr;
};

/// How many lanes these devices can run at a time, each with the ranks of its place or, where
/// several processes have it, with `ranks_on_device`. Throws Unavailable if not even one.
int most_lanes(const DeviceCommands& commands, std::span<const CudaPlace> places,
               int ranks_on_device = 0);

/// Rows on all devices, for whatever buffers. Thread safety: none.
class CudaRowTables {
 public:
  /// Ranks that play together must be given the same start and the same `lanes`, the most there
  /// are.
  CudaRowTables(const DeviceCommands& commands, std::span<const CudaPlace> places,
                DeviceStart start, int lanes);

  /// The largest number that a replay uses, plus one.
  std::uint64_t numbers() const { return static_cast<std::uint64_t>(rows_.numbers); }
  /// Enqueues the kernel on every place's stream. `bases` are tables in each place's memory.
  void launch(std::span<const CudaPlace> places, std::span<const std::shared_ptr<std::byte>> bases,
              bool aligned, std::uint64_t started, std::int32_t* late, Seconds patience) const;

 private:
  struct Tables {
    std::shared_ptr<std::byte> first_step;
    std::shared_ptr<std::byte> steps;
    std::shared_ptr<std::byte> operands;
    std::shared_ptr<std::byte> waits;
    std::shared_ptr<std::byte> ranks;
  };
  DeviceRows rows_;
  DeviceStart start_;
  DeviceLanes lanes_;
  std::vector<Tables> tables_;  // by place
};

}  // namespace collbench
