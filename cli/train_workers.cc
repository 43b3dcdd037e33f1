#include "cli/train_workers.h"

#include <iostream>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/isolated_tasks.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "cli/train_evaluator.h"
#include "cli/train_options.h"
#include "cli/train_report.h"
#include "cli/train_session.h"
#include "cli/train_threads.h"
#include "core/error.h"
#include "training/gradient_schedule.h"
#include "training/mirrored.h"
#include "training/step_recorder.h"
#include "transports/world/agreement.h"
#include "transports/world/nested_world.h"

namespace collbench {
namespace {

/// The work of one of several workers. Returns the exit code.
int train_as_one_of(JoinedWorld& workers, const std::string& source, const Settings& settings) {
  TrainingPlan plan;
  Samples samples;
  std::string algorithm;
  std::optional<TrainSession> session;
  std::optional<NestedWorld> world;
  WorldSpec spec;
  std::string state;
  const bool chief = workers.rank() == 0;
  together(workers.rendezvous(), [&] {
    plan = plan_of(settings);
    algorithm = gradient_algorithm(settings);
    world.emplace(workers, static_cast<int>(count_of(settings, "replicas", 1, 512)));
    per_replica_batch(plan.global_batch, world->ranks());
    session.emplace(settings, plan, chief);
    samples = samples_of(settings, plan);
    check(plan, samples.train, world->ranks());
    spec = gradient_world(algorithm, workers.backend(), workers.ranks(),
                          workers.processors_of_rank_0());
  });
  require_same(values_of(settings, plan, samples), workers.rendezvous());
  together(workers.rendezvous(), [&] {
    if (chief) state = session->file_to_resume();
  });
  session->resume(workers.from_rank_0(std::move(state)));
  session->begin(steps_per_epoch(plan, samples.train, world->ranks()));
  StepRecorder recorder;
  const auto reports =
      gather_reports(train_mirrored(*world, spec, plan, samples.train, samples.held_out,
                                    recorder.recorded(session->hooks())),
                     workers.rendezvous());
  if (chief) {
    write_output(settings.text("trace"),
                 [&](std::ostream& out) { recorder.write(out, reports[0].steps); });
  }
  const Rank own = world->own_ranks().first;
  const int code = session->finish(reports[static_cast<std::size_t>(own)], own);
  if (chief) {
    report_training(settings, plan, samples, algorithm, reports);
  } else {
    std::cerr << fmt::format(
        "{}trained {} steps as worker {} of {} (by {}); rank 0 has the "
        "figures\n",
        speaker(), reports[0].steps.size(), workers.rank(), workers.ranks(), source);
  }
  return code;
}

int train_joined(const Settings& settings, TrainingWorkers workers) {
  watch_interrupts();
  return join_workers(settings, std::move(workers),
                      [&](JoinedWorld& world, const std::string& source) {
                        return train_as_one_of(world, source, settings);
                      });
}

}  // namespace

int train_workers(const Settings& settings) {
  if (settings.flag("isolate")) return train_joined(settings, isolated_workers(settings));
  std::optional<TrainingWorkers> workers = launched_workers(settings);
  if (!workers) {  // as in TensorFlow, which says nothing
    std::cerr << "collbench: no TF_CONFIG, launcher or --hosts: this is the only worker\n";
    return train_threads(settings, plan_of(settings), 1, gradient_algorithm(settings), {});
  }
  if (workers->self.evaluator) return evaluate_checkpoints(settings);
  return train_joined(settings, std::move(*workers));
}

int train_in_processes(const Settings& settings) {
  std::optional<TrainingWorkers> workers = launched_workers(settings);
  return train_joined(settings, workers ? std::move(*workers) : isolated_workers(settings));
}

}  // namespace collbench
