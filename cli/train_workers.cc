#include "cli/train_workers.h"

#include <bit>
#include <iostream>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "bench/agreement.h"
#include "bench/backend.h"
#include "bench/endpoint_rendezvous.h"
#include "bench/environment.h"
#include "bench/lent_endpoint.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "cli/train_cluster.h"
#include "cli/train_options.h"
#include "cli/train_report.h"
#include "core/error.h"
#include "training/gradient_schedule.h"
#include "training/mirrored.h"
#include "transports/schedule_communicator.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

std::uint64_t digest(const void* data, std::size_t bytes, std::uint64_t hash) {
  const auto* begin = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ begin[i]) * 1099511628211U;  // FNV-1a
  return hash;
}

std::string digest(const Dataset& data) {
  std::uint64_t hash =
      digest(data.images.data(), data.images.size() * sizeof(float), 14695981039346656037U);
  hash = digest(data.labels.data(), data.labels.size() * sizeof(int), hash);
  return fmt::format("{:016x}", hash);
}

std::string layers_of(const Model& model) {
  std::string text = to_string(model.input);
  for (const Tensor& tensor : tensors_of(model)) {
    text += fmt::format(" {}:{}", tensor.name, tensor.count);
  }
  return text;
}

/// What all workers must have in common, in the order in which a difference is told.
std::vector<NamedValue> values_of(const Settings& settings, const TrainingPlan& plan,
                                  const Samples& samples) {
  return {{"version", collect_environment().at("version")},
          {"model", plan.model.name},
          {"tensors", layers_of(plan.model)},
          {"data type", std::string(to_string(plan.type))},
          {"engine", plan.engine},
          {"optimizer", plan.optimizer.name},
          {"learning rate", fmt::format("{}", plan.optimizer.learning_rate)},
          {"momentum", fmt::format("{}", plan.optimizer.momentum)},
          {"global batch", std::to_string(plan.global_batch)},
          {"epochs", std::to_string(plan.epochs)},
          {"steps per epoch", std::to_string(plan.steps)},
          {"seed", std::to_string(plan.seed)},
          {"algorithm", gradient_algorithm(settings)},
          {"buckets", settings.text("buckets")},
          {"data", samples.train.description},
          {"digest of the data", digest(samples.train)}};
}

/// All that a rank brings along; what it lacks is told to the others before they wait for it.
struct Preparation {
  TrainingPlan plan;
  Samples samples;
};

class Workers {
 public:
  explicit Workers(const RemoteJob& job)
      : endpoint_(join(job)), rendezvous_(endpoint_), cores_(cores_of_rank_0()) {}

  Preparation prepare(const Settings& settings) {
    Preparation all;
    std::exception_ptr failure;
    std::string refusal;
    try {
      all.plan = plan_of(settings);
      all.samples = samples_of(settings, all.plan);
      check(all.plan, all.samples.train, ranks());
      gradient_schedule(gradient_algorithm(settings), "grpc", ranks(), cores_);
    } catch (const std::exception& error) {
      refusal = error.what();
      failure = std::current_exception();
    }
    const std::vector<std::string> refusals = gather_text(refusal, rendezvous_);
    if (failure) std::rethrow_exception(failure);
    for (std::size_t rank = 0; rank < refusals.size(); ++rank) {
      if (refusals[rank].empty()) continue;
      throw TransportError(fmt::format("rank {} cannot take part: {}", rank, refusals[rank]));
    }
    require_same(values_of(settings, all.plan, all.samples), rendezvous_);
    return all;
  }

  std::vector<ReplicaReport> train(const Preparation& all, const std::string& algorithm,
                                   const TrainingObserver& observer) {
    const auto communicator =
        make_schedule_communicator(gradient_schedule(algorithm, "grpc", ranks(), cores_),
                                   lend(endpoint_), algorithm + " over gRPC streams");
    return gather(
        train_replica(all.plan, all.samples.train, all.samples.held_out, *communicator, observer));
  }

  Rank rank() const { return rendezvous_.rank(); }
  int ranks() const { return rendezvous_.ranks(); }

 private:
  int cores_of_rank_0() {
    const std::int64_t mine = usable_cores();
    return static_cast<int>(rendezvous_.gather(std::span(&mine, 1))[0]);
  }

  static std::shared_ptr<Endpoint> join(const RemoteJob& job) {
    const Backend& backend = find_backend(job.backend);
    if (backend.join_remote == nullptr || !backend.unavailable.empty()) {
      throw Unavailable(fmt::format("workers in several processes need the back end '{}': {}",
                                    job.backend, backend.unavailable));
    }
    return backend.join_remote(job);
  }

  /// Every rank's report, with the times of all its steps.
  std::vector<ReplicaReport> gather(ReplicaReport own) {
    std::vector<std::int64_t> bits;
    for (StepTimes& step : own.steps) {
      for (const StepPart& part : step_parts()) {
        bits.push_back(std::bit_cast<std::int64_t>((step.*part.time).count()));
      }
    }
    const std::vector<std::int64_t> all = rendezvous_.gather(bits);
    std::vector<ReplicaReport> reports(static_cast<std::size_t>(ranks()), own);
    auto next = all.begin();
    for (ReplicaReport& report : reports) {
      for (StepTimes& step : report.steps) {
        for (const StepPart& part : step_parts()) {
          step.*part.time = Seconds{std::bit_cast<double>(*next++)};
        }
      }
    }
    return reports;
  }

  std::shared_ptr<Endpoint> endpoint_;
  EndpointRendezvous rendezvous_;
  int cores_;  // of rank 0, so that all choose alike
};

/// Without a cluster there is one worker, as in TensorFlow, but it says so.
int train_alone(const Settings& settings) {
  std::cerr << "collbench: no TF_CONFIG, launcher or --hosts: this is the only worker\n";
  const TrainingPlan plan = plan_of(settings);
  const Samples samples = samples_of(settings, plan);
  StepLine line(settings, plan);
  const auto reports = train_mirrored(plan, 1, gradient_algorithm(settings), samples.train,
                                      samples.held_out, line.observer());
  line.clear();
  report_training(settings, plan, samples, reports);
  return exit_ok;
}

}  // namespace

int train_workers(const Settings& settings) {
  std::vector<ChildProcess> children;
  const std::optional<TrainCluster> cluster =
      settings.flag("isolate") ? isolated_cluster(settings, children) : train_cluster(settings);
  if (!cluster) return train_alone(settings);
  require(!cluster->evaluator, "TF_CONFIG: the evaluator has no checkpoints to follow here");
  Workers workers(cluster->job);
  const Preparation all = workers.prepare(settings);
  const bool chief = workers.rank() == 0;
  StepLine line(settings, all.plan);
  const auto reports = workers.train(all, gradient_algorithm(settings),
                                     chief ? line.observer() : TrainingObserver());
  line.clear();
  if (chief) {
    report_training(settings, all.plan, all.samples, reports);
  } else {
    std::cerr << fmt::format(
        "{}trained {} steps as worker {} of {} (by {}); rank 0 has the "
        "figures\n",
        speaker(), reports[0].steps.size(), workers.rank(), workers.ranks(), cluster->source);
  }
  return exit_ok;
}

}  // namespace collbench
