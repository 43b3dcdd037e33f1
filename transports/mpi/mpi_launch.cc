#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "core/error.h"
#include "core/suggest.h"
#include "transports/mpi/mpi.h"
#include "transports/mpi/mpi_algorithm.h"
#include "transports/waiting.h"

namespace collbench {

namespace {

void add_parameter(std::vector<std::string>& command, std::string_view name,
                   std::string_view value) {
  command.insert(command.end(), {"--mca", std::string(name), std::string(value)});
}

}  // namespace

std::vector<std::string> mpi_algorithms() {
  return {"mpi",      "mpi:linear",         "mpi:nonoverlapping", "mpi:recursive-doubling",
          "mpi:ring", "mpi:segmented-ring", "mpi:rabenseifner"};
}

int tuned_algorithm_id(const std::string& algorithm) {
  const std::vector<std::string> names = mpi_algorithms();
  const auto found = std::find(names.begin(), names.end(), algorithm);
  if (found == names.end())
    throw InvalidArgument(fmt::format("MPI has no algorithm '{}'; it has {}.{}", algorithm,
                                      fmt::join(names, ", "), did_you_mean(algorithm, names)));
  const int id = static_cast<int>(found - names.begin());
  if (id != 0 && !mpi_library().starts_with("Open MPI"))
    throw Unavailable(fmt::format("'{}' is an algorithm of Open MPI, but this is {}; use mpi",
                                  algorithm, mpi_library()));
  return id;
}

std::vector<std::string> mpirun_command(int ranks, const std::string& algorithm) {
  require(ranks >= 1, fmt::format("mpi: ranks must be at least 1, not {}", ranks));
  const int id = tuned_algorithm_id(algorithm);
  std::vector<std::string> command{COLLBENCH_MPIEXEC, "-n", std::to_string(ranks)};
  if (!mpi_library().starts_with("Open MPI")) return command;

  command.insert(command.end(), {"--oversubscribe", "--bind-to", "none"});
  if (geteuid() == 0) command.emplace_back("--allow-run-as-root");
  add_parameter(command, "mpi_yield_when_idle", ranks > usable_cores() ? "1" : "0");
  if (id != 0) {
    add_parameter(command, "coll_tuned_use_dynamic_rules", "1");
    add_parameter(command, tuned_algorithm_parameter, std::to_string(id));
  }
  if (algorithm == "mpi:segmented-ring")
    add_parameter(command, "coll_tuned_allreduce_algorithm_segmentsize", "131072");
  return command;
}

}  // namespace collbench
