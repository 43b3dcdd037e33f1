// Runs the cases of a benchmark in order and hands each record to the reporters as it is made.
//
// Teams stay alive between cases that can share one (same back end, workers, isolation, transport),
// so that a case costs its iterations and not a start. Algorithms and back ends that are compared
// alternate within every size.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure/team.h"
#include "bench/records/case.h"
#include "bench/records/report.h"
#include "heuristics/policies/choose.h"

namespace collbench {

/// choose() of heuristics/policies/choose.h for a real case.
Choice choose_for(const Case& point, int cores);

struct RunPlan {
  std::vector<Case> cases;
  Sampling sampling;
  int cycles = 1;                 // the whole list so many times, with new teams each time
  bool skip_unavailable = false;  // a back end that cannot run is a record with the reason
  /// Name of the signal that asks to stop, or ""; checked between cases.
  std::function<std::string()> stop_requested = [] { return std::string(); };
  /// Called before each case starts, with its index from 0 and the number of cases.
  std::function<void(const Case&, int place, int total)> on_start = [](const Case&, int, int) {};
  /// Called when a case has been measured, before the reporters.
  std::function<void()> on_measured = [] {};
  /// The physical bound of a measured case, its algorithm decided; nothing where none is known.
  std::function<std::optional<Bound>(const Case&, const Measurement&)> bound =
      [](const Case&, const Measurement&) { return std::optional<Bound>(); };
  /// Processors that `auto` may count on; 0 means those of this process.
  int cores = 0;
  /// The choice of `auto` for a case on this many cores.
  std::function<Choice(const Case&, int cores)> choose = choose_for;
  /// How teams are made. A team that was joined before, and scripted ones of tests, are put here.
  std::function<std::shared_ptr<Team>(const Case&, const Sampling&)> make = make_team;
};

/// How a run ended: the summary, and what ended it early for the caller to rethrow.
struct RunResult {
  RunSummary summary;
  std::vector<Record> records;
  std::exception_ptr error;  // null unless a case threw
};

/// Runs everything. A case that throws ends the run after the reporters' end; when a stop was
/// requested its error is taken for a consequence of the signal, which reaches the workers too.
RunResult run_cases(const RunPlan& plan, const Environment& environment,
                    const std::vector<Reporter*>& reporters);

}  // namespace collbench
