#include <algorithm>

#include "core/error.h"
#include "heuristics/predict.h"
#include "simulator/engines.h"

namespace collbench {

// All ranks end together: rounds are taken one after another, from the last start on.
Outcome simulate_model(const Scenario& scenario) {
  require(!scenario.real_data, "engine model predicts times; simgrid moves real data");
  require(scenario.trace_limit == 0, "engine model has no messages to trace; engine fluid does");
  check(scenario);
  const Prediction prediction =
      predict(scenario.schedule, scenario.machine, scenario.placement,
              {scenario.count, scenario.type, scenario.protocol, scenario.equal_chunks});
  const std::vector<Seconds> starts = start_times(scenario.disturbance, scenario.schedule.ranks());
  const auto [first, last] = std::minmax_element(starts.begin(), starts.end());
  Outcome outcome;
  outcome.engine = Engine::model;
  outcome.messages = prediction.messages;
  outcome.rank_end.assign(starts.size(), *last + prediction.time());
  outcome.time = *last - *first + prediction.time();
  return outcome;
}

}  // namespace collbench
