#include "bench/verdicts/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "bench/records/report.h"
#include "core/error.h"
#include "core/quantile.h"

namespace collbench {
namespace {

constexpr std::string_view machine_keys[] = {"host",         "cpu",      "cores", "affinity",
                                             "cgroup_quota", "governor", "thp"};

constexpr int fewest_compared_rounds = 8;  // below, a change is hardly ever shown

/// How often the rounds of a case change from one side to the other in the order of time. Those
/// that began in the same second are taken to have been in turn.
std::size_t changes_of_side(const std::vector<Record>& base, const std::vector<Record>& head) {
  std::map<std::string, std::array<std::size_t, 2>> begun;  // rounds of base and head
  for (const Record& record : base) ++begun[record.started][0];
  for (const Record& record : head) ++begun[record.started][1];
  std::size_t changes = 0;
  std::optional<std::size_t> latest;
  for (auto& [when, left] : begun) {
    while (left[0] + left[1] > 0) {
      const std::size_t other = 1 - latest.value_or(1);
      const std::size_t side = left[other] > 0 ? other : 1 - other;
      if (latest && side != *latest) ++changes;
      latest = side;
      --left[side];
    }
  }
  return changes;
}

/// Whether the rounds of two files were measured in turn: sides change at least half as often as
/// they do where one round of each follows the other at random.
bool interleaved(const Arms& arms) {
  const auto is_undated = [](const Record& record) { return record.started.empty(); };
  std::size_t changes = 0;
  std::size_t expected = 0;
  for (const std::string& key : arms.base.keys()) {
    const std::vector<Record>& base = arms.base.of(key);
    const std::vector<Record>& head = arms.head.of(key);
    if (head.empty() || std::ranges::any_of(base, is_undated)) continue;
    if (std::ranges::any_of(head, is_undated)) continue;
    // One change says no more than that one side came first.
    changes += std::max<std::size_t>(changes_of_side(base, head), 1) - 1;
    expected += std::min(base.size(), head.size()) - 1;
  }
  return changes > 0 && 2 * changes >= expected;
}

/// What works only now and then must not pass by the times at which it does: head has under half of
/// base's rounds of a case, though not of others, or files of head are no tables.
void judge_lost_rounds(Comparison& comparison, const LostFiles& lost) {
  int most_base = 1;
  int most_head = 1;
  for (const Verdict& verdict : comparison.verdicts) {
    if (!verdict.ratio) continue;
    most_base = std::max(most_base, verdict.ratio->base_rounds);
    most_head = std::max(most_head, verdict.ratio->head_rounds);
  }
  int cases = 0;
  for (Verdict& verdict : comparison.verdicts) {
    if (!verdict.ratio || 2 * verdict.ratio->head_rounds >= verdict.ratio->base_rounds) continue;
    ++cases;
    const double base_share = static_cast<double>(verdict.ratio->base_rounds) / most_base;
    const double head_share = static_cast<double>(verdict.ratio->head_rounds) / most_head;
    if (lost.head <= lost.base && 2 * head_share >= base_share) continue;
    verdict.outcome = VerdictOutcome::missing;
    verdict.reason = fmt::format("head has it in {} rounds, base in {}", verdict.ratio->head_rounds,
                                 verdict.ratio->base_rounds);
    if (lost.head > lost.base) {
      verdict.reason += fmt::format(": {} files of head are no tables", lost.head);
    }
  }
  if (cases > 0) {
    comparison.warnings.push_back(fmt::format(
        "head has under half of base's rounds in {} of {} cases: what failed in the others is not "
        "seen here",
        cases, comparison.verdicts.size()));
  }
  if (lost.base + lost.head > 0) {
    comparison.warnings.push_back(fmt::format(
        "left out, since they are no tables: {} files of base, {} of head", lost.base, lost.head));
  }
}

void warn(Comparison& comparison, int lacking, Order order) {
  const bool timed = std::any_of(comparison.verdicts.begin(), comparison.verdicts.end(),
                                 [](const Verdict& verdict) { return verdict.ratio.has_value(); });
  if (!timed) return;
  if (lacking > 0) {
    comparison.warnings.push_back(
        fmt::format("{} rounds a side cannot show a change among {} cases, however large it is: "
                    "from {} they can (--run-cycles)",
                    comparison.rounds, comparison.verdicts.size(), lacking));
  } else if (comparison.rounds < fewest_compared_rounds) {
    comparison.warnings.push_back(
        fmt::format("{} rounds a side: fewer than {} hardly ever show a change (--run-cycles)",
                    comparison.rounds, fewest_compared_rounds));
  }
  if (order == Order::apart) {
    comparison.warnings.push_back(
        "measured one after the other: what the machine did in between looks like a change "
        "(`collbench ab` measures in turn)");
  }
}

}  // namespace

std::vector<std::string> machine_mismatches(const Environment& base, const Environment& head) {
  std::vector<std::string> mismatches;
  for (const std::string_view key : machine_keys) {
    const std::string before = value_of(base, std::string(key), "");
    const std::string after = value_of(head, std::string(key), "");
    if (before != after) {
      mismatches.push_back(fmt::format("{}: '{}' is not '{}'", key, before, after));
    }
  }
  return mismatches;
}

std::vector<std::string> machines_merged(const Environment& environment) {
  std::vector<std::string> merged;
  for (const std::string_view key : machine_keys) {
    const std::string values = value_of(environment, std::string(key), "");
    const bool several = values.find("; ") != std::string::npos;  // as add_environment() joins
    if (several) merged.push_back(fmt::format("{}: '{}'", key, values));
  }
  return merged;
}

std::vector<double> lower_quartiles(const std::vector<Record>& rounds) {
  std::vector<double> quartiles;
  for (const Record& round : rounds) {
    const std::vector<double> times = call_times_ns(round);
    if (!times.empty()) quartiles.push_back(quantile(times, 0.25));
  }
  return quartiles;
}

void set_levels(Verdict& verdict) {
  const RatioEstimate* estimate = deciding(verdict);
  if (estimate == nullptr || !verdict.base || !verdict.head) return;
  // Fresh rounds are the last of an arm, and decide alone where there are any.
  const auto level = [fresh = verdict.confirmation](const Arm& arm, int rounds) {
    const std::vector<double>& all = arm.rounds_ns;
    const std::size_t n =
        fresh ? std::min(all.size(), static_cast<std::size_t>(rounds)) : all.size();
    return quantile({all.end() - static_cast<std::ptrdiff_t>(n), all.end()}, 0.5);
  };
  const double base = level(*verdict.base, estimate->base_rounds);
  const double head = level(*verdict.head, estimate->head_rounds);
  const double middle = std::sqrt(base * head);
  verdict.base->typical_ns = middle / std::sqrt(estimate->ratio);
  verdict.head->typical_ns = middle * std::sqrt(estimate->ratio);
}

std::string case_key(Case point) {
  point.calls = 1;
  return to_json(point);
}

void ArmRecords::add(const RecordFile& file) {
  for (const Record& record : file.records) {
    const std::string key = case_key(record.point);
    const auto [place, is_new] = records_.try_emplace(key);
    if (is_new) keys_.push_back(key);
    place->second.push_back(record);
  }
}

const std::vector<Record>& ArmRecords::of(const std::string& key) const {
  static const std::vector<Record> none;
  const auto found = records_.find(key);
  return found == records_.end() ? none : found->second;
}

void require_sound(const RecordFile& file, const std::string& name) {
  // `ab` gives decided cases no more rounds, so a cycle may have fewer cases than the one before.
  std::set<std::string> last_cycle;
  std::set<std::string> cycle;
  std::set<std::string> seen;
  std::map<std::string, Seconds> exact;  // `ab` keeps one of each round
  for (const Record& record : file.records) {
    const std::string key = case_key(record.point);
    const auto check = [&](bool holds, const std::string& what) {
      require(holds, fmt::format("'{}': case '{}' {}", name, case_name(record.point), what));
    };
    const Measurement& measured = record.measurement;
    for (const std::int64_t sample : measured.latency_ns) {
      check(sample > 0 || measured.exact, fmt::format("has a sample of {} ns", sample));
    }
    check(!measured.exact || measured.exact->time.count() >= 0, "has a time below zero");
    // Another benchmark's table does not say when, and its rounded figures may well be equal.
    if (measured.exact) {
      const Seconds time = measured.exact->time;
      check(exact.try_emplace(key, time).first->second == time,
            "is simulated twice, with different times");
    } else if (!record.started.empty()) {
      check(seen.insert(to_json(record)).second, "has the same record twice");
    }
    if (!cycle.insert(key).second) last_cycle = std::exchange(cycle, {key});
    check(last_cycle.empty() || last_cycle.count(key) > 0,
          "comes only after others came twice: these are not one run's records");
  }
}

Comparison compare_files(const RecordFile& base, const RecordFile& head, const GateRule& rule,
                         bool any_machine, const LostFiles& lost) {
  Arms arms;
  arms.base.add(base);
  arms.head.add(head);
  Comparison comparison;
  comparison.rule = rule;
  comparison.base = base.environment;
  comparison.head = head.environment;
  comparison.mismatches = machine_mismatches(base.environment, head.environment);
  const Order order = interleaved(arms) ? Order::in_turn : Order::apart;
  comparison.verdicts = pair_cases(arms, rule, order);
  int fewest = 0;
  for (Verdict& verdict : comparison.verdicts) {
    if (!verdict.ratio) continue;
    const int rounds = std::min(verdict.ratio->base_rounds, verdict.ratio->head_rounds);
    fewest = fewest == 0 ? rounds : std::min(fewest, rounds);
    if (any_machine || comparison.mismatches.empty()) continue;
    verdict.outcome = VerdictOutcome::env_mismatch;
    verdict.reason = "other machine: " + comparison.mismatches.front();
  }
  comparison.rounds = fewest;
  judge_lost_rounds(comparison, lost);
  const int lacking = rounds_lacking(comparison.verdicts, rule, order);
  decide_at_once(comparison.verdicts, rule);
  warn(comparison, lacking, order);
  return comparison;
}

}  // namespace collbench
