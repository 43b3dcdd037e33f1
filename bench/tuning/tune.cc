#include "bench/tuning/tune.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "bench/measure/stopping_rule.h"
#include "bench/tuning/measure_cell.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

using TuningClock = std::chrono::steady_clock;

constexpr double worth_a_proof = 0.5;   // standard deviations of a gain
constexpr double expected_drift = 0.1;  // of ln(time), between two measurements of one cell
constexpr Seconds around_it{0.01};      // buffers, meeting of one measurement

// The library's own name and options of a candidate, as tables of others have them: "ring", and
// "segment=65536".
SurfaceCell surface_cell(const Case& point, const TuningPlan& plan) {
  SurfaceCell cell;
  const std::size_t name = point.algorithm.find(':');
  const std::size_t option = name == std::string::npos ? name : point.algorithm.find(':', name + 1);
  cell.method.algorithm = point.algorithm == plan.own_choice
                              ? "auto"
                              : point.algorithm.substr(name + 1, option - name - 1);
  if (option != std::string::npos) cell.method.protocol = point.algorithm.substr(option + 1);
  cell.method.library = plan.library;
  cell.scale = {.ranks = point.workers, .nodes = 1, .cores = usable_cores()};
  cell.bytes = point.bytes;
  return cell;
}

Seconds since(TuningClock::time_point begin) { return TuningClock::now() - begin; }

/// What measuring costs. Where ranks share cores, a barrier may take longer than what is timed
/// behind it: that of MPICH, whose ranks wait busily, some turns of the scheduler. So the cost of a
/// measurement is learnt for each number of workers. Below what is planned it does not matter: the
/// many looks that are cheap would else leave none for the others.
class MeasuringCosts {
 public:
  explicit MeasuringCosts(const TuningPlan& plan) : plan_(plan) {}

  double of(const Case& point, Seconds time) const {
    const auto found = sums_.find(point.workers);
    const double usual = as_planned(point, time);
    if (found == sums_.end() || found->second.planned <= 0) return usual;
    return usual * std::max(found->second.took / found->second.planned, 1.0);
  }
  /// The first of a number of workers starts them, which no other will.
  void add(const Case& point, Seconds time, Seconds took) {
    const auto [sums, is_first] = sums_.try_emplace(point.workers);
    if (is_first) return;
    sums->second.took += took.count();
    sums->second.planned += as_planned(point, time);
  }

 private:
  struct Sums {
    double took = 0;
    double planned = 0;
  };
  double as_planned(const Case& point, Seconds time) const {
    constexpr double with_warmup = 1.3;
    const double shortest = StoppingRule::least * time.count();
    return around_it.count() + with_warmup * std::max(cell_time(plan_, point).count(), shortest);
  }

  const TuningPlan& plan_;
  std::map<int, Sums> sums_;  // by workers
};

TunedPoint tuned_point(const TuningPlan& plan, const Race& race, const RacePoint& cells) {
  const auto of_own = [&](std::size_t cell) {
    return plan.cells[cell].algorithm == plan.own_choice;
  };
  const std::size_t own = *std::find_if(cells.begin(), cells.end(), of_own);
  const std::size_t best = race.choice(cells);
  TunedPoint point{
      .best = plan.cells[best], .own = plan.cells[own], .best_cell = best, .own_cell = own};
  point.gain = gain_of(race, own, best);
  const double deviation = (point.gain.estimate - point.gain.low) / one_sided;
  point.changes =
      point.gain.estimate > worth_a_rule && point.gain.estimate > worth_a_proof * deviation;
  return point;
}

// The next rule of a scale, up to `to`; the last one goes on if it has the same algorithm.
void add_rule(ScaleRules& scale, Bytes to, const std::string& algorithm) {
  if (!scale.rules.empty() && scale.rules.back().algorithm == algorithm) {
    scale.rules.back().to = to;
    return;
  }
  const std::int64_t from = scale.rules.empty() ? 0 : scale.rules.back().to.count + 1;
  scale.rules.push_back({{from}, to, algorithm, ""});
}

// A scale's rules hold up to the next scale: numbers between the last one and `workers`, which were
// not measured, get one of the own choice.
void leave_up_to(SelectionTable& table, int workers, const std::string& own) {
  const int next = table.scales.empty() ? 1 : table.scales.back().workers + 1;
  if (next < workers) {
    table.scales.push_back(
        {.workers = next, .nodes = 1, .rules = {{{0}, no_end, own, ""}}, .warnings = {}});
  }
}

}  // namespace

Race race_of(const TuningPlan& plan) {
  std::vector<SurfaceCell> cells;
  for (const Case& point : plan.cells) cells.push_back(surface_cell(point, plan));
  return Race(std::move(cells), expected_drift);
}

TuningResult race_candidates(const TuningPlan& plan, Race& race) {
  const auto begin = TuningClock::now();
  TuningResult result;
  result.cells = static_cast<int>(plan.cells.size());
  const auto time_of = [&](std::size_t cell) {
    return Seconds{std::exp(std::min(race.surface().log_us(cell), 60.0)) * 1e-6};
  };
  MeasuringCosts costs(plan);
  const auto cost = [&](std::size_t cell) {
    const double all = costs.of(plan.cells[cell], time_of(cell));
    return all < (plan.budget - since(begin)).count() ? all
                                                      : std::numeric_limits<double>::infinity();
  };
  while (since(begin) < plan.budget) {
    result.stopped_by = plan.stop_requested();
    if (!result.stopped_by.empty()) break;
    const auto next = race.next(cost, race.surface().drift());
    if (!next) {
      result.is_settled = result.measurements > 0 && since(begin) < 0.9 * plan.budget;
      break;
    }
    const Case& point = plan.cells[next->cell];
    const auto started = TuningClock::now();
    const CellMeasurement made = measure_cell(plan, race, next->cell);
    if (!made.seen) continue;
    result.measurements += made.looks;
    costs.add(point, made.seen->time, since(started) / made.looks);
    plan.on_progress(fmt::format("{} measurements of {} cells: {} of {} workers, {}",
                                 result.measurements, result.cells, point.algorithm, point.workers,
                                 to_string(point.bytes)));
  }
  for (const RacePoint& point : race.points()) {
    result.points.push_back(tuned_point(plan, race, point));
  }
  return result;
}

bool choose_again(const TuningPlan& plan, const Race& race, TuningResult& result) {
  bool any_changes = false;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    if (result.points[i].changes) continue;
    result.points[i] = tuned_point(plan, race, race.points()[i]);
    any_changes = any_changes || result.points[i].changes;
  }
  return any_changes;
}

SelectionTable rules_of(const TuningResult& result, const std::string& machine) {
  SelectionTable table;
  table.policy = "measured by tune";
  table.machine = machine;
  table.last = no_end;  // each scale has rules for all sizes
  for (const TunedPoint& point : result.points) {
    const std::string& own = point.own.algorithm;
    const Bytes bytes = point.own.bytes;
    const bool is_first = table.scales.empty() || table.scales.back().workers != point.own.workers;
    if (is_first) {
      if (!table.scales.empty()) add_rule(table.scales.back(), no_end, own);
      leave_up_to(table, point.own.workers, own);
      table.scales.push_back(
          {.workers = point.own.workers, .nodes = 1, .rules = {}, .warnings = {}});
      add_rule(table.scales.back(), {bytes.count - 1}, own);
    }
    ScaleRules& scale = table.scales.back();
    const std::string& algorithm = point.changes ? point.best.algorithm : own;
    if (!is_first && scale.rules.back().algorithm != algorithm) {
      const double between = std::sqrt(static_cast<double>(scale.rules.back().to.count)) *
                             std::sqrt(static_cast<double>(bytes.count));
      scale.rules.back().to = {static_cast<std::int64_t>(between)};
    }
    add_rule(scale, bytes, algorithm);
  }
  const std::string& own = result.points.front().own.algorithm;
  add_rule(table.scales.back(), no_end, own);
  leave_up_to(table, std::numeric_limits<int>::max(), own);
  return table;
}

Shift gain_of(const Race& race, std::size_t own, std::size_t best) {
  const TimeSurface& surface = race.surface();
  const double gain = surface.log_us(own) - surface.log_us(best);
  const double variance = surface.covariance(own, own) + surface.covariance(best, best) -
                          2 * surface.covariance(own, best);
  const double sure = one_sided * std::sqrt(std::max(variance, 0.0));
  return {gain, gain - sure, gain + sure};
}

}  // namespace collbench
