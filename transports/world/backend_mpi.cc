// Ranks as processes that MPI's launcher starts: the library's own all-reduces, and our schedules
// over its messages.
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/exports/export_rules.h"
#include "transports/mpi/mpi.h"
#include "transports/mpi/mpi_choice.h"
#include "transports/mpi/mpi_endpoint.h"
#include "transports/mpi/mpich_rules.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

bool is_library(const std::string& algorithm) { return black_box(algorithm) != nullptr; }

// Started by anything but its own launcher, every process is a world of its own.
void require_launched(Rank rank, int ranks, const RankContext& context) {
  if (rank == context.rank && ranks == context.ranks) return;
  throw Unavailable(fmt::format(
      "this process is rank {} of {} for MPI and rank {} of {} for its launcher; start it with the "
      "launcher of the MPI that this build has, {}",
      rank, ranks, context.rank, context.ranks, mpi_library()));
}

std::unique_ptr<Communicator> make_mpi_rank(const WorldSpec& spec, RankContext& context) {
  if (is_library(spec.algorithm)) {
    auto communicator = make_mpi_communicator(spec.algorithm);
    require_launched(communicator->rank(), communicator->ranks(), context);
    return communicator;
  }
  auto endpoint = make_mpi_endpoint(context.timeout);
  require_launched(endpoint->rank(), endpoint->ranks(), context);
  return play_on(std::move(endpoint), spec, "messages of " + mpi_library());
}

void require_in_mpi(const WorldSpec& spec) {
  mpi_algorithm(spec.algorithm);
  require(spec.collective.kind == CollectiveKind::all_reduce || spec.algorithm == "mpi",
          spec.algorithm + " is an algorithm of MPI_Allreduce; for " +
              std::string(to_string(spec.collective.kind)) + " name mpi, which chooses itself");
}

std::vector<std::string> launcher(const WorldSpec& spec) { return mpirun_command(spec.ranks); }

std::vector<std::pair<std::string, std::string>> variables_of_open_mpi(const std::string& file) {
  return {{"OMPI_MCA_coll_tuned_use_dynamic_rules", "1"},
          {"OMPI_MCA_coll_tuned_dynamic_rules_filename", file}};
}

std::map<std::string, std::string> files_of_open_mpi(const SelectionTable& rules) {
  return {{"", find_rule_format("ompi").write(rules)}};
}

// Ranks of one host look at the second table first.
constexpr const char* memory_ending = ".memory";

std::vector<std::pair<std::string, std::string>> variables_of_mpich(const std::string& file) {
  return {{"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE", file},
          {"MPIR_CVAR_POSIX_COLL_SELECTION_TUNING_JSON_FILE", file + memory_ending}};
}

std::map<std::string, std::string> files_of_mpich(const SelectionTable& rules) {
  const MpichTables tables = with_rules(own_mpich_tables(), rules);
  return {{"", tables.messages}, {memory_ending, tables.memory}};
}

std::string name_where_played(const std::string& candidate) {
  return played_name(mpi_algorithm(candidate));
}

std::optional<LibraryTuning> tuning() {
  LibraryTuning found{.library = "openmpi",
                      .candidates = mpi_algorithms(),
                      .files = files_of_open_mpi,
                      .variables = variables_of_open_mpi,
                      .played = name_where_played};
  if (mpi_library().starts_with("Open MPI")) {
    for (const char* segment : {"16K", "64K", "512K", "1M"}) {
      found.candidates.push_back("mpi:segmented-ring:segment=" + std::string(segment));
    }
    return found;
  }
  if (!mpi_library().starts_with("MPICH")) return std::nullopt;
  return LibraryTuning{.library = "mpich",
                       .candidates = std::move(found.candidates),
                       .files = files_of_mpich,
                       .variables = variables_of_mpich,
                       .waits_busily = true};
}

}  // namespace

void complete_mpi(Backend& row) {
  row.summary = "our schedules over the messages of " + mpi_library() +
                ", and its own all-reduce, one process per worker";
  row.make_communicator = make_mpi_rank;
  row.require_algorithm = require_in_mpi;
  row.require_elements = [](const WorldSpec& spec, DataType type) {
    require_mpi_elements(spec.collective.kind, type, spec.bytes);
  };
  row.launcher = launcher;
  row.tuning = tuning;
}

}  // namespace collbench
