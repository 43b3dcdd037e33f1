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
#include "cli/train_team.h"
#include "cli/train_threads.h"
#include "core/error.h"
#include "training/gradient_schedule.h"
#include "training/step_recorder.h"
#include "training/worker_replicas.h"

namespace collbench {
namespace {

/// The work of one of several workers. Returns the exit code.
int train_as_one_of(TrainTeam& workers, const TrainCluster& cluster, const Settings& settings) {
  TrainingPlan plan;
  Samples samples;
  std::string algorithm;
  std::optional<TrainSession> session;
  std::string state;
  int replicas = 1;
  int all = 1;  // replicas of all workers
  const bool chief = workers.rank() == 0;
  workers.together([&] {
    plan = plan_of(settings);
    algorithm = gradient_algorithm(settings);
    replicas = static_cast<int>(count_of(settings, "replicas", 1, 512));
    all = workers.ranks() * replicas;
    per_replica_batch(plan.global_batch, all);
    session.emplace(settings, plan, chief);
    samples = samples_of(settings, plan);
    check(plan, samples.train, all);
    gradient_schedule(algorithm, "grpc", workers.ranks(), 1);
  });
  workers.compare(values_of(settings, plan, samples));
  workers.together([&] {
    if (chief) state = session->file_to_resume();
  });
  session->resume(workers.from_rank_0(std::move(state)));
  session->begin(steps_per_epoch(plan, samples.train, all));
  const auto communicator = workers.communicator(algorithm);
  StepRecorder recorder(*communicator);
  const auto reports =
      workers.gather(train_worker_replicas(plan, replicas, recorder, samples.train,
                                           samples.held_out, recorder.told_by(session->hooks())));
  if (chief) {
    write_output(settings.text("trace"),
                 [&](std::ostream& out) { recorder.write(out, reports[0].steps); });
  }
  const Rank own = workers.rank() * replicas;
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

int train_workers(const Settings& settings) {
  std::vector<ChildProcess> children;
  const std::optional<TrainCluster> cluster =
      settings.flag("isolate") ? isolated_cluster(settings, children) : train_cluster(settings);
  if (!cluster) {  // as in TensorFlow, which says nothing
    std::cerr << "collbench: no TF_CONFIG, launcher or --hosts: this is the only worker\n";
    return train_threads(settings, plan_of(settings), 1, gradient_algorithm(settings), {});
  }
  if (cluster->evaluator) return evaluate_checkpoints(settings);
  watch_interrupts();
  TrainTeam workers(cluster->job);
  const int code = train_as_one_of(workers, *cluster, settings);
  for (ChildProcess& child : children) child.ended_within(cluster->job.timeout);
  return code;
}

}  // namespace collbench
