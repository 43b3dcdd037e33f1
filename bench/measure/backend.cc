#include "bench/measure/backend.h"

#include "bench/measure/process_team.h"
#include "bench/measure/team.h"
#include "bench/measure/thread_team.h"
#include "core/error.h"
#include "core/suggest.h"

namespace collbench {

std::span<const Backend> backends() {
  static const std::vector<Backend> rows = {shm_backend(), grpc_backend(), gloo_backend(),
                                            mpi_backend(), nccl_backend(), cuda_backend()};
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

std::string why_unavailable(const Backend& backend) {
  if (!backend.unavailable.empty() || backend.find_unavailable == nullptr) {
    return backend.unavailable;
  }
  return backend.find_unavailable();
}

namespace {

std::unique_ptr<Team> team_of_kind(const Backend& backend, const Case& which,
                                   const Sampling& sampling) {
  if (backend.kind(which) == WorkerKind::threads) {
    return std::make_unique<ThreadTeam>(backend, which.workers, sampling.timeout);
  }
  return std::make_unique<ProcessTeam>(backend, which, sampling);
}

/// Teams of a back end whose workers are bound to an algorithm: one for each.
class TeamPerAlgorithm final : public Team {
 public:
  TeamPerAlgorithm(const Backend& backend, const Case& which, const Sampling& sampling)
      : backend_(backend) {
    team_for(which, sampling);
  }
  Measurement measure(const Case& which, const Sampling& sampling) override {
    return team_for(which, sampling).measure(which, sampling);
  }

 private:
  Team& team_for(const Case& which, const Sampling& sampling) {
    std::unique_ptr<Team>& team = teams_[which.algorithm];
    if (!team) team = team_of_kind(backend_, which, sampling);
    return *team;
  }

  const Backend& backend_;
  std::map<std::string, std::unique_ptr<Team>> teams_;
};

}  // namespace

std::vector<TeamInfo> team_infos() {
  std::vector<TeamInfo> infos;
  for (const Backend& backend : backends()) {
    infos.push_back({backend.name, backend.summary, why_unavailable(backend)});
  }
  return infos;
}

void require_usable(const Case& which) {
  const Backend& backend = find_backend(which.backend);
  if (const std::string why = why_unavailable(backend); !why.empty()) {
    throw Unavailable("back end '" + backend.name + "' is not usable: " + why);
  }
}

void require_possible(const Case& which) {
  const Backend& backend = find_backend(which.backend);
  require(which.workers >= 1,
          "a team needs at least 1 worker, not " + std::to_string(which.workers));
  require(!which.isolate || backend.isolates, "only workers of shm and cuda can be isolated; '" +
                                                  which.backend + "' decides that itself");
  require(!which.private_buffers || (which.isolate && which.backend == "shm"),
          "private buffers need isolated workers of shm: threads share all memory");
  require(backend.plays_schedules || (!which.checksum && which.inject.empty()),
          "checksums and injected faults are for messages of our own, of shm and grpc; '" +
              which.backend + "' hides its own");
}

std::unique_ptr<Team> make_team(const Case& which, const Sampling& sampling) {
  require_usable(which);
  require_possible(which);
  const Backend& backend = find_backend(which.backend);
  if (backend.team_per_algorithm) {
    return std::make_unique<TeamPerAlgorithm>(backend, which, sampling);
  }
  return team_of_kind(backend, which, sampling);
}

}  // namespace collbench
