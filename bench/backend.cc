#include "bench/backend.h"

#include "bench/process_team.h"
#include "bench/team.h"
#include "bench/thread_team.h"
#include "core/error.h"
#include "core/suggest.h"

namespace collbench {

std::span<const Backend> backends() {
  static const std::vector<Backend> rows = {shm_backend(), grpc_backend(), gloo_backend(),
                                            mpi_backend()};
  return rows;
}

const Backend& find_backend(const std::string& name) {
  std::vector<std::string> names;
  for (const Backend& backend : backends()) {
    if (backend.name == name) return backend;
    names.push_back(backend.name);
  }
  throw InvalidArgument("unknown back end '" + name + "'." + did_you_mean(name, names) +
                        " 'collbench doctor' lists them.");
}

std::vector<TeamInfo> team_infos() {
  std::vector<TeamInfo> infos;
  for (const Backend& backend : backends()) {
    infos.push_back({backend.name, backend.summary, backend.unavailable});
  }
  return infos;
}

std::unique_ptr<Team> make_team(const Case& which, const Sampling& sampling) {
  const Backend& backend = find_backend(which.backend);
  if (!backend.unavailable.empty()) {
    throw Unavailable("back end '" + backend.name + "' is not usable: " + backend.unavailable);
  }
  require(which.workers >= 1,
          "a team needs at least 1 worker, not " + std::to_string(which.workers));
  require(!which.isolate || which.backend == "shm",
          "only shm workers can be isolated; '" + which.backend + "' decides that itself");
  require(!which.private_buffers || which.isolate,
          "private buffers need isolated workers: threads share all memory");
  switch (backend.kind(which)) {
    case WorkerKind::threads:
      return std::make_unique<ThreadTeam>(backend, which.workers, sampling.timeout);
    case WorkerKind::processes:
      return std::make_unique<ProcessTeam>(backend, which, sampling);
    case WorkerKind::launched:
      return std::make_unique<LaunchedTeam>(backend, which, sampling);
  }
  throw Error("unreachable");
}

}  // namespace collbench
