// Ranks that see each other's memory: threads of one process, or processes over one arena.
#include <algorithm>

#include "algorithms/registry.h"
#include "bench/measure/backend.h"
#include "bench/measure/case_endpoint.h"
#include "bench/measure/user_buffers.h"
#include "transports/play/fusion.h"
#include "transports/play/schedule_communicator.h"
#include "transports/shm/shm_world.h"

namespace collbench {
namespace {

std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

// Parts of the arena. Threads need the world only: their own memory is everybody's. For processes
// each rank's user buffers (unless private) and scratch memory follow. Untouched pages cost
// nothing.
struct Arena {
  explicit Arena(const Case& which) {
    world = whole_pages(shm_world_footprint(which.workers));
    if (!which.isolate) return;
    constexpr std::size_t least_scratch = std::size_t{8} << 20;
    const auto vector = static_cast<std::size_t>(which.bytes.count);
    // Two uses share the scratch memory, each of up to a whole vector.
    scratch = 2 * whole_pages(std::max(vector, least_scratch));
    if (which.private_buffers) return;
    user = whole_pages(static_cast<std::size_t>(user_buffer_bytes(which).count));
  }
  std::size_t total(int ranks) const {
    return world + static_cast<std::size_t>(ranks) * (user + scratch);
  }
  std::size_t user_start(Rank rank) const {
    return world + static_cast<std::size_t>(rank) * (user + scratch);
  }
  std::size_t world = 0;
  std::size_t user = 0;     // per rank
  std::size_t scratch = 0;  // per rank
};

WorkerKind kind(const Case& which) {
  return which.isolate ? WorkerKind::processes : WorkerKind::threads;
}

Bytes arena_bytes(const Case& which) {
  return {static_cast<std::int64_t>(Arena(which).total(which.workers))};
}

void lay_out_arena(const Case& which, std::byte* arena, Seconds timeout) {
  create_shm_world(arena, which.workers, {.timeout = timeout});
}

std::shared_ptr<std::byte> user_memory(const Case& which, const WorkerContext& context) {
  if (!which.isolate || which.private_buffers) return allocate_pages(user_buffer_bytes(which));
  return {context.arena + Arena(which).user_start(context.rank), [](std::byte*) {}};
}

std::unique_ptr<Communicator> make_communicator(const Case& which, WorkerContext& context) {
  // Private buffers would be staged for two-shot, so one-shot is faster as long as it is one pass.
  const bool in_one_shot = which.algorithm == "direct" && which.isolate && which.private_buffers &&
                           which.bytes.count <= most_shown_bytes;
  const Schedule schedule =
      make_schedule(in_one_shot ? "one-shot" : which.algorithm, which.workers, which.bytes);
  ShmView view{.world = context.arena};
  if (which.isolate) {
    const Arena arena(which);
    view.shared_begin = context.arena;
    view.shared_bytes = arena.total(which.workers);
    view.heap = context.arena + arena.user_start(context.rank) + arena.user;
    view.heap_bytes = arena.scratch;
  }
  const std::string over = !which.isolate          ? "shared memory of threads"
                           : which.private_buffers ? "private memory of processes"
                                                   : "shared memory of processes";
  return make_schedule_communicator(schedule,
                                    case_endpoint(make_shm_endpoint(view, context.rank), which),
                                    schedule.name() + " over " + over + case_endpoint_text(which));
}

void abort_waiting(std::byte* arena, const std::string& why) { abort_shm_world(arena, why); }

}  // namespace

Backend shm_backend() {
  Backend row;
  row.name = "shm";
  row.summary = "our schedules over shared memory, by threads or (isolated) processes";
  row.kind = kind;
  row.isolates = true;
  row.plays_schedules = true;
  row.make_communicator = make_communicator;
  row.arena_bytes = arena_bytes;
  row.lay_out_arena = lay_out_arena;
  row.abort = abort_waiting;
  row.user_memory = user_memory;
  return row;
}

}  // namespace collbench
