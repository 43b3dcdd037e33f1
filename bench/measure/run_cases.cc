#include "bench/measure/run_cases.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <tuple>

#include "bench/measure/trial.h"
#include "bench/records/environment.h"
#include "bench/records/record_json.h"
#include "core/error.h"
#include "heuristics/policies/choose.h"
#include "transports/waiting.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

using TeamKey = std::tuple<std::string, int, bool, bool, std::string>;

TeamKey team_key(const Case& point) {
  return {point.backend, point.workers, point.isolate, point.private_buffers, point.transport};
}

class Runner {
 public:
  Runner(const RunPlan& plan, const std::vector<Reporter*>& reporters)
      : plan_(plan), reporters_(reporters) {
    result_.summary.planned = total();
  }

  int total() const { return static_cast<int>(plan_.cases.size()) * plan_.cycles; }

  void run_all() {
    for (int cycle = 0; cycle < plan_.cycles; ++cycle) {
      teams_.clear();
      for (const Case& point : plan_.cases) {
        if (stopped()) return;
        plan_.on_start(point, place_++, total());
        run_one(point);
      }
    }
    stopped();  // also in the last case
  }

  /// Also by a signal that only one rank had, whose name the last measurement gives.
  bool stopped(const std::string& at_a_rank = "") {
    std::string& known = result_.summary.stopped_by;
    if (known.empty()) known = plan_.stop_requested();
    if (known.empty()) known = at_a_rank;
    return !known.empty();
  }

  RunResult& result() { return result_; }

 private:
  void run_one(const Case& point) {
    Record record;
    record.point = point;
    record.started = now_utc();
    if (!measure(point, record)) return;
    RunSummary& summary = result_.summary;
    ++(record.skipped.empty() ? summary.measured : summary.skipped);
    if (!is_right(record)) ++summary.wrong;
    plan_.on_measured();
    for (Reporter* reporter : reporters_) reporter->record(record);
    result_.records.push_back(std::move(record));
  }

  /// Whether it was measured or skipped; not if a stop was requested on the way.
  bool measure(const Case& point, Record& record) {
    const Choice choice = first_choice(point);
    record.algorithm_chosen = choice.algorithm;
    record.choice_reason = choice.reason;
    Case decided = point;
    decided.algorithm = choice.algorithm;
    try {
      std::shared_ptr<Team>& team = teams_[team_key(point)];
      if (!team) team = plan_.make(decided, plan_.sampling);
      if (!choice.rivals.empty()) {
        const Choice& settled = settle(point, choice, *team);
        if (!result_.summary.stopped_by.empty()) return false;
        decided.algorithm = record.algorithm_chosen = settled.algorithm;
        record.choice_reason = settled.reason;
      } else if (point.algorithm != "auto") {
        const Choice& fitted = fit(point, choice, *team);
        decided.algorithm = record.algorithm_chosen = fitted.algorithm;
        record.choice_reason = fitted.reason;
      }
      record.measurement = team->measure(decided, plan_.sampling);
      const std::string& ended_by = record.measurement.stopped_by;
      const bool has_samples = !record.measurement.latency_ns.empty();
      if ((!has_samples || !ended_by.empty()) && stopped(ended_by) && !has_samples) return false;
      record.bound = record.measurement.bound ? record.measurement.bound
                                              : plan_.bound(decided, record.measurement);
    } catch (const Unavailable& e) {
      if (!plan_.skip_unavailable) throw;
      record.skipped = e.what();
    }
    return true;
  }

  Choice first_choice(const Case& point) const {
    if (point.algorithm != "auto") return {point.algorithm, ""};
    return plan_.choose(point, plan_.cores > 0 ? plan_.cores : usable_cores());
  }

  /// The outcome of a trial on the team, which is made once in a run.
  const Choice& settle(const Case& point, const Choice& choice, Team& team) {
    const auto [settled, is_new] = settled_.try_emplace(to_json(point));
    if (is_new) {
      settled->second = try_out(point, choice, plan_.sampling, team, [this] { return stopped(); });
    }
    return settled->second;
  }

  /// What was asked for, with a latency that is measured once in a run if it lacks one.
  const Choice& fit(const Case& point, const Choice& choice, Team& team) {
    const auto [fitted, is_new] = fitted_.try_emplace({team_key(point), choice.algorithm});
    if (is_new) fitted->second = with_message_latency(point, choice, plan_.sampling, team);
    return fitted->second;
  }

  const RunPlan& plan_;
  const std::vector<Reporter*>& reporters_;
  std::map<TeamKey, std::shared_ptr<Team>> teams_;
  std::map<std::string, Choice> settled_;  // by case
  std::map<std::pair<TeamKey, std::string>, Choice> fitted_;
  RunResult result_;
  int place_ = 0;
};

}  // namespace

Choice choose_for(const Case& point, int cores) {
  return choose(point.backend, find_backend(point.backend).choice, group_size(point), point.bytes,
                point.type, point.op, cores, point.collective);
}

RunResult run_cases(const RunPlan& plan, const Environment& environment,
                    const std::vector<Reporter*>& reporters) {
  const auto begin = std::chrono::steady_clock::now();
  for (Reporter* reporter : reporters) reporter->begin(environment, plan.cases);
  Runner runner(plan, reporters);
  RunResult& result = runner.result();
  try {
    runner.run_all();
  } catch (const std::exception& e) {
    if (!runner.stopped()) {
      result.summary.failure = e.what();
      result.error = std::current_exception();
    }
  }
  result.summary.elapsed = std::chrono::steady_clock::now() - begin;
  for (Reporter* reporter : reporters) reporter->end(result.summary);
  return std::move(result);
}

}  // namespace collbench
