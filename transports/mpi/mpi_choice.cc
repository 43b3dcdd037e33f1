#include "transports/mpi/mpi_choice.h"

#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include "core/error.h"
#include "core/parse.h"
#include "core/suggest.h"
#include "transports/mpi/mpi.h"

namespace collbench {
namespace {

struct NumberedAlgorithm {
  std::string_view name;
  int number;
};

// Source: ompi/mca/coll/tuned/coll_tuned_allreduce_decision.c of Open MPI 4.1.
constexpr NumberedAlgorithm of_open_mpi[] = {
    {"mpi:linear", 1}, {"mpi:nonoverlapping", 2}, {"mpi:recursive-doubling", 3},
    {"mpi:ring", 4},   {"mpi:segmented-ring", 5}, {"mpi:rabenseifner", 6}};
// Source: MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM and MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM of
// MPICH 4.0, which `mpivars` prints. Its algorithm of shared memory (release-gather) is left out:
// told to play it, MPICH 4.0.2 gives it memory that it does not have beyond 32 KiB, and stops.
constexpr NumberedAlgorithm of_mpich[] = {
    {"mpi:smp", 2}, {"mpi:recursive-doubling", 3}, {"mpi:rabenseifner", 4}};

constexpr const char* ompi_number = "coll_tuned_allreduce_algorithm";
constexpr const char* ompi_segment = "coll_tuned_allreduce_algorithm_segmentsize";
constexpr const char* mpich_number = "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM";
constexpr const char* mpich_nodes = "MPIR_CVAR_ALLREDUCE_POSIX_INTRA_ALGORITHM";
constexpr int nodes_by_number = 0;
constexpr int nodes_by_library = 2;
constexpr Bytes usual_segment{131072};

bool is_open_mpi() { return mpi_library().starts_with("Open MPI"); }
bool is_mpich() { return mpi_library().starts_with("MPICH"); }

std::span<const NumberedAlgorithm> own_algorithms() {
  if (is_open_mpi()) return of_open_mpi;
  if (is_mpich()) return of_mpich;
  return {};
}

void set_variable(const char* name, int value) {
  int index = 0;
  int count = 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  const bool is_set = MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
                      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS &&
                      MPI_T_cvar_write(handle, &value) == MPI_SUCCESS;
  if (handle != MPI_T_CVAR_HANDLE_NULL) MPI_T_cvar_handle_free(&handle);
  if (!is_set) {
    throw Unavailable(
        fmt::format("{} does not let itself be told {} = {}", mpi_library(), name, value));
  }
}

}  // namespace

std::vector<std::string> mpi_algorithms() {
  std::vector<std::string> names{"mpi"};
  for (const NumberedAlgorithm& algorithm : own_algorithms()) names.emplace_back(algorithm.name);
  return names;
}

MpiAlgorithm mpi_algorithm(const std::string& name) {
  constexpr std::string_view option = ":segment=";
  MpiAlgorithm algorithm{.name = name};
  const std::size_t at = name.find(option);
  const std::string plain = name.substr(0, at);
  if (plain == "mpi:segmented-ring") algorithm.segment = usual_segment;
  if (at != name.npos) {
    require(algorithm.segment.count > 0,
            fmt::format("'{}': only mpi:segmented-ring has segments", name));
    algorithm.segment = parse_size_option("segment", name.substr(at + option.size()));
    require(algorithm.segment.count >= 1 && algorithm.segment.count <= 1 << 30,
            fmt::format("'{}': a segment has 1 B to 1 GiB", name));
  }
  if (name == "mpi") return algorithm;
  for (const NumberedAlgorithm& own : own_algorithms()) {
    if (own.name != plain) continue;
    algorithm.number = own.number;
    return algorithm;
  }
  const std::vector<std::string> names = mpi_algorithms();
  throw InvalidArgument(fmt::format("{} has no algorithm '{}'; it has {}.{}", mpi_library(), name,
                                    fmt::join(names, ", "), did_you_mean(plain, names)));
}

void choose_mpi_algorithm(const MpiAlgorithm& algorithm) {
  static std::string chosen = "mpi";
  if (chosen == algorithm.name) return;
  static const bool has_tools = [] {
    int provided = 0;
    return MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
  }();
  if (!has_tools) throw Unavailable(mpi_library() + " has no control variables (MPI_T)");
  if (is_mpich()) {
    set_variable(mpich_nodes, algorithm.number == 0 ? nodes_by_library : nodes_by_number);
    set_variable(mpich_number, algorithm.number);
  } else {
    set_variable(ompi_number, algorithm.number);
    set_variable(ompi_segment, static_cast<int>(algorithm.segment.count));
  }
  chosen = algorithm.name;
}

}  // namespace collbench
