// Schedules: the time to ask a schedule for one rank's row, per operation, and to prove it.
#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "algorithms/registry.h"
#include "algorithms/schedule.h"
#include "algorithms/verify.h"
#include "core/error.h"

namespace collbench {
namespace {

/// Items per second are operations of one rank, all rounds.
void generate(benchmark::State& state, const std::string& name) {
  const Schedule schedule = make_schedule(name, static_cast<int>(state.range(0)));
  std::int64_t operations = 0;
  Round round;
  for (auto _ : state) {
    for (int t = 0; t < schedule.rounds(); ++t) {
      schedule.round(0, t, round);
      operations += static_cast<std::int64_t>(round.ops().size());
      benchmark::DoNotOptimize(round.ops().data());
    }
  }
  state.SetItemsProcessed(operations);
}

void verify(benchmark::State& state, const std::string& name) {
  const Schedule schedule = make_schedule(name, static_cast<int>(state.range(0)));
  for (auto _ : state) {
    if (!verify_allreduce(schedule).ok()) {
      state.SkipWithError("the schedule is not an all-reduce");
      return;
    }
  }
}

bool allows(const std::string& name, int ranks) {
  try {
    make_schedule(name, ranks);
    return true;
  } catch (const InvalidArgument&) {
    return false;
  }
}

[[maybe_unused]] const bool schedules_registered = [] {
  for (const AlgorithmInfo& algorithm : algorithms()) {
    const std::string name(algorithm.name);
    for (int ranks : {8, 64}) {
      if (!allows(name, ranks)) continue;
      benchmark::RegisterBenchmark(("Schedule/generate/" + name).c_str(), generate, name)
          ->Arg(ranks);
      benchmark::RegisterBenchmark(("Schedule/verify/" + name).c_str(), verify, name)->Arg(ranks);
    }
  }
  return true;
}();

}  // namespace
}  // namespace collbench
