#include "transports/cuda/process.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "transports/cuda/cuda_call.h"
#include "transports/cuda/cuda_error.h"
#include "transports/cuda/devices.h"
#include "transports/cuda/memory.h"
#include "transports/cuda/program.h"

namespace collbench {
namespace {

constexpr std::size_t most_base_tables = 64;
constexpr std::size_t most_process_programs = 256;
constexpr std::int64_t page_bytes = 4096;
// cudaMalloc cuts smaller allocations from blocks of this size, and a handle exports a whole block.
constexpr std::int64_t shown_block = std::int64_t{2} << 20;

// Shared host memory of another owner, registered with this process's devices while this lives.
class RegisteredHostMemory {
 public:
  RegisteredHostMemory(std::byte* host, std::size_t bytes) : host_(host) {
    check_cuda(cudaHostRegister(host, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
               "cudaHostRegister");
    void* address = nullptr;
    const cudaError_t error = cudaHostGetDevicePointer(&address, host, 0);
    if (error != cudaSuccess) cudaHostUnregister(host);
    check_cuda(error, "cudaHostGetDevicePointer");
    on_device_ = static_cast<std::byte*>(address);
  }
  ~RegisteredHostMemory() { cudaHostUnregister(host_); }
  RegisteredHostMemory(const RegisteredHostMemory&) = delete;
  RegisteredHostMemory& operator=(const RegisteredHostMemory&) = delete;
  std::byte* on_device() const { return on_device_; }

 private:
  std::byte* host_;
  std::byte* on_device_ = nullptr;
};

// One schedule for one kind of vector, and its tables for the buffers that it has been played on.
struct ProcessProgram {
  DeviceCommands commands;
  std::optional<CudaRowTables> rows;
  std::map<DeviceBases, std::shared_ptr<std::byte>> base_tables;
};

class CudaProcess final : public CudaCollectives {
 public:
  CudaProcess(const CudaProcessOptions& options, PlayedSchedules played, const std::string& name)
      : options_(options),
        name_(name),
        schedules_(options.where.ranks, std::move(played), name),
        neighbours_(options.where) {
    const CudaDevices found = find_cuda_devices();
    if (!found.unavailable.empty()) throw Unavailable(found.unavailable);
    place_.device = options.where.device;
    place_.ranks = {rank()};
    const CudaDevice& device = found.devices.at(static_cast<std::size_t>(place_.device));
    device_name_ = device.name;
    use_cuda_device(place_.device);
    late_.emplace(neighbours_.late_page(), static_cast<std::size_t>(page_bytes));
    check_cuda(cudaStreamCreateWithFlags(&place_.stream, cudaStreamNonBlocking),
               "cudaStreamCreateWithFlags");
    show_flags();
    count_ranks_on_device(device.pci_bus_id);
  }
  ~CudaProcess() override {
    // Its kernel may still write to the other ranks; if they are lost, `late` ends it.
    cudaSetDevice(place_.device);
    cudaStreamSynchronize(place_.stream);
    programs_.clear();
    place_.flags.reset();
    neighbours_.leave();
    cudaSetDevice(place_.device);
    cudaStreamDestroy(place_.stream);
  }

  Rank rank() const override { return neighbours_.rank(); }
  int ranks() const override { return neighbours_.ranks(); }
  Seconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
  std::string description() const override {
    return fmt::format("{} on {} processes, rank 0 on gpu:{} ({}), persistent executor", name_,
                       ranks(), place_.device, device_name_);
  }

  std::shared_ptr<std::byte> allocate(Bytes size) override {
    const std::int64_t blocks =
        std::max<std::int64_t>((size.count + shown_block - 1) / shown_block, 1);
    std::shared_ptr<std::byte> memory = allocate_on_cuda(place_.device, {blocks * shown_block});
    neighbours_.adopt(memory, size);
    return memory;
  }

  void barrier() override { neighbours_.meet({}, nullptr, nullptr); }

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, DataType, ReduceOp, bool>;

  // Each process has a copy of all flags in the memory of its GPU. Where not all GPUs reach all of
  // them, there is one copy, in memory of the host, behind what rank 0 stages.
  void show_flags() {
    const Bytes size = cuda_flag_bytes(ranks());
    place_.flags = allocate(size);
    std::vector<std::byte*> copies = neighbours_.show(place_.flags.get());
    neighbours_.note_reach(copies);
    bool all_reach_all = true;
    for (Rank a = 0; a < ranks(); ++a) {
      for (Rank b = 0; b < ranks(); ++b) all_reach_all = all_reach_all && neighbours_.reaches(a, b);
    }
    place_.flag_copies = all_reach_all ? ranks() : 1;
    place_.home = all_reach_all ? rank() : 0;
    if (!all_reach_all) {
      const Bytes stage = options_.where.stage;
      for (Rank r = 0; r < ranks(); ++r) {
        stages_.emplace_back(neighbours_.stage(r), static_cast<std::size_t>(stage.count));
      }
      copies = {stages_[0].on_device() + (stage.count - size.count)};
    }
    place_.flag_table =
        copy_to_cuda(place_.device, copies.data(), copies.size() * sizeof(std::byte*));
  }

  // MPS runs the kernels of several processes at the same time: all must fit on the device, for
  // each waits for the others.
  void count_ranks_on_device(const std::string& pci_bus_id) {
    const auto mine = static_cast<std::int64_t>(std::hash<std::string>()(pci_bus_id));
    const std::vector<std::int64_t> all = neighbours_.gather({&mine, 1});
    ranks_on_device_ = static_cast<int>(std::count(all.begin(), all.end(), mine));
  }

  void play(const CudaCall& call, Region in, Region out) override {
    if (!broken_.empty()) throw TransportError("the GPU cannot go on after: " + broken_);
    try {
      const CudaNeighbours::Met met = neighbours_.meet(call, in.count > 0 ? in.data : nullptr,
                                                       out.count > 0 ? out.data : nullptr);
      if (call.count == 0) return;
      use_cuda_device(place_.device);
      ProcessProgram& program = program_of(call);
      launch(program, bases_of(program, call, met));
      finish();
    } catch (const std::exception& error) {
      broken_ = error.what();
      throw;
    }
  }

  // All ranks create the same programs in the same order, and so agree on their lanes.
  ProcessProgram& program_of(const CudaCall& call) {
    const Key key{CudaSchedules::key(call), call.count, call.type, call.op, call.in_place};
    const auto found = programs_.find(key);
    if (found != programs_.end()) return found->second;
    ProcessProgram program;
    program.commands =
        lower(schedules_.of(call), call.count, call.type, call.op, call.in_place,
              {[this](Rank a, Rank b) { return neighbours_.reaches(a, b); }}, *call.collective);
    const Bytes size{call.count * size_of(call.type)};
    const Bytes staged = options_.where.stage - cuda_flag_bytes(ranks());
    require(!program.commands.uses_stage || size <= staged,
            fmt::format("vectors of {} were not foreseen, only of up to {}", to_string(size),
                        to_string(staged)));
    const std::int64_t mine = most_lanes(program.commands, {&place_, 1}, ranks_on_device_);
    const std::vector<std::int64_t> lanes = neighbours_.gather({&mine, 1});
    program.rows.emplace(program.commands, std::span(&place_, 1), DeviceStart::apart,
                         static_cast<int>(*std::min_element(lanes.begin(), lanes.end())));
    if (programs_.size() >= most_process_programs) programs_.clear();  // all ranks at one call
    return programs_.emplace(key, std::move(program)).first->second;
  }

  DeviceBases bases_of(const ProcessProgram& program, const CudaCall& call,
                       const CudaNeighbours::Met& met) {
    const DeviceCommands& commands = program.commands;
    const Bytes wanted = scratch_room(commands);
    if (scratch_size_ < wanted) {
      scratch_ = neighbours_.show(allocate(wanted).get());
      scratch_size_ = wanted;
    }
    DeviceBases bases;
    for (Rank rank = 0; rank < ranks(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const auto [in, out] = vector_starts(call, rank, ranks(), met.in[r], met.out[r]);
      bases.push_back(in);
      bases.push_back(out);
      bases.push_back(wanted.count > 0 ? scratch_[r] : nullptr);
      bases.push_back(commands.uses_work ? scratch_[r] + work_begin(commands).count : nullptr);
      bases.push_back(commands.uses_stage ? stages_[r].on_device() : nullptr);
    }
    return bases;
  }

  void launch(ProcessProgram& program, const DeviceBases& bases) {
    if (program.base_tables.size() >= most_base_tables) program.base_tables.clear();
    std::shared_ptr<std::byte>& table = program.base_tables[bases];
    if (!table) {
      table = copy_to_cuda(place_.device, bases.data(), bases.size() * sizeof(std::byte*));
    }
    const bool aligned = std::all_of(bases.begin(), bases.end(), [](const std::byte* base) {
      return reinterpret_cast<std::uintptr_t>(base) % device_group_bytes == 0;
    });
    program.rows->launch({&place_, 1}, {&table, 1}, aligned, started_,
                         reinterpret_cast<std::int32_t*>(late_->on_device()), options_.timeout);
    started_ += program.rows->numbers();
  }

  void finish() {
    check_cuda(cudaStreamSynchronize(place_.stream),
               fmt::format("the collective of rank {} on gpu:{}", rank(), place_.device));
    const std::int32_t late =
        *reinterpret_cast<const volatile std::int32_t*>(neighbours_.late_page());
    if (late == 0) return;
    if (const std::string why = neighbours_.why_aborted(); !why.empty()) throw TransportError(why);
    throw TransportError(fmt::format("rank {} waited for another one for {} on its GPU in vain",
                                     late - 1, to_string(options_.timeout)));
  }

  CudaProcessOptions options_;
  std::string name_;
  std::string device_name_;
  CudaSchedules schedules_;
  CudaNeighbours neighbours_;
  std::optional<RegisteredHostMemory> late_;
  std::deque<RegisteredHostMemory> stages_;  // by rank; none where all reach all
  CudaPlace place_;
  int ranks_on_device_ = 1;          // of all processes
  std::uint64_t started_ = 0;        // numbers of rows so far, the same on all ranks
  std::vector<std::byte*> scratch_;  // by rank
  Bytes scratch_size_;
  std::map<Key, ProcessProgram> programs_;
  std::string broken_;
};

}  // namespace

Bytes cuda_process_stage(int ranks, Bytes largest) {
  return Bytes{(largest.count + page_bytes - 1) / page_bytes * page_bytes} + cuda_flag_bytes(ranks);
}

std::unique_ptr<Communicator> make_cuda_process_communicator(const CudaProcessOptions& options,
                                                             PlayedSchedules played,
                                                             const std::string& name) {
  require(options.executor != CudaExecutor::graph,
          "executor graph plays the ranks of one process: a graph does not wait for another one; "
          "use --executor persistent, or leave out --isolate");
  return std::make_unique<CudaProcess>(options, std::move(played), name);
}

}  // namespace collbench
