#include "transports/cuda/program.h"

#include <algorithm>
#include <string>

#include <cuda_runtime_api.h>

#include "core/error.h"
#include "transports/cuda/cuda_error.h"
#include "transports/cuda/memory.h"
#include "transports/cuda/reduce.h"

namespace collbench {
namespace {

using Nodes = std::vector<cudaGraphNode_t>;

int device_of(Rank rank, std::span<const CudaPlace> places) {
  for (const CudaPlace& place : places) {
    if (std::find(place.ranks.begin(), place.ranks.end(), rank) != place.ranks.end()) {
      return place.device;
    }
  }
  throw InvalidArgument("rank " + std::to_string(rank) + " has no device");
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
    for (const DeviceCommand& command : commands_.commands) add(command);
    check_cuda(cudaSetDevice(places_[0].device), "cudaSetDevice");
    cudaGraphExec_t ready = nullptr;
    check_cuda(cudaGraphInstantiate(&ready, graph_, 0), "cudaGraphInstantiate");
    return ready;
  }

 private:
  void add(const DeviceCommand& command) {
    Nodes before;
    for (const std::int32_t d : commands_.before(command)) {
      const Nodes& nodes = nodes_[static_cast<std::size_t>(d)];
      before.insert(before.end(), nodes.begin(), nodes.end());
    }
    nodes_.emplace_back();
    if (!command.any_rank) {
      add_part(command, device_of(command.rank, places_), 0, command.count, before);
      return;
    }
    // Every device does a share, cut at whole groups of 16 bytes.
    const auto parts = static_cast<std::int64_t>(places_.size());
    const std::int64_t grain = device_group_bytes / size_of(commands_.type);
    for (std::int64_t part = 0; part < parts; ++part) {
      const auto cut = [&](std::int64_t p) {
        return p == parts ? command.count : command.count * p / parts / grain * grain;
      };
      add_part(command, places_[static_cast<std::size_t>(part)].device, cut(part),
               cut(part + 1) - cut(part), before);
    }
  }

  void add_part(const DeviceCommand& command, int device, std::int64_t first, std::int64_t count,
                const Nodes& before) {
    const std::int64_t offset = (command.first + first) * size_of(commands_.type);
    std::vector<const std::byte*> from;
    std::vector<std::byte*> to;
    for (const DeviceOperand& s : commands_.sources(command)) from.push_back(base(s) + offset);
    for (const DeviceOperand& d : commands_.destinations(command)) to.push_back(base(d) + offset);
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    const Nodes added = add_cuda_reduce(graph_, before, commands_.type,
                                        {commands_.op, command.divisor}, from, to, count);
    nodes_.back().insert(nodes_.back().end(), added.begin(), added.end());
  }

  std::byte* base(const DeviceOperand& operand) const {
    return bases_[static_cast<std::size_t>(operand.rank * device_places) +
                  static_cast<std::size_t>(operand.place)];
  }

  const DeviceCommands& commands_;
  const DeviceBases& bases_;
  std::span<const CudaPlace> places_;
  cudaGraph_t graph_ = nullptr;
  std::vector<Nodes> nodes_;  // by command
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

int most_lanes(const DeviceCommands& commands, std::span<const CudaPlace> places) {
  int most = most_flag_lanes;
  for (const CudaPlace& place : places) {
    check_cuda(cudaSetDevice(place.device), "cudaSetDevice");
    const int ranks = static_cast<int>(place.ranks.size());
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
