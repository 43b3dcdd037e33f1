#include "bench/tuning/tune.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "bench/measure/stopping_rule.h"
#include "core/error.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

using TuningClock = std::chrono::steady_clock;

constexpr double worth_a_rule = 0.03;     // gain in ln(time)
constexpr double worth_a_proof = 0.5;     // standard deviations of it
constexpr double drift = 0.1;             // of ln(time), between two measurements of one cell
constexpr double surprising = 3;          // standard deviations
constexpr Seconds per_measurement{0.03};  // warming up, the checks and timing
constexpr Seconds around_it{0.01};        // buffers, meeting
constexpr int rounds_for_interval = 6;    // of which ranks give one of 95 %
constexpr int rounds_for_doubt = 3;
constexpr int rounds_for_belief = 2;
constexpr double as_fast = 0.05;  // of ln(time)
// A library that is told an algorithm does not look it up in its rules: MPICH 4.0.2's look at 4 B
// costs 0.05 us of 0.53 (2 ranks on 2 cores).
constexpr Seconds looking_up{1e-7};

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

Sampling sampling_for(Seconds timeout, bool check) {
  Sampling sampling;
  sampling.max_time = per_measurement;
  sampling.warmup = 1;
  sampling.timeout = timeout;
  sampling.back_to_back = false;
  sampling.check = check;
  return sampling;
}

void require_right(const Measurement& measured, const Case& point) {
  if (measured.wrong <= 0) return;
  throw WrongResult(fmt::format("{} of {} workers, {}: {} elements are wrong", point.algorithm,
                                point.workers, to_string(point.bytes), measured.wrong));
}

Seconds median_of(const Measurement& measured) {
  return Seconds{std::max(summarize(measured.latency_ns).median_ns, 1.0) * 1e-9};
}

// Of the logarithm of the median: normal samples of this quartile range would have it.
double deviation_of(const Measurement& measured) {
  const Summary summary = summarize(measured.latency_ns);
  const double spread =
      (summary.p75_ns - summary.p25_ns) / 1.349 / std::max(summary.median_ns, 1.0);
  const double of_median =
      1.253 * spread / std::sqrt(static_cast<double>(measured.latency_ns.size()));
  return std::hypot(drift, of_median);
}

// Whether it lies far above what was expected.
bool is_surprising(const TimeSurface& surface, std::size_t cell, const Measurement& measured) {
  const double above = std::log(median_of(measured).count() * 1e6) - surface.log_us(cell);
  return above >
         surprising * std::hypot(std::sqrt(surface.covariance(cell, cell)), deviation_of(measured));
}

Seconds since(TuningClock::time_point begin) { return TuningClock::now() - begin; }

/// What measuring costs. Where ranks share cores, a barrier may take longer than what is timed
/// behind it: that of MPICH, whose ranks wait busily, some turns of the scheduler. So the cost of a
/// measurement is learnt for each number of workers.
class MeasuringCosts {
 public:
  double of(int workers, Seconds time) const {
    const auto found = sums_.find(workers);
    const double usual = as_planned(time);
    return found == sums_.end() ? usual : usual * found->second.took / found->second.planned;
  }
  void add(int workers, Seconds time, Seconds took) {
    Sums& sums = sums_[workers];
    sums.took += took.count();
    sums.planned += as_planned(time);
  }

 private:
  struct Sums {
    double took = 0;
    double planned = 0;
  };
  static double as_planned(Seconds time) {
    constexpr double with_warmup = 1.3;
    return around_it.count() +
           with_warmup * std::max(per_measurement.count(), StoppingRule::least * time.count());
  }

  std::map<int, Sums> sums_;  // by workers
};

TunedPoint tuned_point(const TuningPlan& plan, const Race& race, const RacePoint& cells) {
  const auto of_own = [&](std::size_t cell) {
    return plan.cells[cell].algorithm == plan.own_choice;
  };
  const std::size_t own = *std::find_if(cells.begin(), cells.end(), of_own);
  const std::size_t best = race.choice(cells);
  const TimeSurface& surface = race.surface();
  TunedPoint point{.best = plan.cells[best], .own = plan.cells[own]};
  point.expected_gain = surface.log_us(own) - surface.log_us(best);
  const double variance = surface.covariance(own, own) + surface.covariance(best, best) -
                          2 * surface.covariance(own, best);
  point.deviation = std::sqrt(std::max(variance, 0.0));
  point.changes =
      point.expected_gain > worth_a_rule && point.expected_gain > worth_a_proof * point.deviation;
  return point;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Whether more rounds are wasted on a rule: take_back() takes one whose rounds are mostly losses,
// and keeps one that surely gains; one that gains next to nothing is not worth it.
bool is_decided(const ProvenPoint& point, bool says_what_is_played) {
  const auto rounds = std::ssize(point.log_ratios);
  const auto losses =
      std::ranges::count_if(point.log_ratios, [](double gain) { return gain <= 0; });
  if (rounds >= rounds_for_doubt && 2 * losses > rounds) return true;
  if (!says_what_is_played || point.deviation <= 0 || rounds < rounds_for_belief) return false;
  const Shift gain = gain_of(point);
  return gain.low > 0 || gain.estimate < worth_a_rule;
}

}  // namespace

TuningResult race_candidates(const TuningPlan& plan) {
  std::vector<SurfaceCell> cells;
  for (const Case& point : plan.cells) cells.push_back(surface_cell(point, plan));
  Race race(std::move(cells));
  const auto begin = TuningClock::now();
  TuningResult result;
  result.cells = static_cast<int>(plan.cells.size());
  const auto time_of = [&](std::size_t cell) {
    return Seconds{std::exp(std::min(race.surface().log_us(cell), 60.0)) * 1e-6};
  };
  int looked_twice = 0;
  MeasuringCosts costs;
  const auto cost = [&](std::size_t cell) {
    const double all = costs.of(plan.cells[cell].workers, time_of(cell));
    return all < (plan.budget - since(begin)).count() ? all
                                                      : std::numeric_limits<double>::infinity();
  };
  while (since(begin) < plan.budget) {
    result.stopped_by = plan.stop_requested();
    if (!result.stopped_by.empty()) break;
    const auto next = race.next(cost, drift);
    if (!next) {
      result.is_settled = since(begin) < 0.9 * plan.budget;
      break;
    }
    const Case& point = plan.cells[next->cell];
    const bool is_first = !race.is_measured(next->cell);
    const auto started = TuningClock::now();
    Measurement measured = plan.measure(point, sampling_for(plan.timeout, is_first));
    if (measured.latency_ns.empty()) continue;  // stopped on the way
    require_right(measured, point);
    costs.add(point.workers, median_of(measured), since(started));
    // A pause of the machine lengthens a time by any factor, and would rule the method out at all
    // sizes near; what is true is so again.
    if (is_surprising(race.surface(), next->cell, measured)) {
      Measurement again = plan.measure(point, sampling_for(plan.timeout, false));
      if (again.latency_ns.empty()) continue;
      ++looked_twice;
      if (median_of(again) < median_of(measured)) measured = std::move(again);
    }
    race.measured(next->cell, median_of(measured), deviation_of(measured));
    plan.on_progress(fmt::format("{} measurements of {} cells: {} of {} workers, {}",
                                 race.measurements(), result.cells, point.algorithm, point.workers,
                                 to_string(point.bytes)));
  }
  result.measurements = race.measurements() + looked_twice;
  for (const RacePoint& point : race.points()) {
    result.points.push_back(tuned_point(plan, race, point));
  }
  return result;
}

SelectionTable rules_of(const TuningResult& result, const std::string& machine) {
  SelectionTable table;
  table.policy = "measured by tune";
  table.machine = machine;
  for (const TunedPoint& point : result.points) {
    if (table.scales.empty() || table.scales.back().workers != point.best.workers) {
      table.scales.push_back(
          {.workers = point.best.workers, .nodes = 1, .rules = {}, .warnings = {}});
    }
    std::vector<SizeRule>& rules = table.scales.back().rules;
    const std::string& algorithm = point.changes ? point.best.algorithm : point.own.algorithm;
    table.last = std::max(table.last, point.best.bytes);
    if (rules.empty()) {
      table.first = point.best.bytes;
      rules.push_back({{0}, point.best.bytes, algorithm, ""});
      continue;
    }
    SizeRule& before = rules.back();
    const double between = std::sqrt(static_cast<double>(before.to.count)) *
                           std::sqrt(static_cast<double>(point.best.bytes.count));
    if (before.algorithm != algorithm) {
      before.to = {static_cast<std::int64_t>(between)};
      rules.push_back({{before.to.count + 1}, point.best.bytes, algorithm, ""});
    } else {
      before.to = point.best.bytes;
    }
  }
  for (ScaleRules& scale : table.scales) scale.rules.back().to = no_end;
  return table;
}

std::vector<ProvenPoint> prove_rules(
    const TuningResult& result, const MeasureCase& without, const MeasureCase& with,
    int most_rounds, Seconds budget,
    const std::function<std::string(const std::string& candidate)>& expected,
    const std::function<std::string()>& stop_requested) {
  const auto begin = TuningClock::now();
  std::vector<ProvenPoint> points;
  std::vector<Case> best;
  for (const TunedPoint& point : result.points) {
    if (!point.changes) continue;
    points.push_back({.point = point.own,
                      .played = {},
                      .is_obeyed = true,
                      .expected_gain = point.expected_gain,
                      .deviation = point.deviation,
                      .log_ratios = {},
                      .log_of_named = {}});
    best.push_back(point.best);
  }
  for (int round = 0; round < most_rounds; ++round) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      ProvenPoint& point = points[i];
      const int needed = expected && point.deviation > 0 ? rounds_for_doubt : rounds_for_interval;
      if (!stop_requested().empty()) return points;
      if (round >= needed && since(begin) > budget) continue;
      if (is_decided(point, expected != nullptr)) continue;
      const Sampling sampling = sampling_for(Seconds{60}, round == 0);
      const bool named_first = round % 2 == 1;
      Measurement named;
      if (named_first) named = without(best[i], sampling);
      const Measurement plain = without(point.point, sampling);
      if (!named_first) named = without(best[i], sampling);
      if (plain.latency_ns.empty() || named.latency_ns.empty()) return points;
      require_right(plain, point.point);
      require_right(named, best[i]);
      point.log_ratios.push_back(std::log(median_of(plain) / median_of(named)));
      if (expected && round > 0) continue;
      const Measurement tuned = with(point.point, sampling);
      if (tuned.latency_ns.empty()) return points;
      require_right(tuned, point.point);
      if (expected) {
        point.played = tuned.played;
        point.is_obeyed = tuned.played.ends_with(", " + expected(best[i].algorithm));
        continue;
      }
      point.log_of_named.push_back(std::log(median_of(named) / median_of(tuned)));
      const Shift shift = walsh_shift(point.log_of_named, 0.95);
      const double slower = as_fast + std::log(1 + looking_up / median_of(named));
      point.is_obeyed = shift.low <= as_fast && shift.high >= -slower;
    }
  }
  return points;
}

// The rounds' median, of which scatter tells little while they are few, weighed with what the race
// had found at this point and its neighbours.
Shift gain_of(const ProvenPoint& point) {
  if (point.deviation <= 0) return walsh_shift(point.log_ratios, 0.95);
  constexpr double two_sided = 1.96;
  const double middle = median_of(point.log_ratios);
  std::vector<double> off;
  for (const double each : point.log_ratios) off.push_back(std::abs(each - middle));
  const double scatter = std::max(1.4826 * median_of(off), std::sqrt(2.0) * drift);
  const double rounds = static_cast<double>(point.log_ratios.size()) / (1.57 * scatter * scatter);
  const double before = 1 / (point.deviation * point.deviation);
  const double gain = (rounds * middle + before * point.expected_gain) / (rounds + before);
  const double sure = two_sided / std::sqrt(rounds + before);
  return {gain, gain - sure, gain + sure};
}

int measurements_of(const ProvenPoint& point) {
  const std::size_t with_rules = std::max<std::size_t>(point.log_of_named.size(), 1);
  return static_cast<int>(2 * point.log_ratios.size() + with_rules);
}

int take_back(TuningResult& result, const std::vector<ProvenPoint>& proven) {
  int taken_back = 0;
  for (const ProvenPoint& seen : proven) {
    if (!seen.log_ratios.empty() && gain_of(seen).low > 0) continue;
    for (TunedPoint& point : result.points) {
      const bool is_it = point.own.workers == seen.point.workers &&
                         point.own.bytes == seen.point.bytes && point.changes;
      if (!is_it) continue;
      point.changes = false;
      ++taken_back;
    }
  }
  return taken_back;
}

}  // namespace collbench
