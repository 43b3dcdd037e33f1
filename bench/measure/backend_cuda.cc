// Our schedules on GPUs: a thread for each rank, or (isolated) a process for each, and several
// ranks on one GPU where ranks are more.
#include <set>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "bench/measure/backend.h"
#include "core/error.h"
#include "transports/cuda/cuda_communicator.h"
#include "transports/cuda/devices.h"
#include "transports/cuda/memory.h"
#include "transports/cuda/places.h"
#include "transports/cuda/process.h"

namespace collbench {
namespace {

std::string find_unavailable() { return find_cuda_devices().unavailable; }

WorkerKind kind(const Case& which) {
  return which.isolate ? WorkerKind::processes : WorkerKind::threads;
}

// The GPU of each rank.
std::vector<int> places_of(const Case& which) {
  const CudaDevices found = find_cuda_devices();
  if (!found.unavailable.empty()) throw Unavailable(found.unavailable);
  const auto count = static_cast<int>(found.devices.size());
  return place_on_cuda(parse_cuda_devices(which.devices, count), which.workers);
}

std::shared_ptr<void> share(const Case& which) {
  CudaWorldOptions options;
  options.devices = places_of(which);
  options.executor = parse_cuda_executor(which.transport);
  const Schedule schedule = make_schedule(which.algorithm, which.workers, which.bytes);
  return std::make_shared<CudaGroup>(
      options, [schedule](Bytes, DataType) { return schedule; }, schedule.name());
}

// Threads need no arena: a page says that.
Bytes stage_of(const Case& which) { return cuda_process_stage(which.workers, which.bytes); }
Bytes arena_bytes(const Case& which) {
  return which.isolate ? cuda_neighbours_footprint(which.workers, stage_of(which)) : Bytes{4096};
}
void lay_out_arena(const Case& which, std::byte* arena, Seconds timeout) {
  if (which.isolate) lay_out_cuda_neighbours(arena, which.workers, timeout);
}
void abort_all(std::byte* arena, const std::string& why) { abort_cuda_neighbours(arena, why); }

std::unique_ptr<Communicator> join_processes(const Case& which, WorkerContext& context) {
  const std::vector<int> devices = places_of(which);
  CudaProcessOptions options;
  options.where = {context.arena, stage_of(which), context.rank, context.ranks,
                   devices[static_cast<std::size_t>(context.rank)]};
  options.executor = parse_cuda_executor(which.transport);
  options.timeout = context.timeout;
  const auto gpus = std::set<int>(devices.begin(), devices.end()).size();
  if (gpus < devices.size()) {
    context.remarks.push_back(
        fmt::format("{} processes on {} GPU{}, which takes them in turn unless MPS is there: not a "
                    "measurement of a network",
                    devices.size(), gpus, gpus == 1 ? "" : "s"));
  }
  const Schedule schedule = make_schedule(which.algorithm, which.workers, which.bytes);
  return make_cuda_process_communicator(
      options, [schedule](Bytes, DataType) { return schedule; }, schedule.name());
}

std::shared_ptr<CudaGroup> group_of(const WorkerContext& context) {
  return std::static_pointer_cast<CudaGroup>(context.shared);
}

std::unique_ptr<Communicator> make_communicator(const Case& which, WorkerContext& context) {
  if (which.isolate) return join_processes(which, context);
  const auto group = group_of(context);
  const std::vector<int>& devices = group->options().devices;
  if (devices.size() > 1 && devices.front() == devices.back()) {
    context.remarks.push_back("logical devices on one GPU: its memory, not a network");
  }
  return make_cuda_communicator(group, context.rank);
}

std::shared_ptr<std::byte> user_memory(const Case& which, const WorkerContext& context) {
  if (which.isolate) {
    return dynamic_cast<CudaProcessCommunicator&>(*context.communicator)
        .allocate(user_buffer_bytes(which));
  }
  const int device = group_of(context)->options().devices[static_cast<std::size_t>(context.rank)];
  return allocate_on_cuda(device, user_buffer_bytes(which));
}

}  // namespace

Backend cuda_backend() {
  Backend row;
  row.name = "cuda";
  row.summary = "our schedules on GPUs, by threads or (isolated) processes, also several on one";
  row.find_unavailable = find_unavailable;
  row.kind = kind;
  row.make_communicator = make_communicator;
  row.user_memory = user_memory;
  row.copies = {copy_with_cuda, copy_with_cuda};
  row.share = share;
  row.isolates = true;
  row.arena_bytes = arena_bytes;
  row.lay_out_arena = lay_out_arena;
  row.abort = abort_all;
  row.on_gpus = true;
  return row;
}

}  // namespace collbench
