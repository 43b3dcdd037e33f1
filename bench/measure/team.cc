#include "bench/measure/team.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "bench/measure/load_watch.h"
#include "bench/measure/measure_case.h"
#include "bench/measure/sampler.h"
#include "bench/records/case_fields.h"
#include "core/available_memory.h"
#include "core/version.h"
#include "transports/world/agreement.h"

namespace collbench {
namespace {

/// The different values of a field, in the order of the cases: "f32" or "1 KiB, 4 KiB".
std::string values_of(std::span<const Case> cases, const CaseField<Case>& field) {
  constexpr std::size_t most_told = 8;
  std::vector<std::string> values;
  for (const Case& point : cases) {
    const std::string value = field_text(field, point);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  if (values.size() <= most_told) return fmt::format("{}", fmt::join(values, ", "));
  return fmt::format("{} to {} ({} of them)", values.front(), values.back(), values.size());
}

std::vector<NamedValue> plan_values(std::span<const Case> cases, const Sampling& sampling,
                                    int cycles) {
  std::vector<NamedValue> values = {{"version", std::string(collbench_version())}};
  for (const CaseField<Case>& field : case_fields()) {
    values.emplace_back(field.name, values_of(cases, field));
  }
  for (const NamedValue& value : named_values(sampling)) values.push_back(value);
  values.emplace_back("trial of auto", to_string(sampling.trial));
  values.emplace_back("cycles", std::to_string(cycles));
  values.emplace_back("number of cases", std::to_string(cases.size()));
  return values;
}

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
                      }};
  world_->on_all(world_of(cases[0]), sampling.timeout, work);
  for (std::string& warning : watch.warnings()) measured.warnings.push_back(std::move(warning));
  return measured;
}

void JoinedTeam::compare_plans(std::span<const Case> cases, const Sampling& sampling, int cycles) {
  require_same(plan_values(cases, sampling, cycles), world_.rendezvous());
}

Measurement JoinedTeam::measure(const Case& point, const Sampling& sampling) {
  Measurement measured;
  const auto run = [&](RankContext& context) {
    std::optional<UserBuffers> buffers;
    together(world_.rendezvous(), [&] {
      Case here = point;  // as large as the ranks of this machine are
      here.workers = world_.ranks_here();
      require_memory(here, available_memory());
      buffers = prepare_case(world_.backend(), point, context);
    });
    const LoadWatch watch(world_.processes(), world_.ranks_here());
    measured = measure_prepared(world_.backend(), point, sampling, context, *buffers);
    std::string mine;
    // Without a sight of its neighbours it would take them for foreign load.
    const bool sees_all = std::ssize(world_.processes()) + 1 == world_.ranks_here();
    if (world_.first_here() && sees_all) {
      mine = fmt::format("{}", fmt::join(watch.warnings(), "\n"));
    }
    for (const std::string& texts : gather_text(mine, world_.rendezvous())) {
      std::istringstream lines(texts);
      for (std::string line; std::getline(lines, line);) measured.warnings.push_back(line);
    }
  };
  world_.on_all(world_of(point), sampling.timeout, {.run = run, .order = {}, .answer = {}});
  return measured;
}

void require_usable(const Case& point) { require_usable(find_backend(point.backend)); }
void require_possible(const Case& point) { require_possible(world_of(point)); }

std::unique_ptr<Team> make_team(const Case& point, const Sampling& sampling) {
  if (find_backend(point.backend).world_per_algorithm) {
    return std::make_unique<TeamPerAlgorithm>(point, sampling);
  }
  return std::make_unique<StartedTeam>(start_world(world_of(point), sampling.timeout));
}

}  // namespace collbench
