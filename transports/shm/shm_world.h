// A shared-memory world: what ranks on one machine need to read each other's buffers.
//
// Ranks are threads of one process, or processes that map one arena. The world is a block of shared
// memory with, per rank, a line that announces buffers, per ordered pair of ranks a ring of message
// slots and a counter of messages read, and for fused plans a counter from which pieces are
// claimed. It holds no addresses: positions count from the start of the shared memory, so
// processes may map the arena anywhere.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/units.h"
#include "transports/endpoint.h"

namespace collbench {

/// One rank's view of the memory it shares with the others.
struct ShmView {
  std::byte* world = nullptr;         // shm_world_footprint() bytes, made by create_shm_world
  std::byte* shared_begin = nullptr;  // threads: null, everything is shared
  std::size_t shared_bytes = 0;       // threads: 0
  std::byte* heap = nullptr;   // this rank's part of the shared memory for scratch and staging
  std::size_t heap_bytes = 0;  // threads: 0, ordinary memory will do
};

struct ShmOptions {
  Seconds timeout{60.0};    // a rank that makes no progress for so long is lost
  int cores = 0;            // that the ranks may use; 0: what this process may use
  bool peer_memory = true;  // private buffers may be reached through the kernel, where it allows
};

/// Bytes a world of `ranks` ranks needs. Requires 1 <= ranks <= 512.
std::size_t shm_world_footprint(int ranks);

/// Throws InvalidArgument for more messages at a time than a world holds.
void require_shm_slots(const Traffic& traffic);

/// Lays out a world in `memory`: zero-filled, 64-byte aligned, shm_world_footprint(ranks) bytes,
/// which must outlive the endpoints. Called once, before any endpoint is made.
void create_shm_world(std::byte* memory, int ranks, const ShmOptions& options);

/// Ends the world: every endpoint that waits, or next waits, throws TransportError(message). The
/// first message wins. Safe to call from any thread or process that maps the world, at any time.
void abort_shm_world(std::byte* world, std::string_view message);
/// The message of abort_shm_world; empty while the world lives.
std::string shm_world_error(const std::byte* world);

/// The endpoint of `rank`. A later endpoint of the same rank goes on where the earlier one stopped;
/// only the latest may be used, and all ranks must change over between the same two operations.
/// Sends of regions outside the shared memory throw InvalidArgument unless they are tiny (48
/// bytes), which travel in the slot itself.
std::unique_ptr<Endpoint> make_shm_endpoint(const ShmView& view, Rank rank);

/// Memory for a world of threads, zero-filled and released with the last copy.
std::shared_ptr<std::byte> allocate_shm_world(int ranks, const ShmOptions& options);

}  // namespace collbench
