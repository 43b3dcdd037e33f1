// The table of back ends: how the workers of each are started, and what each rank's Communicator
// is.
//
// One row per back end, with functions as data; a part that a back end does not have is null. A
// back end that this build lacks is a row that says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/measure/user_buffers.h"
#include "bench/records/case.h"
#include "bench/records/record.h"
#include "transports/communicator.h"
#include "transports/remote_calls.h"
#include "transports/world/rendezvous.h"

namespace collbench {

struct RemoteJob;  // bench/measure/remote_team.h

/// What one rank knows of its team. Lives as long as the worker.
struct WorkerContext {
  Rank rank = 0;
  int ranks = 1;
  Seconds timeout{60};
  Rendezvous* rendezvous = nullptr;
  std::string job;                             // a secret of the team
  std::byte* arena = nullptr;                  // Backend::arena_bytes of memory that all ranks see
  std::shared_ptr<void> shared;                // what Backend::share gave; threads only
  std::shared_ptr<Endpoint> endpoint;          // joined before; null: each communicator joins anew
  std::unique_ptr<Communicator> communicator;  // kept from the case before
  std::string communicator_key;                // what it was made for
  std::vector<std::string> remarks;            // on every case: "ranks share a GPU"
  std::map<std::int64_t, Bandwidth> exchange_rates;  // measured here, by bytes of a message
};

/// `launched` workers are started by a launcher of the back end (mpirun), `processes` by us.
enum class WorkerKind : std::uint8_t { threads, processes, launched };

struct Backend {
  std::string name;
  std::string summary;
  std::string unavailable;  // why it cannot be used here; empty if it can
  /// The same where finding out costs something, as starting a GPU does; asked only when needed.
  std::string (*find_unavailable)() = nullptr;
  WorkerKind (*kind)(const Case&) = nullptr;
  /// Called by every rank at once. Throws as Communicator does, and InvalidArgument.
  std::unique_ptr<Communicator> (*make_communicator)(const Case&, WorkerContext&) = nullptr;

  /// Whether workers are processes where a case asks for that (Case::isolate).
  bool isolates = false;
  /// Whether it plays our schedules, over an Endpoint.
  bool plays_schedules = false;
  /// Whether a communicator serves further cases of the same algorithm and transport.
  bool keeps_communicator = false;
  /// Shared memory of a case beside the control block, how it is laid out once before the ranks
  /// start (it is zero), and how ranks that wait in it are told to give up.
  Bytes (*arena_bytes)(const Case&) = nullptr;
  void (*lay_out_arena)(const Case&, std::byte* arena, Seconds timeout) = nullptr;
  void (*abort)(std::byte* arena, const std::string& why) = nullptr;
  /// Whether its workers are bound to an algorithm, so that each has a team of its own.
  bool team_per_algorithm = false;
  /// Memory for user_buffer_bytes(); allocate_pages() if null. Made after the communicator.
  std::shared_ptr<std::byte> (*user_memory)(const Case&, const WorkerContext&) = nullptr;
  MemoryCopies copies;  // to and from that memory
  bool on_gpus = false;
  /// What the threads of a case share, made before they start.
  std::shared_ptr<void> (*share)(const Case&) = nullptr;
  /// What the transport allows, measured by all ranks together after the case.
  std::optional<Bound> (*measure_bound)(const Case&, WorkerContext&) = nullptr;
  /// Calls between processes, for roles that do not march in step.
  std::unique_ptr<CallNetwork> (*call_network)(const CallOptions&) = nullptr;
  /// Joins ranks that were started anywhere, this process being one of them. Throws as Endpoint.
  std::shared_ptr<Endpoint> (*join_remote)(const RemoteJob&) = nullptr;
  /// The command that starts launched workers, to be followed by the worker's own.
  std::vector<std::string> (*launcher)(const Case&) = nullptr;
};

std::span<const Backend> backends();
/// Throws InvalidArgument with a suggestion for an unknown name.
const Backend& find_backend(const std::string& name);

// The rows, one file each.
Backend shm_backend();
Backend cuda_backend();
Backend grpc_backend();
Backend gloo_backend();
Backend mpi_backend();
Backend nccl_backend();

/// `unavailable`, or what find_unavailable() says.
std::string why_unavailable(const Backend& backend);
/// Throws Unavailable if the back end of a case cannot be used here, InvalidArgument if it has no
/// such case: what make_team() does, before anything is started.
void require_usable(const Case& which);
void require_possible(const Case& which);

}  // namespace collbench
