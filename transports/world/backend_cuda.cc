// Our schedules on GPUs: a thread for each rank, or (isolated) a process for each, and several
// ranks on one GPU where ranks are more.
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/plain_text.h"
#include "transports/cuda/cuda_communicator.h"
#include "transports/cuda/devices.h"
#include "transports/cuda/memory.h"
#include "transports/cuda/places.h"
#include "transports/cuda/process.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

std::string find_cuda_unavailable() { return find_cuda_devices().unavailable; }

// The GPU of each rank.
std::vector<int> places_of(const WorldSpec& spec) {
  const CudaDevices found = find_cuda_devices();
  if (!found.unavailable.empty()) throw Unavailable(found.unavailable);
  const auto count = static_cast<int>(found.devices.size());
  return place_on_cuda(parse_cuda_devices(spec.devices, count), spec.ranks);
}

std::shared_ptr<void> share_cuda(const WorldSpec& spec, Seconds timeout) {
  CudaWorldOptions options;
  options.timeout = timeout;
  options.devices = places_of(spec);
  options.executor = parse_cuda_executor(spec.transport);
  return std::make_shared<CudaGroup>(options, schedules_of(spec), name_of(spec));
}

// Threads need no arena; they get one page.
Bytes stage_of(const WorldSpec& spec) { return cuda_process_stage(spec.ranks, spec.bytes); }
Bytes cuda_arena_bytes(const WorldSpec& spec) {
  return spec.isolate ? cuda_neighbours_footprint(spec.ranks, stage_of(spec)) : Bytes{4096};
}
void lay_out_cuda_arena(const WorldSpec& spec, std::byte* arena, Seconds timeout) {
  if (spec.isolate) lay_out_cuda_neighbours(arena, spec.ranks, timeout);
}
void abort_cuda(const WorldSpec& spec, std::byte* arena, const std::string& why) {
  if (spec.isolate) abort_cuda_neighbours(arena, why);
}
void abort_cuda_threads(void* shared, const std::string& why) {
  static_cast<CudaGroup*>(shared)->abort(why);
}

std::unique_ptr<Communicator> join_processes(const WorldSpec& spec, RankContext& context) {
  const std::vector<int> devices = places_of(spec);
  CudaProcessOptions options;
  options.where = {context.arena, stage_of(spec), context.rank, context.ranks,
                   devices[static_cast<std::size_t>(context.rank)]};
  options.executor = parse_cuda_executor(spec.transport);
  options.timeout = context.timeout;
  const auto gpus = std::set<int>(devices.begin(), devices.end()).size();
  if (gpus < devices.size()) {
    context.remarks.push_back(
        fmt::format("{} processes on {}, which takes them in turn unless MPS is there: not a "
                    "measurement of a network",
                    devices.size(), counted(static_cast<std::int64_t>(gpus), "GPU")));
  }
  return make_cuda_process_communicator(options, schedules_of(spec), name_of(spec));
}

std::shared_ptr<CudaGroup> group_of(const RankContext& context) {
  return std::static_pointer_cast<CudaGroup>(context.shared);
}

std::unique_ptr<Communicator> make_cuda_rank(const WorldSpec& spec, RankContext& context) {
  if (spec.isolate) return join_processes(spec, context);
  const auto group = group_of(context);
  const std::vector<int>& devices = group->options().devices;
  if (devices.size() > 1 && devices.front() == devices.back()) {
    context.remarks.push_back("logical devices on one GPU: its memory, not a network");
  }
  return make_cuda_communicator(group, context.rank);
}

std::shared_ptr<std::byte> cuda_user_memory(const WorldSpec& spec, const RankContext& context) {
  if (spec.isolate) return context.communicator->allocate(spec.user_bytes);
  const int device = group_of(context)->options().devices[static_cast<std::size_t>(context.rank)];
  return allocate_on_cuda(device, spec.user_bytes);
}

}  // namespace

void complete_cuda(Backend& row) {
  row.find_unavailable = find_cuda_unavailable;
  row.make_communicator = make_cuda_rank;
  row.user_memory = cuda_user_memory;
  row.copies = {copy_with_cuda, copy_with_cuda};
  row.share = share_cuda;
  row.abort_shared = abort_cuda_threads;
  row.arena_bytes = cuda_arena_bytes;
  row.lay_out_arena = lay_out_cuda_arena;
  row.abort = abort_cuda;
}

}  // namespace collbench
