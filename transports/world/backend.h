// The table of back ends: how the ranks of each are started, and what each rank's Communicator is.
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
#include <string_view>
#include <utility>
#include <vector>

#include "heuristics/policies/choose.h"
#include "transports/communicator.h"
#include "transports/memory.h"
#include "transports/remote_calls.h"
#include "transports/world/rank_context.h"
#include "transports/world/world_spec.h"

namespace collbench {

struct SelectionTable;  // heuristics/policies/selection_table.h

struct JoinSpec;  // transports/world/joined_world.h

/// A limit that a back end found by measuring, and what it is: "gRPC: ... at 3.2 GB/s".
struct TransportBound {
  Seconds time;
  std::string reason;
};

/// `launched` ranks are started by a launcher of the back end (mpirun), `processes` by us.
enum class RankKind : std::uint8_t { threads, processes, launched };

/// How a library behind a back end takes rules for the all-reduce it plays.
struct LibraryTuning {
  std::string library;                  // "openmpi"
  std::vector<std::string> candidates;  // what it can play, its own choice first
  /// The rules as the library reads them: texts of files, by what their names add to one.
  std::map<std::string, std::string> (*files)(const SelectionTable&) = nullptr;
  /// Environment variables by which ranks that are started obey the files of that name.
  std::vector<std::pair<std::string, std::string>> (*variables)(const std::string& file) = nullptr;
  /// What a candidate is called where a communicator describes what it has played; null: the
  /// library does not show that.
  std::string (*played)(const std::string& candidate) = nullptr;
  /// Whether its ranks keep their core while they wait, also where others need it.
  bool waits_busily = false;
};

struct Backend {
  std::string name;
  std::string summary;
  std::string absence = {};      // what a build without its library says
  std::string unavailable = {};  // why it cannot be used here; empty if it can
  /// The same where finding out costs something, as starting a GPU does; asked only when needed.
  std::string (*find_unavailable)() = nullptr;
  /// How `auto` chooses on it.
  ChoiceKind choice = ChoiceKind::messages;
  /// Whether it has nothing but the all-reduces of the library behind it.
  bool is_black_box() const { return choice == ChoiceKind::own; }
  /// Whether it also offers that library's all-reduces, under the name of the back end.
  bool has_library = false;
  RankKind ranks = RankKind::threads;  // unless processes are asked for; see rank_kind()
  /// Whether threads will not do for a spec.
  bool (*needs_processes)(const WorldSpec&) = nullptr;
  /// What its ranks are, for readers of a table; also where they are isolated.
  std::string ranks_in_words = {};
  std::string isolated_ranks_in_words = {};
  /// Called by every rank at once. Throws as Communicator does, and InvalidArgument.
  std::unique_ptr<Communicator> (*make_communicator)(const WorldSpec&, RankContext&) = nullptr;

  /// Whether ranks are processes where that is asked for (WorldSpec::isolate).
  bool isolates = false;
  /// Whether it plays our schedules over an Endpoint, which checksums and faults can wrap.
  bool plays_schedules = false;
  /// Whether shares of a reduce-scatter or an all-gather may be unequal (Collective::counts).
  bool uneven_shares = false;
  /// Whether its ranks may have buffers that the others cannot reach (WorldSpec::private_buffers).
  bool private_buffers = false;
  /// Whether a communicator serves further work with the same algorithm and transport.
  bool keeps_communicator = false;
  /// Memory that the ranks share, how it is laid out once before they start (it is zero), and how
  /// ranks that wait in it are made to give up.
  Bytes (*arena_bytes)(const WorldSpec&) = nullptr;
  void (*lay_out_arena)(const WorldSpec&, std::byte* arena, Seconds timeout) = nullptr;
  void (*abort)(const WorldSpec&, std::byte* arena, const std::string& why) = nullptr;
  /// Null where the library takes no rules, or none that are known.
  std::optional<LibraryTuning> (*tuning)() = nullptr;
  /// Throws InvalidArgument for an algorithm that its library does not have, or not for that
  /// collective. Null where that is known otherwise.
  void (*require_algorithm)(const WorldSpec&) = nullptr;
  /// Throws Unavailable for elements that its library does not have, or so many that it cannot
  /// count them in one call. Null: it has all.
  void (*require_elements)(const WorldSpec&, DataType) = nullptr;
  /// Throws InvalidArgument for ranks, or messages of a schedule, beyond what it holds. Null: there
  /// is no limit.
  void (*require_fits)(const WorldSpec&, DataType) = nullptr;
  /// Whether its ranks are bound to an algorithm when they start, so that each needs a world.
  bool world_per_algorithm = false;
  /// Memory of WorldSpec::user_bytes; allocate_pages() if null. Made after the communicator.
  std::shared_ptr<std::byte> (*user_memory)(const WorldSpec&, const RankContext&) = nullptr;
  MemoryCopies copies = {};  // to and from that memory
  bool on_gpus = false;
  /// Whether the user can choose its devices (WorldSpec::devices).
  bool takes_devices = false;
  /// The command's option whose value is WorldSpec::transport: "transport", "executor"; empty:
  /// none.
  std::string transport_option = {};
  /// Its transports. The first is the default; tables show the others, and they may be named with
  /// the back end: "grpc-tcp".
  std::vector<std::string> transports = {};
  /// Whether its ranks may be started one by one on any machine (join_remote) and can also make
  /// calls other than all-reduces (call_network).
  bool spans_machines = false;
  /// What threads share beside the arena, made before they start, and how those that wait in it
  /// are made to give up.
  std::shared_ptr<void> (*share)(const WorldSpec&, Seconds timeout) = nullptr;
  void (*abort_shared)(void* shared, const std::string& why) = nullptr;
  /// What the transport allows for one vector of WorldSpec::bytes, measured by all ranks together.
  std::optional<TransportBound> (*measure_bound)(const WorldSpec&, RankContext&) = nullptr;
  /// Calls between processes, for roles that do not march in step.
  std::unique_ptr<CallNetwork> (*call_network)(const CallOptions&) = nullptr;
  /// Joins ranks that were started anywhere, this process being one of them. Throws as Endpoint.
  std::shared_ptr<Endpoint> (*join_remote)(const JoinSpec&) = nullptr;
  /// The command that starts launched ranks, to be followed by the worker's own.
  std::vector<std::string> (*launcher)(const WorldSpec&) = nullptr;
};

std::span<const Backend> backends();
/// The back end whose library does the all-reduce of that name by itself, "nccl:ring" or "gloo";
/// null for a schedule of ours.
const Backend* black_box(const std::string& algorithm);
std::vector<std::string> backend_names();
/// What "auto" stands for where an algorithm has no back end of its own: shared memory.
const Backend& usual_backend();
/// Throws InvalidArgument with a suggestion for an unknown name.
const Backend& find_backend(const std::string& name);

/// Null if there is none of that name.
const Backend* backend_named(std::string_view name);
/// What the ranks of a world are.
RankKind rank_kind(const Backend& backend, const WorldSpec& spec);
/// Whether ranks that a user or a launcher started can have its communicators: over messages, over
/// memory if they run on one machine, or because its own launcher started them.
bool joins_others(const Backend& backend);
/// The first back end that plays schedules between machines.
const Backend& remote_backend();

// Each adds its functions to a row of the table, and what it finds out, in a file of its own.
void complete_shm(Backend& row);
void complete_cuda(Backend& row);
void complete_grpc(Backend& row);
void complete_gloo(Backend& row);
void complete_mpi(Backend& row);
void complete_nccl(Backend& row);

/// `unavailable`, or what find_unavailable() says.
std::string why_unavailable(const Backend& backend);
/// Throws Unavailable if the back end cannot be used here.
void require_usable(const Backend& backend);
/// Throws InvalidArgument, saying what would be possible, if the back end has no such world.
void require_possible(const WorldSpec& spec);

/// The communicator of a rank for a spec: the one kept in the context where it serves, else a new
/// one, which stays there.
Communicator& communicator_for(const Backend& backend, const WorldSpec& spec, RankContext& context);

}  // namespace collbench
