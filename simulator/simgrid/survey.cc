#include "simulator/simgrid/survey.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "simulator/memory_budget.h"
#include "transports/play/plan.h"

namespace collbench {
namespace {

// Adds the rounds up as if ranks waited for each other after each: its longest latency, its
// busiest link and its longest message.
class SurveyedRounds {
 public:
  explicit SurveyedRounds(const Program& program)
      : program_(program), load_(program.capacities().size()) {}

  void add(const Flow& flow) {
    latency_ = std::max(latency_, flow.latency.count());
    if (flow.cap > 0) longest_ = std::max(longest_, flow.wire_bytes / flow.cap);
    for (const LinkPath::Use& use : program_.paths()[static_cast<std::size_t>(flow.path)].links) {
      const auto link = static_cast<std::size_t>(use.link);
      if (load_[link] == 0) touched_.push_back(link);
      load_[link] += flow.wire_bytes;
    }
  }
  double end_round() {
    for (const std::size_t link : touched_) {
      longest_ = std::max(longest_, load_[link] / program_.capacities()[link]);
      load_[link] = 0;
    }
    touched_.clear();
    return std::exchange(latency_, 0) + std::exchange(longest_, 0);
  }

 private:
  const Program& program_;
  std::vector<double> load_;
  std::vector<std::size_t> touched_;
  double latency_ = 0;
  double longest_ = 0;
};

// A ring has four steps per message in its plans. Stacks are touched for some pages only.
void require_room(const Scenario& scenario, std::int64_t messages) {
  constexpr double bytes_per_message = 4 * sizeof(Step) + 64;
  constexpr double bytes_per_actor = 64 << 10;
  const double ranks = scenario.schedule.ranks();
  double bytes = static_cast<double>(messages) * bytes_per_message +
                 ranks * (ranks * sizeof(void*) + bytes_per_actor);
  if (scenario.real_data) {
    bytes += 3 * ranks * static_cast<double>(scenario.count) * size_of(scenario.type);
  }
  require_memory(static_cast<std::size_t>(bytes),
                 fmt::format("simgrid with {} ranks and {} messages (fluid needs far less)",
                             scenario.schedule.ranks(), messages));
}

}  // namespace

SimgridSurvey simgrid_survey(RankProgram& program, const Scenario& scenario) {
  require_room(scenario, 0);
  SimgridSurvey survey;
  std::int64_t checked = 0;
  survey.routes.resize(static_cast<std::size_t>(program.positions()));
  std::vector<bool> known;
  SurveyedRounds rounds(program);
  Turn turn;
  for (int t = 0; t < program.rounds(); ++t) {
    double reduction = 0;
    for (Rank r = 0; r < program.positions(); ++r) {
      program.turn(r, t, turn);
      reduction = std::max(reduction, turn.reduction.count());
      survey.messages += static_cast<std::int64_t>(turn.sends.size());
      for (const Flow& flow : turn.sends) {
        const auto path = static_cast<std::size_t>(flow.path);
        require(!program.paths()[path].links.empty(),
                fmt::format("simgrid needs links between ranks, but {} and {} share a host", r,
                            flow.to));
        if (known.size() <= path) known.resize(path + 1);
        if (!known[path]) survey.routes[static_cast<std::size_t>(r)].emplace_back(flow.to, path);
        known[path] = true;
        rounds.add(flow);
      }
    }
    survey.seconds += rounds.end_round() + reduction;
    if (survey.messages > 2 * checked) require_room(scenario, checked = survey.messages);
  }
  require_room(scenario, survey.messages);
  if (!program.matched()) {
    throw InvalidArgument(fmt::format("{} cannot be played: {}", scenario.schedule.name(),
                                      first_mismatch(scenario.schedule)));
  }
  double last_start = 0;
  for (Rank r = 0; r < program.positions(); ++r) {
    last_start = std::max(last_start, program.start(r).count());
  }
  survey.seconds += last_start;
  return survey;
}

}  // namespace collbench
