#include "cli/train_workers.h"

#include <bit>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "bench/agreement.h"
#include "bench/backend.h"
#include "bench/endpoint_rendezvous.h"
#include "bench/environment.h"
#include "bench/lent_endpoint.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "cli/train_cluster.h"
#include "cli/train_evaluator.h"
#include "cli/train_options.h"
#include "cli/train_report.h"
#include "cli/train_session.h"
#include "cli/train_threads.h"
#include "core/error.h"
#include "training/gradient_schedule.h"
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
          {"engine", std::string(find_engine(plan.engine, plan.type).name)},
          {"optimizer", plan.optimizer.name},
          {"learning rate", fmt::format("{}", plan.optimizer.learning_rate)},
          {"momentum", fmt::format("{}", plan.optimizer.momentum)},
          {"global batch", std::to_string(plan.global_batch)},
          {"epochs", std::to_string(plan.epochs)},
          {"steps per epoch", std::to_string(plan.steps)},
          {"seed", std::to_string(plan.seed)},
          {"wire", settings.text("wire")},
          {"loss scaling", settings.text("loss-scaling")},
          {"sharding", to_string(plan.sharding)},
          {"drop-remainder", settings.text("drop-remainder")},
          {"checkpoint folder", settings.text("checkpoint")},
          {"checkpoint every", settings.text("save-every")},
          {"resume", settings.flag("resume") ? "yes" : "no"},
          {"algorithm", gradient_algorithm(settings)},
          {"buckets", settings.text("buckets")},
          {"data", samples.train.description},
          {"digest of the data", digest(samples.train)}};
}

class Workers {
 public:
  explicit Workers(const RemoteJob& job)
      : endpoint_(join(job)), rendezvous_(endpoint_), cores_(cores_of_rank_0()) {}

  /// Runs `task` on every rank; what fails on one is told to all, and thrown on all.
  template <class Task>
  void together(Task task) {
    std::exception_ptr failure;
    std::string refusal;
    try {
      task();
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
  }

  void compare(const std::vector<NamedValue>& values) { require_same(values, rendezvous_); }

  /// Rank 0's text, on every rank.
  std::string from_rank_0(std::string text) {
    auto length = static_cast<std::int64_t>(text.size());
    length = rendezvous_.gather(std::span(&length, 1))[0];
    text.resize(static_cast<std::size_t>(length));
    const auto communicator =
        make_schedule_communicator(make_schedule("ring", ranks()), lend(endpoint_), "the state");
    communicator->broadcast({reinterpret_cast<std::byte*>(text.data()), length, DataType::u8}, 0);
    return text;
  }

  std::vector<ReplicaReport> train(const TrainingPlan& plan, const Samples& samples,
                                   const std::string& algorithm, const ReplicaHooks& hooks) {
    const auto communicator =
        make_schedule_communicator(gradient_schedule(algorithm, "grpc", ranks(), cores_),
                                   lend(endpoint_), algorithm + " over gRPC streams");
    return gather(train_replica(plan, samples.train, samples.held_out, *communicator, hooks));
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

/// The work of one of several workers. Returns the exit code.
int train_as_one_of(Workers& workers, const TrainCluster& cluster, const Settings& settings) {
  TrainingPlan plan;
  Samples samples;
  std::string algorithm;
  std::optional<TrainSession> session;
  std::string state;
  const bool chief = workers.rank() == 0;
  workers.together([&] {
    plan = plan_of(settings);
    algorithm = gradient_algorithm(settings);
    per_replica_batch(plan.global_batch, workers.ranks());
    session.emplace(settings, plan, chief);
    samples = samples_of(settings, plan);
    check(plan, samples.train, workers.ranks());
    gradient_schedule(algorithm, "grpc", workers.ranks(), 1);
  });
  workers.compare(values_of(settings, plan, samples));
  workers.together([&] {
    if (chief) state = session->file_to_resume();
  });
  session->resume(workers.from_rank_0(std::move(state)));
  session->begin(steps_per_epoch(plan, samples.train, workers.ranks()));
  const auto reports = workers.train(plan, samples, algorithm, session->hooks());
  const int code =
      session->finish(reports[static_cast<std::size_t>(workers.rank())], workers.rank());
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
  Workers workers(cluster->job);
  const int code = train_as_one_of(workers, *cluster, settings);
  for (ChildProcess& child : children) child.ended_within(cluster->job.timeout);
  return code;
}

}  // namespace collbench
