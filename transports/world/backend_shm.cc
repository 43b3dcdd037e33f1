// Ranks that see each other's memory: threads of one process, or processes over one arena.
#include <algorithm>

#include "algorithms/fusion.h"
#include "transports/faults/checked_endpoint.h"
#include "transports/play/schedule_communicator.h"
#include "transports/shm/shm_world.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

// Parts of the arena. Threads need the control words only, once for each communicator: all see each
// other's memory anyway. For processes the user buffers (unless private) and scratch memory of each
// rank follow. Untouched pages cost nothing.
struct ShmArena {
  explicit ShmArena(const WorldSpec& spec) {
    one_world = whole_pages(shm_world_footprint(spec.ranks));
    world = one_world * static_cast<std::size_t>(spec.communicators);
    if (!spec.isolate) return;
    constexpr std::size_t least_scratch = std::size_t{8} << 20;
    const auto vector = static_cast<std::size_t>(spec.bytes.count);
    // Two uses share the scratch memory, each of up to a whole vector; where sums are worked on
    // that are not the rank's own, plans need a second one.
    const std::size_t vectors = spec.collective.kind == CollectiveKind::all_reduce ? 1 : 2;
    scratch = 2 * vectors * whole_pages(std::max(vector, least_scratch) + 64);
    if (spec.private_buffers) return;
    user = whole_pages(static_cast<std::size_t>(spec.user_bytes.count));
  }
  std::size_t total(int ranks) const {
    return world + static_cast<std::size_t>(ranks) * (user + scratch);
  }
  std::size_t user_start(Rank rank) const {
    return world + static_cast<std::size_t>(rank) * (user + scratch);
  }
  std::size_t one_world = 0;
  std::size_t world = 0;    // of all communicators
  std::size_t user = 0;     // per rank
  std::size_t scratch = 0;  // per rank
};

Bytes shm_arena_bytes(const WorldSpec& spec) {
  return {static_cast<std::int64_t>(ShmArena(spec).total(spec.ranks))};
}

void lay_out_shm_arena(const WorldSpec& spec, std::byte* arena, Seconds timeout) {
  for (int i = 0; i < spec.communicators; ++i) {
    create_shm_world(arena, spec.ranks, {.timeout = timeout});
    arena += ShmArena(spec).one_world;
  }
}

std::shared_ptr<std::byte> shm_user_memory(const WorldSpec& spec, const RankContext& context) {
  if (!spec.isolate || spec.private_buffers) return allocate_pages(spec.user_bytes);
  return {context.arena + ShmArena(spec).user_start(context.rank), [](std::byte*) {}};
}

std::unique_ptr<Communicator> make_shm_rank(const WorldSpec& spec, RankContext& context) {
  const ShmArena arena(spec);
  const int place = context.made++ % spec.communicators;
  ShmView view{.world = context.arena + static_cast<std::size_t>(place) * arena.one_world};
  if (spec.isolate) {
    view.shared_begin = context.arena;
    view.shared_bytes = arena.total(spec.ranks);
    view.heap = context.arena + arena.user_start(context.rank) + arena.user;
    view.heap_bytes = arena.scratch;
  }
  const std::string over = !spec.isolate          ? "shared memory of threads"
                           : spec.private_buffers ? "private memory of processes"
                                                  : "shared memory of processes";
  WorldSpec played = spec;
  // Private buffers are staged in two rounds, so one-shot is faster as long as it is one pass.
  const bool fits_one_pass = spec.private_buffers && spec.bytes.count <= most_shown_bytes;
  const bool all_reduce = spec.collective.kind == CollectiveKind::all_reduce;
  if (fits_one_pass && all_reduce && !spec.schedules && spec.algorithm == "direct") {
    played.algorithm = "one-shot";
  }
  return play_on(make_shm_endpoint(view, context.rank), played, over);
}

// As the endpoint would at the first call.
void require_in_shm(const WorldSpec& spec, DataType type) {
  shm_world_footprint(spec.ranks);  // refuses impossible sizes
  if (spec.algorithm == "auto") return;
  Traffic traffic = plan_of_rank_0(spec, type).traffic();
  if (spec.checksum) traffic.messages_per_peer_and_round *= checked_messages;
  if (!spec.inject.empty()) ++traffic.messages_per_peer_and_round;
  require_shm_slots(traffic);
}

void abort_waiting(const WorldSpec& spec, std::byte* arena, const std::string& why) {
  for (int i = 0; i < spec.communicators; ++i) {
    abort_shm_world(arena, why);
    arena += ShmArena(spec).one_world;
  }
}

}  // namespace

void complete_shm(Backend& row) {
  row.make_communicator = make_shm_rank;
  row.arena_bytes = shm_arena_bytes;
  row.lay_out_arena = lay_out_shm_arena;
  row.abort = abort_waiting;
  row.require_fits = require_in_shm;
  row.user_memory = shm_user_memory;
}

}  // namespace collbench
