#include "transports/cuda/cuda_world.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "transports/cuda/cuda_error.h"
#include "transports/cuda/devices.h"
#include "transports/cuda/memory.h"
#include "transports/cuda/program.h"
#include "transports/kernels/kernels.h"

namespace collbench {
namespace {

// Between devices, above which a kernel for each level keeps more of them busy than rows do; below,
// launching them costs more than the work. To be placed by measurement on several devices.
constexpr std::int64_t persistent_bytes = std::int64_t{4} << 20;
constexpr std::size_t most_bindings = 64;
constexpr std::size_t most_programs = 256;

// A program on given buffers.
struct Binding {
  DeviceBases bases;
  bool aligned = true;
  bool on_host = false;  // all buffers are the host's: it plays the commands itself
  std::vector<std::shared_ptr<std::byte>> base_tables;  // by place; persistent only
  std::unique_ptr<CudaGraph> graph;                     // graph only
};

struct WorldProgram {
  DeviceCommands commands;
  CudaExecutor executor = CudaExecutor::graph;
  std::optional<CudaRowTables> rows;
  std::map<std::vector<std::byte*>, Binding> bindings;  // by all ranks' addresses
};

// Small control data of the ranks is reduced on the host; the folds and so the bits are the same.
void play_on_host(const DeviceCommands& list, const DeviceBases& bases) {
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  const auto address = [&](const DeviceCommand& command, const DeviceOperand& operand) {
    return bases[static_cast<std::size_t>(operand.rank * device_places) +
                 static_cast<std::size_t>(operand.place)] +
           command.first * size_of(list.type);
  };
  for (const DeviceCommand& command : list.commands) {
    from.clear();
    to.clear();
    for (const DeviceOperand& s : list.sources(command)) from.push_back(address(command, s));
    for (const DeviceOperand& d : list.destinations(command)) to.push_back(address(command, d));
    reduce(list.type, {list.op, command.divisor}, from, to, command.count);
  }
}

// The thread that plays for all ranks switches to every device, and back to its own at the end.
class KeptDevice {
 public:
  KeptDevice() : device_(current_cuda_device()) {}
  ~KeptDevice() { cudaSetDevice(device_); }
  KeptDevice(const KeptDevice&) = delete;
  KeptDevice& operator=(const KeptDevice&) = delete;

 private:
  int device_;
};

// Of all buffers; null for those that hold nothing.
std::vector<std::byte*> addresses_of(const CudaCollective& collective) {
  std::vector<std::byte*> addresses;
  for (const auto& regions : {collective.in, collective.out}) {
    for (const Region& region : regions) {
      addresses.push_back(region.count > 0 ? region.data : nullptr);
    }
  }
  return addresses;
}

}  // namespace

class CudaWorld::Parts {
 public:
  explicit Parts(const CudaWorldOptions& options) : options_(options) {
    const CudaDevices found = find_cuda_devices();
    if (!found.unavailable.empty()) throw Unavailable(found.unavailable);
    const KeptDevice kept;
    require(!options.devices.empty(), "a CUDA world needs at least one rank");
    for (std::size_t r = 0; r < options.devices.size(); ++r) {
      const int device = options.devices[r];
      if (device < 0 || device >= static_cast<int>(found.devices.size())) {
        throw Unavailable(fmt::format("there is no gpu:{}; this process sees {} device(s)", device,
                                      found.devices.size()));
      }
      place_of(device).ranks.push_back(static_cast<std::int32_t>(r));
    }
    for (const CudaPlace& place : places_) {
      describe(place, found.devices[static_cast<std::size_t>(place.device)].name);
    }
    reach_peers(found);
    make_streams_and_flags();
  }
  ~Parts() {
    programs_.clear();
    for (const CudaPlace& place : places_) {
      cudaSetDevice(place.device);
      if (place.stream != nullptr) cudaStreamDestroy(place.stream);
    }
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  const CudaWorldOptions& options() const { return options_; }
  const std::string& description() const { return description_; }

  void play(const CudaCollective& collective, const Schedule& schedule) {
    require_usable();
    const KeptDevice kept;
    WorldProgram& program = program_of(collective, schedule);
    Binding& binding = binding_of(program, collective);
    try {
      if (binding.on_host) {
        play_on_host(program.commands, binding.bases);
        return;
      }
      launch(program, binding);
      synchronize();
    } catch (const std::exception& error) {
      broken_ = error.what();
      await_end();
      throw;
    }
  }

  Seconds time_on_device(const CudaCollective& collective, const Schedule& schedule, int replays) {
    require_usable();
    const KeptDevice kept;
    WorldProgram& program = program_of(collective, schedule);
    Binding& binding = binding_of(program, collective);
    for (int i = 0; i < 3; ++i) launch(program, binding);
    synchronize();
    check_cuda(cudaSetDevice(places_[0].device), "cudaSetDevice");
    cudaEvent_t events[2]{};
    for (cudaEvent_t& event : events) check_cuda(cudaEventCreate(&event), "cudaEventCreate");
    check_cuda(cudaEventRecord(events[0], places_[0].stream), "cudaEventRecord");
    for (int i = 0; i < replays; ++i) launch(program, binding);
    check_cuda(cudaSetDevice(places_[0].device), "cudaSetDevice");
    check_cuda(cudaEventRecord(events[1], places_[0].stream), "cudaEventRecord");
    synchronize();
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, events[0], events[1]), "cudaEventElapsedTime");
    for (cudaEvent_t event : events) cudaEventDestroy(event);
    return Seconds{milliseconds * 1e-3 / replays};
  }

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, DataType, ReduceOp, bool>;

  CudaPlace& place_of(int device) {
    for (CudaPlace& place : places_) {
      if (place.device == device) return place;
    }
    places_.push_back({});
    places_.back().device = device;
    return places_.back();
  }

  void describe(const CudaPlace& place, const std::string& name) {
    if (!description_.empty()) description_ += ", ";
    if (place.ranks.size() > 1) {
      description_ += fmt::format("{} logical devices on ", place.ranks.size());
    }
    description_ += fmt::format("gpu:{} ({})", place.device, name);
  }

  // Device-to-device access, both ways or not at all.
  void reach_peers(const CudaDevices& found) {
    const auto sees = [&](int from, int to) {
      const auto& peers = found.devices[static_cast<std::size_t>(from)].peers;
      return std::find(peers.begin(), peers.end(), to) != peers.end();
    };
    for (const CudaPlace& from : places_) {
      for (const CudaPlace& to : places_) {
        const int a = from.device;
        const int b = to.device;
        if (a == b || !sees(a, b) || !sees(b, a)) continue;
        check_cuda(cudaSetDevice(a), "cudaSetDevice");
        const cudaError_t error = cudaDeviceEnablePeerAccess(b, 0);
        if (error == cudaErrorPeerAccessAlreadyEnabled) {
          cudaGetLastError();
        } else {
          check_cuda(error, fmt::format("opening the memory of gpu:{} to gpu:{}", b, a));
        }
        peers_.push_back({a, b});
      }
    }
  }

  bool reaches(Rank reader, Rank owner) const {
    const int a = options_.devices[static_cast<std::size_t>(reader)];
    const int b = options_.devices[static_cast<std::size_t>(owner)];
    return a == b || std::find(peers_.begin(), peers_.end(), std::pair{a, b}) != peers_.end();
  }

  // Flags of a device are polled there and written by all, so they must be within reach: where not
  // all devices are peers, flags lie in host memory.
  void make_streams_and_flags() {
    const int ranks = static_cast<int>(options_.devices.size());
    const bool all_peers = peers_.size() == places_.size() * (places_.size() - 1);
    std::vector<std::byte*> copies;
    for (CudaPlace& place : places_) {
      check_cuda(cudaSetDevice(place.device), "cudaSetDevice");
      check_cuda(cudaStreamCreateWithFlags(&place.stream, cudaStreamNonBlocking),
                 "cudaStreamCreateWithFlags");
      place.flags = all_peers ? allocate_on_cuda(place.device, cuda_flag_bytes(ranks))
                              : allocate_for_cuda(cuda_flag_bytes(ranks));
      place.home = static_cast<int>(copies.size());
      place.flag_copies = static_cast<int>(places_.size());
      copies.push_back(place.flags.get());
    }
    for (CudaPlace& place : places_) {
      place.flag_table =
          copy_to_cuda(place.device, copies.data(), copies.size() * sizeof(std::byte*));
    }
    late_ = allocate_for_cuda(Bytes{sizeof(std::int32_t)});
    scratch_.resize(static_cast<std::size_t>(ranks));
    host_scratch_.resize(static_cast<std::size_t>(ranks));
    stage_.resize(static_cast<std::size_t>(ranks));
  }

  WorldProgram& program_of(const CudaCollective& collective, const Schedule& schedule) {
    const std::int64_t count = collective.count();
    const DataType type = collective.type();
    const Key key{collective.key, count, type, collective.op, collective.in_place};
    const auto found = programs_.find(key);
    if (found != programs_.end()) return found->second;
    require(schedule.ranks() == static_cast<int>(options_.devices.size()),
            "cuda: the schedule is for another number of ranks");
    WorldProgram program;
    program.commands =
        lower(schedule, count, type, collective.op, collective.in_place,
              {[this](Rank a, Rank b) { return reaches(a, b); }}, collective.collective);
    program.executor = options_.executor;
    if (program.executor == CudaExecutor::automatic) {
      const bool short_and_far = places_.size() > 1 && count * size_of(type) <= persistent_bytes;
      program.executor = short_and_far ? CudaExecutor::persistent : CudaExecutor::graph;
    }
    if (program.executor == CudaExecutor::persistent) {
      const bool one_launch = places_.size() == 1;
      program.rows.emplace(program.commands, places_,
                           one_launch ? DeviceStart::together : DeviceStart::apart,
                           most_lanes(program.commands, places_));
    }
    if (programs_.size() >= most_programs) programs_.clear();
    return programs_.emplace(key, std::move(program)).first->second;
  }

  // Memory of at least `size` for each rank: on its device, or for all devices.
  std::byte* room(std::vector<std::pair<std::shared_ptr<std::byte>, Bytes>>& rooms, Rank rank,
                  Bytes size, bool on_device) {
    auto& [memory, had] = rooms[static_cast<std::size_t>(rank)];
    if (!memory || had < size) {
      memory.reset();
      memory = on_device ? allocate_on_cuda(options_.devices[static_cast<std::size_t>(rank)], size)
                         : allocate_for_cuda(size);
      had = size;
      for (auto& [key, program] : programs_) program.bindings.clear();
    }
    return memory.get();
  }

  Binding& binding_of(WorldProgram& program, const CudaCollective& collective) {
    std::vector<std::byte*> addresses = addresses_of(collective);
    const auto found = program.bindings.find(addresses);
    if (found != program.bindings.end()) return found->second;
    if (program.bindings.size() >= most_bindings) program.bindings.clear();
    const Bytes size{collective.count() * size_of(collective.type())};
    const DeviceCommands& commands = program.commands;
    Binding binding;
    const auto absent = std::count(addresses.begin(), addresses.end(), nullptr);
    const auto on_devices = std::count_if(addresses.begin(), addresses.end(),
                                          [](const std::byte* p) { return p && is_on_cuda(p); });
    binding.on_host = on_devices == 0;
    require(binding.on_host || on_devices + absent == std::ssize(addresses),
            "cuda: some buffers of one collective are in host memory, others on a device");
    for (Rank r = 0; r < commands.ranks; ++r) {
      const auto [input, output] = vector_starts(
          collective.call(), r, commands.ranks, addresses[static_cast<std::size_t>(r)],
          addresses[static_cast<std::size_t>(r + commands.ranks)]);
      binding.bases.push_back(input);
      binding.bases.push_back(output);
      auto& scratches = binding.on_host ? host_scratch_ : scratch_;
      const Bytes wanted = scratch_room(commands);
      std::byte* const scratch =
          wanted.count > 0 ? room(scratches, r, wanted, !binding.on_host) : nullptr;
      binding.bases.push_back(scratch);
      binding.bases.push_back(commands.uses_work ? scratch + work_begin(commands).count : nullptr);
      binding.bases.push_back(commands.uses_stage ? room(stage_, r, size, false) : nullptr);
    }
    if (binding.on_host) return keep(program, std::move(addresses), std::move(binding));
    for (const std::byte* base : binding.bases) {
      const auto address = reinterpret_cast<std::uintptr_t>(base);
      binding.aligned = binding.aligned && address % device_group_bytes == 0;
    }
    if (program.executor == CudaExecutor::persistent) {
      for (const CudaPlace& place : places_) {
        binding.base_tables.push_back(copy_to_cuda(place.device, binding.bases.data(),
                                                   binding.bases.size() * sizeof(std::byte*)));
      }
    } else {
      binding.graph = std::make_unique<CudaGraph>(program.commands, binding.bases, places_);
    }
    return keep(program, std::move(addresses), std::move(binding));
  }

  static Binding& keep(WorldProgram& program, std::vector<std::byte*> addresses, Binding binding) {
    return program.bindings.emplace(std::move(addresses), std::move(binding)).first->second;
  }

  void launch(const WorldProgram& program, const Binding& binding) {
    if (binding.graph) {
      binding.graph->launch(places_);
      return;
    }
    program.rows->launch(places_, binding.base_tables, binding.aligned, started_,
                         reinterpret_cast<std::int32_t*>(late_.get()), options_.timeout);
    started_ += program.rows->numbers();
  }

  void synchronize() {
    for (const CudaPlace& place : places_) {
      check_cuda(cudaSetDevice(place.device), "cudaSetDevice");
      check_cuda(cudaStreamSynchronize(place.stream),
                 fmt::format("the collective on gpu:{}", place.device));
    }
    const std::int32_t late = *reinterpret_cast<volatile std::int32_t*>(late_.get());
    if (late != 0) {
      throw TransportError(fmt::format("rank {} waited for another one for {} on its GPU in vain",
                                       late - 1, to_string(options_.timeout)));
    }
  }

  // After a failure: callers may give back their buffers, of which a kernel of another device must
  // not read any more. Kernels that wait are told to end; graphs end by themselves.
  void await_end() {
    *reinterpret_cast<volatile std::int32_t*>(late_.get()) = -1;
    for (const CudaPlace& place : places_) {
      if (cudaSetDevice(place.device) == cudaSuccess) cudaStreamSynchronize(place.stream);
    }
    cudaGetLastError();  // known already
  }

  void require_usable() const {
    if (!broken_.empty()) throw TransportError("the GPUs cannot go on after: " + broken_);
  }

  CudaWorldOptions options_;
  std::vector<CudaPlace> places_;
  std::vector<std::pair<int, int>> peers_;  // devices: which reads which
  std::string description_;
  std::shared_ptr<std::byte> late_;
  std::uint64_t started_ = 0;                                          // numbers of rows so far
  std::vector<std::pair<std::shared_ptr<std::byte>, Bytes>> scratch_;  // by rank
  std::vector<std::pair<std::shared_ptr<std::byte>, Bytes>> host_scratch_;
  std::vector<std::pair<std::shared_ptr<std::byte>, Bytes>> stage_;
  std::map<Key, WorldProgram> programs_;
  std::string broken_;
};

CudaWorld::CudaWorld(const CudaWorldOptions& options) : parts_(std::make_unique<Parts>(options)) {}
CudaWorld::~CudaWorld() = default;

const CudaWorldOptions& CudaWorld::options() const { return parts_->options(); }
std::string CudaWorld::description() const { return parts_->description(); }

void CudaWorld::play(const CudaCollective& collective, const Schedule& schedule) {
  parts_->play(collective, schedule);
}

Seconds CudaWorld::time_on_device(const CudaCollective& collective, const Schedule& schedule,
                                  int replays) {
  return parts_->time_on_device(collective, schedule, replays);
}

}  // namespace collbench
