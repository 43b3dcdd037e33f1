#include "transports/cuda/program.h"

#include <algorithm>

#include <cuda_runtime_api.h>

#include "core/error.h"
#include "transports/cuda/cuda_error.h"
#include "transports/cuda/levels.h"
#include "transports/cuda/memory.h"

namespace collbench {
namespace {

std::vector<int> places_of_ranks(std::span<const CudaPlace> places, int ranks) {
  std::vector<int> place_of(static_cast<std::size_t>(ranks), -1);
  for (std::size_t p = 0; p < places.size(); ++p) {
    for (const std::int32_t rank : places[p].ranks) {
      place_of[static_cast<std::size_t>(rank)] = static_cast<int>(p);
    }
  }
  return place_of;
}

// A graph under construction, given back unless it is taken.
class GraphBuilder {
 public:
  GraphBuilder(const DeviceCommands& commands, const DeviceBases& bases,
               std::span<const CudaPlace> places)
      : commands_(commands), bases_(bases), places_(places) {
    check_cuda(cudaGraphCreate(&graph_, 0), "cudaGraphCreate");
  }
  ~GraphBuilder() { cudaGraphDestroy(graph_); }
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  CUgraphExec_st* build() {
    const std::vector<int> place_of = places_of_ranks(places_, commands_.ranks);
    const std::vector<DeviceLevel> levels =
        levels_of(commands_, place_of, static_cast<int>(places_.size()));
    std::vector<cudaGraphNode_t> nodes;
    for (const DeviceLevel& level : levels) {
      const bool same_device = std::ranges::all_of(level.before, [&](std::int32_t b) {
        return levels[static_cast<std::size_t>(b)].place == level.place;
      });
      std::vector<cudaGraphNode_t> before;
      for (const std::int32_t b : level.before)
        before.push_back(nodes[static_cast<std::size_t>(b)]);
      check_cuda(cudaSetDevice(places_[static_cast<std::size_t>(level.place)].device),
                 "cudaSetDevice");
      nodes.push_back(add_cuda_level(graph_, before, same_device, commands_, level, bases_));
    }
    check_cuda(cudaSetDevice(places_[0].device), "cudaSetDevice");
    cudaGraphExec_t ready = nullptr;
    check_cuda(cudaGraphInstantiate(&ready, graph_, 0), "cudaGraphInstantiate");
    return ready;
  }

 private:
  const DeviceCommands& commands_;
  const DeviceBases& bases_;
  std::span<const CudaPlace> places_;
  cudaGraph_t graph_ = nullptr;
};

template <class T>
std::shared_ptr<std::byte> upload(int device, const std::vector<T>& values) {
  return copy_to_cuda(device, values.data(), values.size() * sizeof(T));
}

template <class T>
const T* as(const std::shared_ptr<std::byte>& memory) {
  return reinterpret_cast<const T*>(memory.get());
}

}  // namespace

Bytes cuda_flag_bytes(int ranks) {
  return {std::int64_t{ranks} * most_flag_lanes * device_flag_stride *
          static_cast<std::int64_t>(sizeof(std::uint64_t))};
}

std::shared_ptr<std::byte> copy_to_cuda(int device, const void* data, std::size_t bytes) {
  auto memory = allocate_on_cuda(device, Bytes{static_cast<std::int64_t>(bytes)});
  if (bytes > 0) {
    copy_with_cuda(memory.get(), static_cast<const std::byte*>(data),
                   Bytes{static_cast<std::int64_t>(bytes)});
  }
  return memory;
}

CudaGraph::CudaGraph(const DeviceCommands& commands, const DeviceBases& bases,
                     std::span<const CudaPlace> places)
    : graph_(GraphBuilder(commands, bases, places).build()) {}

CudaGraph::~CudaGraph() { cudaGraphExecDestroy(graph_); }

void CudaGraph::launch(std::span<const CudaPlace> places) const {
  check_cuda(cudaSetDevice(places[0].device), "cudaSetDevice");
  check_cuda(cudaGraphLaunch(graph_, places[0].stream), "cudaGraphLaunch");
}

int most_lanes(const DeviceCommands& commands, std::span<const CudaPlace> places,
               int ranks_on_device) {
  int most = most_flag_lanes;
  for (const CudaPlace& place : places) {
    check_cuda(cudaSetDevice(place.device), "cudaSetDevice");
    const int ranks = std::max(static_cast<int>(place.ranks.size()), ranks_on_device);
    most = std::min(most, most_cuda_lanes(commands.type, commands.op, ranks));
  }
  return most;
}

CudaRowTables::CudaRowTables(const DeviceCommands& commands, std::span<const CudaPlace> places,
                             DeviceStart start, int lanes)
    : rows_(tabulate(commands, start)), start_(start), lanes_(choose_lanes(rows_, lanes)) {
  for (const CudaPlace& place : places) {
    tables_.push_back({upload(place.device, rows_.first_step), upload(place.device, rows_.steps),
                       upload(place.device, rows_.operands), upload(place.device, rows_.waits),
                       upload(place.device, place.ranks)});
  }
}

void CudaRowTables::launch(std::span<const CudaPlace> places,
                           std::span<const std::shared_ptr<std::byte>> bases, bool aligned,
                           std::uint64_t started, std::int32_t* late, Seconds patience) const {
  for (std::size_t p = 0; p < places.size(); ++p) {
    const CudaPlace& place = places[p];
    CudaRowLaunch launch;
    launch.table.first_step = as<std::int32_t>(tables_[p].first_step);
    launch.table.steps = as<DeviceRowStep>(tables_[p].steps);
    launch.table.operands = as<std::int32_t>(tables_[p].operands);
    launch.table.waits = as<DeviceWait>(tables_[p].waits);
    launch.table.bases = as<std::byte*>(bases[p]);
    launch.table.flags = as<std::uint64_t*>(place.flag_table);
    launch.table.flag_copies = place.flag_copies;
    launch.table.home = place.home;
    launch.table.flag_lanes = most_flag_lanes;
    launch.table.lanes = lanes_.lanes;
    launch.table.stripe = lanes_.stripe;
    launch.table.started = started;
    launch.table.aligned = aligned;
    launch.ranks = as<std::int32_t>(tables_[p].ranks);
    launch.rank_count = static_cast<int>(place.ranks.size());
    launch.beyond_device = start_ == DeviceStart::apart;
    launch.late = late;
    launch.patience = patience;
    check_cuda(cudaSetDevice(place.device), "cudaSetDevice");
    launch_cuda_rows(launch, rows_.type, rows_.op, place.stream);
  }
}

}  // namespace collbench
