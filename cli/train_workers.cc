#include "cli/train_workers.h"

#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "cli/train_agreement.h"
#include "cli/train_cluster.h"
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
int train_as_one_of(JoinedWorld& workers, const TrainCluster& cluster, const Settings& settings) {
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
        speaker(), reports[0].steps.size(), workers.rank(), workers.ranks(), cluster.source);
  }
  return code;
}

}  // namespace

namespace {

int train_joined(const Settings& settings, const TrainCluster& cluster,
                 std::vector<ChildProcess>& children) {
  watch_interrupts();
  JoinedWorld workers(cluster.job);
  const int code = train_as_one_of(workers, cluster, settings);
  for (ChildProcess& child : children) child.ended_within(cluster.job.timeout);
  return code;
}

}  // namespace

int train_workers(const Settings& settings) {
  std::vector<ChildProcess> children;
  const std::optional<TrainCluster> cluster =
      settings.flag("isolate") ? isolated_cluster(settings, children) : train_cluster(settings);
  if (!cluster) {  // as in TensorFlow, which says nothing
    std::cerr << "collbench: no TF_CONFIG, launcher or --hosts: this is the only worker\n";
    return train_threads(settings, plan_of(settings), 1, gradient_algorithm(settings), {});
  }
  if (cluster->evaluator) return evaluate_checkpoints(settings);
  return train_joined(settings, *cluster, children);
}

int train_in_processes(const Settings& settings) {
  std::vector<ChildProcess> children;
  std::optional<TrainCluster> cluster = train_cluster(settings);
  if (!cluster) cluster = isolated_cluster(settings, children);
  return train_joined(settings, *cluster, children);
}

}  // namespace collbench
