// Our schedules on the GPUs of this process: a thread for each rank, several ranks on one GPU where
// ranks are more.
#include "algorithms/registry.h"
#include "bench/backend.h"
#include "core/error.h"
#include "transports/cuda_communicator.h"
#include "transports/cuda_devices.h"
#include "transports/cuda_memory.h"
#include "transports/cuda_places.h"

namespace collbench {
namespace {

std::string find_unavailable() { return find_cuda_devices().unavailable; }

WorkerKind kind(const Case&) { return WorkerKind::threads; }

std::shared_ptr<void> share(const Case& which) {
  const CudaDevices found = find_cuda_devices();
  if (!found.unavailable.empty()) throw Unavailable(found.unavailable);
  CudaWorldOptions options;
  const auto count = static_cast<int>(found.devices.size());
  options.devices = place_on_cuda(parse_cuda_devices(which.devices, count), which.workers);
  options.executor = parse_cuda_executor(which.transport);
  const Schedule schedule = make_schedule(which.algorithm, which.workers);
  return std::make_shared<CudaGroup>(
      options, [schedule](Bytes, DataType) { return schedule; }, schedule.name());
}

std::shared_ptr<CudaGroup> group_of(const WorkerContext& context) {
  return std::static_pointer_cast<CudaGroup>(context.shared);
}

std::unique_ptr<Communicator> make_communicator(const Case&, WorkerContext& context) {
  const auto group = group_of(context);
  const std::vector<int>& devices = group->options().devices;
  if (devices.size() > 1 && devices.front() == devices.back()) {
    context.remarks.push_back("logical devices on one GPU: its memory, not a network");
  }
  return make_cuda_communicator(group, context.rank);
}

std::shared_ptr<std::byte> user_memory(const Case& which, const WorkerContext& context) {
  const int device = group_of(context)->options().devices[static_cast<std::size_t>(context.rank)];
  return allocate_on_cuda(device, user_buffer_bytes(which));
}

}  // namespace

Backend cuda_backend() {
  Backend row;
  row.name = "cuda";
  row.summary = "our schedules on the GPUs of one process, also several workers on one";
  row.find_unavailable = find_unavailable;
  row.kind = kind;
  row.make_communicator = make_communicator;
  row.user_memory = user_memory;
  row.copies = {copy_with_cuda, copy_with_cuda};
  row.share = share;
  return row;
}

}  // namespace collbench
