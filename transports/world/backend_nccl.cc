// NCCL as a black box. Ranks are threads where each has a GPU of its own; they are processes where
// NCCL needs environment variables before its first call (a forced algorithm or protocol, ranks
// that share a GPU), and wherever the user starts them.
#include <algorithm>
#include <atomic>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/input_file.h"
#include "core/plain_text.h"
#include "transports/cuda/driver.h"
#include "transports/nccl/nccl_communicator.h"
#include "transports/world/agreement.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

// The first thing missing: driver, then devices, then the library.
std::string why_no_nccl() {
  const CudaDriverState driver = find_cuda_driver();
  return driver.unavailable.empty() ? find_nccl().unavailable : driver.unavailable;
}

bool needs_processes(const WorldSpec& spec) {
  return spec.ranks > CudaDriver::instance().devices() ||
         parse_nccl_settings(spec.algorithm).needs_own_process();
}

// One word: equal words mean one machine with the same GPUs.
std::string machine_with_gpus() {
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return fmt::format("{}/{}", name, boot);
}

/// Where a rank is among those of its machine.
struct PlaceOnMachine {
  int index = 0;
  int ranks = 1;
};

PlaceOnMachine place_of(Rank rank, const std::vector<std::string>& machines) {
  const std::string& own = machines[static_cast<std::size_t>(rank)];
  return {static_cast<int>(std::count(machines.begin(), machines.begin() + rank, own)),
          static_cast<int>(std::count(machines.begin(), machines.end(), own))};
}

// Gathers a text from every rank, or why a rank has none, so that no rank waits for one that
// failed.
std::vector<std::string> gather_or_refuse(Rendezvous& rendezvous, std::string (*make)(Rank)) {
  std::string mine;
  try {
    mine = "+" + make(rendezvous.rank());
  } catch (const std::exception& error) {
    mine = std::string("-") + error.what();
  }
  std::vector<std::string> all = gather_text(mine, rendezvous);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank][0] == '-') {
      throw Unavailable(fmt::format("rank {}: {}", rank, all[rank].substr(1)));
    }
    all[rank].erase(0, 1);
  }
  return all;
}

std::string device_count(Rank) {
  return fmt::format("{} {}", machine_with_gpus(), CudaDriver::instance().devices());
}

// The library is loaded only now, after NCCL's variables are set.
std::string id_of_first(Rank rank) {
  load_nccl();
  return rank == 0 ? make_nccl_id() : "";
}

// The flag by which ranks that wait in NCCL learn that another one has failed.
using GiveUp = std::atomic<int>;
Bytes nccl_arena_bytes(const WorldSpec&) { return {64}; }
void lay_out_nccl_arena(const WorldSpec&, std::byte* arena, Seconds) { new (arena) GiveUp(0); }
void abort_nccl(const WorldSpec&, std::byte* arena, const std::string&) {
  if (arena != nullptr) *reinterpret_cast<GiveUp*>(arena) = 1;
}

std::unique_ptr<Communicator> make_nccl_rank(const WorldSpec& spec, RankContext& context) {
  NcclOptions options;
  options.rank = context.rank;
  options.ranks = context.ranks;
  options.timeout = context.timeout;
  options.settings = parse_nccl_settings(spec.algorithm);
  const std::vector<std::string> machines = gather_or_refuse(*context.rendezvous, device_count);
  const PlaceOnMachine place = place_of(context.rank, machines);
  const int devices = CudaDriver::instance().devices();
  options.device = place.index % devices;
  auto variables = options.settings.environment();
  if (place.ranks > devices) {
    const auto shared = shared_gpu_environment(context.rank);
    variables.insert(variables.end(), shared.begin(), shared.end());
    options.remark =
        fmt::format("{} ranks on {}, time-sliced", place.ranks, counted(devices, "GPU"));
    context.remarks.push_back(options.remark + ": not a measurement of a network");
  }
  tell_nccl(variables);
  options.unique_id = gather_or_refuse(*context.rendezvous, id_of_first)[0];
  if (context.arena != nullptr) {
    options.cancelled = [&context] {
      return context.arena != nullptr && *reinterpret_cast<GiveUp*>(context.arena) != 0;
    };
  }
  return make_nccl_communicator(options);
}

std::shared_ptr<std::byte> nccl_user_memory(const WorldSpec& spec, const RankContext& context) {
  return context.communicator->allocate(spec.user_bytes);
}

void upload(std::byte* to, const std::byte* from, Bytes size) {
  CudaDriver::instance().upload(to, from, size);
}

void download(std::byte* to, const std::byte* from, Bytes size) {
  CudaDriver::instance().download(to, from, size);
}

}  // namespace

void complete_nccl(Backend& row) {
  row.find_unavailable = why_no_nccl;
  row.needs_processes = needs_processes;
  row.make_communicator = make_nccl_rank;
  row.arena_bytes = nccl_arena_bytes;
  row.lay_out_arena = lay_out_nccl_arena;
  row.abort = abort_nccl;
  row.user_memory = nccl_user_memory;
  row.copies = {upload, download};
  Backend meeting;  // of its ranks, before NCCL takes over
  complete_grpc(meeting);
  row.join_remote = meeting.join_remote;
}

}  // namespace collbench
