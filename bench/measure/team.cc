#include "bench/measure/team.h"

#include <map>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "bench/measure/load_watch.h"
#include "bench/measure/measure_case.h"
#include "bench/measure/sampler.h"
#include "core/available_memory.h"
#include "core/error.h"
#include "core/stop_request.h"
#include "core/version.h"
#include "transports/world/agreement.h"

namespace collbench {
namespace {

/// Teams of a back end whose ranks are bound to an algorithm: one for each.
class TeamPerAlgorithm final : public Team {
 public:
  TeamPerAlgorithm(const Case& point, const Sampling& sampling) { team_for(point, sampling); }
  Measurement measure(const Case& point, const Sampling& sampling) override {
    return team_for(point, sampling).measure(point, sampling);
  }

 private:
  Team& team_for(const Case& point, const Sampling& sampling) {
    std::unique_ptr<Team>& team = teams_[point.algorithm];
    if (!team) {
      team = std::make_unique<StartedTeam>(start_world(world_of(point), sampling.timeout));
    }
    return *team;
  }

  std::map<std::string, std::unique_ptr<Team>> teams_;
};

}  // namespace

Measurement StartedTeam::measure(const Case& point, const Sampling& sampling) {
  const std::vector<Case> cases(static_cast<std::size_t>(world_->ranks()), point);
  return measure_each(cases, sampling);
}

Measurement StartedTeam::measure_each(std::span<const Case> cases, const Sampling& sampling) {
  require_memory(cases[0], available_memory());
  const LoadWatch watch(world_->processes(), world_->ranks());
  const auto case_of = [&](Rank rank) -> const Case& {
    return cases[static_cast<std::size_t>(rank)];
  };
  Measurement measured;
  const Work work{.run =
                      [&](RankContext& context) {
                        Measurement mine = measure_case(case_of(context.rank), sampling, context);
                        if (context.rank == 0) measured = std::move(mine);
                      },
                  .order = [&](Rank rank) { return case_order(case_of(rank), sampling); },
                  .answer =
                      [&](Rank rank, const std::string& answer) {
                        if (rank == 0) measured = read_measurement(answer);
                      },
                  .stop_grace = stop_grace};
  world_->on_all(world_of(cases[0]), sampling.timeout, work);
  for (std::string& warning : watch.warnings()) measured.warnings.push_back(std::move(warning));
  return measured;
}

void JoinedTeam::compare_plans(std::span<const Case> cases, const Sampling& sampling, int cycles) {
  std::vector<NamedValue> values = agreed_values(cases, sampling);
  values.insert(values.begin(), {"version", std::string(collbench_version())});
  values.insert(values.end(), {{"trial of auto", to_string(sampling.trial)},
                               {"cycles", std::to_string(cycles)},
                               {"number of cases", std::to_string(cases.size())}});
  require_same(values, world_.rendezvous());
}

Measurement JoinedTeam::measure(const Case& point, const Sampling& sampling) {
  Measurement measured;
  const Backend& backend = find_backend(point.backend);
  const auto run = [&](RankContext& context) {
    std::optional<UserBuffers> buffers;
    together(
        *context.rendezvous,
        [&] {
          Case here = point;  // as large as the ranks of this machine are
          here.workers = world_.ranks_here();
          require_memory(here, available_memory());
          buffers = prepare_case(backend, point, context);
        },
        &context.all_refused);
    const LoadWatch watch(world_.processes(), world_.ranks_here());
    measured = measure_prepared(backend, point, sampling, context, *buffers);
    std::string mine;
    // Without a sight of its neighbours it would take them for foreign load.
    const bool sees_all = std::ssize(world_.processes()) + 1 == world_.ranks_here();
    if (world_.first_here() && sees_all) {
      mine = fmt::format("{}", fmt::join(watch.warnings(), "\n"));
    }
    for (const std::string& texts : gather_text(mine, *context.rendezvous)) {
      std::istringstream lines(texts);
      for (std::string line; std::getline(lines, line);) measured.warnings.push_back(line);
    }
  };
  world_.on_all(world_of(point), sampling.timeout,
                {.run = run, .order = {}, .answer = {}, .stop_grace = stop_grace});
  return measured;
}

void require_unstopped(const Measurement& measured) {
  if (!measured.stopped_by.empty()) throw TransportError("stopped by " + measured.stopped_by);
}

void require_usable(const Case& point) { require_usable(find_backend(point.backend)); }
void require_possible(const Case& point) {
  const WorldSpec spec = world_of(point);
  require_possible(spec);
  const Backend& backend = find_backend(point.backend);
  if (backend.require_fits != nullptr) backend.require_fits(spec, point.type);
}

void require_elements(const Case& point) {
  const Backend* const library = black_box(point.algorithm);
  if (library == nullptr || library->name != point.backend) return;
  if (library->require_elements != nullptr) library->require_elements(world_of(point), point.type);
}

std::unique_ptr<Team> make_team(const Case& point, const Sampling& sampling) {
  if (find_backend(point.backend).world_per_algorithm) {
    return std::make_unique<TeamPerAlgorithm>(point, sampling);
  }
  return std::make_unique<StartedTeam>(start_world(world_of(point), sampling.timeout));
}

}  // namespace collbench
