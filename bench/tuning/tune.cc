#include "bench/tuning/tune.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
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
constexpr double expected_drift = 0.1;    // of ln(time), between two measurements of one cell
constexpr double between_starts = 0.2;    // of ln(time), between two starts of one job
constexpr double surprising = 3;          // standard deviations
constexpr double one_sided = 1.645;       // standard deviations that 95 % lie above
constexpr Seconds per_measurement{0.03};  // warming up, the checks and timing
constexpr Seconds around_it{0.01};        // buffers, meeting
constexpr int rounds_for_interval = 6;    // of which ranks give one of 95 %
constexpr int most_rounds = 15;
constexpr double as_fast = 0.05;  // of ln(time)
constexpr double sure_odds = 3;   // ln: 20 to 1
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
  return 1.253 * spread / std::sqrt(static_cast<double>(measured.latency_ns.size()));
}

// Whether it lies far above what was expected.
bool is_surprising(const TimeSurface& surface, std::size_t cell, const Measurement& measured) {
  const double above = std::log(median_of(measured).count() * 1e6) - surface.log_us(cell);
  return above > surprising * std::hypot(std::sqrt(surface.covariance(cell, cell)), surface.drift(),
                                         deviation_of(measured));
}

struct CellMeasurement {
  Measurement measured;  // without samples: stopped on the way
  int looks = 0;
};

// Measures a cell for the race. A pause of the machine lengthens a time by any factor, and would
// rule the method out at all sizes near; what is true is so again.
CellMeasurement measure_cell(const TuningPlan& plan, Race& race, std::size_t cell) {
  const Case& point = plan.cells[cell];
  const bool is_first = !race.is_measured(cell);
  CellMeasurement seen{plan.measure(point, sampling_for(plan.timeout, is_first)), 1};
  if (seen.measured.latency_ns.empty()) return seen;
  require_right(seen.measured, point);
  if (is_surprising(race.surface(), cell, seen.measured)) {
    Measurement again = plan.measure(point, sampling_for(plan.timeout, false));
    if (again.latency_ns.empty()) return {};
    ++seen.looks;
    if (median_of(again) < median_of(seen.measured)) seen.measured = std::move(again);
  }
  race.measured(cell, median_of(seen.measured), deviation_of(seen.measured));
  return seen;
}

Seconds since(TuningClock::time_point begin) { return TuningClock::now() - begin; }

/// What measuring costs. Where ranks share cores, a barrier may take longer than what is timed
/// behind it: that of MPICH, whose ranks wait busily, some turns of the scheduler. So the cost of a
/// measurement is learnt for each number of workers. Below what is planned it does not matter: the
/// many looks that are cheap would else leave none for the others.
class MeasuringCosts {
 public:
  double of(int workers, Seconds time) const {
    const auto found = sums_.find(workers);
    const double usual = as_planned(time);
    if (found == sums_.end() || found->second.planned <= 0) return usual;
    return usual * std::max(found->second.took / found->second.planned, 1.0);
  }
  /// The first of a number of workers starts them, which no other will.
  void add(int workers, Seconds time, Seconds took) {
    const auto [sums, is_first] = sums_.try_emplace(workers);
    if (is_first) return;
    sums->second.took += took.count();
    sums->second.planned += as_planned(time);
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
  TunedPoint point{
      .best = plan.cells[best], .own = plan.cells[own], .best_cell = best, .own_cell = own};
  point.gain = gain_of(race, own, best);
  const double deviation = (point.gain.estimate - point.gain.low) / one_sided;
  point.changes =
      point.gain.estimate > worth_a_rule && point.gain.estimate > worth_a_proof * deviation;
  return point;
}

// Whether a library that does not say what it plays obeys the rule; nothing while more rounds may
// tell. If it did not, times with rules were those of its own choice: one round of which the time
// with rules is nearer to that of the rule's algorithm is enough, since busy ranks with less than a
// core each may be slow whatever they play. The two are compared as normal, with what two starts
// of one job may differ by.
std::optional<bool> obedience(const ProvenPoint& point, Seconds named, double drift) {
  const double off = point.log_of_named.back();
  const double gain = point.log_ratios.back();
  const double variance = 2 * drift * drift + between_starts * between_starts;
  const double odds = ((off + gain) * (off + gain) - off * off) / (2 * variance);
  if (odds > sure_odds) return true;
  if (std::ssize(point.log_of_named) < rounds_for_interval) return std::nullopt;
  const Shift shift = walsh_shift(point.log_of_named, 0.95);
  const double slower = as_fast + std::log(1 + looking_up / named);
  return shift.low <= as_fast && shift.high >= -slower;
}

// Whether more rounds would tell nothing that matters.
bool is_decided(const Shift& gain) { return gain.low > 0 || gain.estimate < worth_a_rule; }

/// The proof of one rule, round by round.
class RuleProof {
 public:
  RuleProof(const TunedPoint& rule, const TuningPlan& plan, Race& race)
      : rule_(rule), plan_(plan), race_(race) {
    seen_.point = rule.own;
    seen_.is_obeyed = true;  // nothing speaks against it yet
  }

  /// Whether a round is due whatever the budget.
  bool is_due() const { return !is_obedience_known_; }
  bool needs_a_round() const { return is_due() || !is_decided(gain()); }
  /// False: stopped on the way.
  bool play_round(const MeasureCase& with,
                  const std::function<std::string(const std::string&)>& expected) {
    const bool named_first = seen_.log_ratios.size() % 2 == 1;
    const std::size_t first = named_first ? rule_.best_cell : rule_.own_cell;
    const std::size_t second = named_first ? rule_.own_cell : rule_.best_cell;
    const auto one = measure(first);
    if (!one) return false;
    const auto other = measure(second);
    if (!other) return false;
    const Seconds own = named_first ? *other : *one;
    const Seconds named = named_first ? *one : *other;
    seen_.log_ratios.push_back(std::log(own / named));
    race_.measured_ratio(rule_.own_cell, rule_.best_cell, seen_.log_ratios.back());
    if (is_obedience_known_) return true;
    const Sampling sampling = sampling_for(plan_.timeout, seen_.log_ratios.size() == 1);
    const Measurement tuned = with(rule_.own, sampling);
    if (tuned.latency_ns.empty()) return false;
    require_right(tuned, rule_.own);
    ++seen_.measurements;
    see_obedience(tuned, named, expected);
    const bool tells = is_obedience_known_ && seen_.is_obeyed;
    if (tells && !is_surprising(race_.surface(), rule_.best_cell, tuned)) {
      race_.measured(rule_.best_cell, median_of(tuned),
                     std::hypot(between_starts, deviation_of(tuned)));
    }
    return true;
  }
  ProvenPoint result() const {
    ProvenPoint seen = seen_;
    seen.gain = gain();
    return seen;
  }

 private:
  Shift gain() const { return gain_of(race_, rule_.own_cell, rule_.best_cell); }

  std::optional<Seconds> measure(std::size_t cell) {
    const CellMeasurement seen = measure_cell(plan_, race_, cell);
    if (seen.measured.latency_ns.empty()) return std::nullopt;
    seen_.measurements += seen.looks;
    return median_of(seen.measured);
  }

  void see_obedience(const Measurement& tuned, Seconds named,
                     const std::function<std::string(const std::string&)>& expected) {
    if (expected) {
      seen_.played = tuned.played;
      seen_.is_obeyed = tuned.played.ends_with(", " + expected(rule_.best.algorithm));
      is_obedience_known_ = true;
      return;
    }
    seen_.log_of_named.push_back(std::log(named / median_of(tuned)));
    const std::optional<bool> obeyed = obedience(seen_, named, race_.surface().drift());
    is_obedience_known_ = obeyed.has_value();
    seen_.is_obeyed = obeyed.value_or(true);
  }

  const TunedPoint& rule_;
  const TuningPlan& plan_;
  Race& race_;
  ProvenPoint seen_;
  bool is_obedience_known_ = false;
};

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
  MeasuringCosts costs;
  const auto cost = [&](std::size_t cell) {
    const double all = costs.of(plan.cells[cell].workers, time_of(cell));
    return all < (plan.budget - since(begin)).count() ? all
                                                      : std::numeric_limits<double>::infinity();
  };
  while (since(begin) < plan.budget) {
    result.stopped_by = plan.stop_requested();
    if (!result.stopped_by.empty()) break;
    const auto next = race.next(cost, race.surface().drift());
    if (!next) {
      result.is_settled = since(begin) < 0.9 * plan.budget;
      break;
    }
    const Case& point = plan.cells[next->cell];
    const auto started = TuningClock::now();
    const CellMeasurement seen = measure_cell(plan, race, next->cell);
    if (seen.measured.latency_ns.empty()) continue;
    result.measurements += seen.looks;
    costs.add(point.workers, median_of(seen.measured), since(started) / seen.looks);
    plan.on_progress(fmt::format("{} measurements of {} cells: {} of {} workers, {}",
                                 result.measurements, result.cells, point.algorithm, point.workers,
                                 to_string(point.bytes)));
  }
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

Shift gain_of(const Race& race, std::size_t own, std::size_t best) {
  const TimeSurface& surface = race.surface();
  const double gain = surface.log_us(own) - surface.log_us(best);
  const double variance = surface.covariance(own, own) + surface.covariance(best, best) -
                          2 * surface.covariance(own, best);
  const double sure = one_sided * std::sqrt(std::max(variance, 0.0));
  return {gain, gain - sure, gain + sure};
}

std::vector<ProvenPoint> prove_rules(
    const TuningPlan& plan, Race& race, const TuningResult& result, const MeasureCase& with,
    Seconds budget, const std::function<std::string(const std::string& candidate)>& expected) {
  const auto begin = TuningClock::now();
  std::vector<RuleProof> proofs;
  for (const TunedPoint& point : result.points) {
    if (point.changes) proofs.emplace_back(point, plan, race);
  }
  const auto play_rounds = [&] {
    for (int round = 0; round < most_rounds; ++round) {
      for (RuleProof& proof : proofs) {
        if (!proof.needs_a_round() || (!proof.is_due() && since(begin) > budget)) continue;
        if (!plan.stop_requested().empty() || !proof.play_round(with, expected)) return;
      }
    }
  };
  play_rounds();
  std::vector<ProvenPoint> points;
  for (const RuleProof& proof : proofs) points.push_back(proof.result());
  return points;
}

int take_back(TuningResult& result, const std::vector<ProvenPoint>& proven) {
  int taken_back = 0;
  for (const ProvenPoint& seen : proven) {
    if (!seen.log_ratios.empty() && seen.gain.low > 0) continue;
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
