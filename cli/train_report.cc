#include "cli/train_report.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iostream>

#include <fmt/format.h>

#include "cli/output_file.h"
#include "core/json.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

constexpr StepPart parts[] = {
    {"forward_ms", "forward", &StepTimes::forward},
    {"backward_ms", "backward", &StepTimes::backward},
    {"optimizer_ms", "optimizer", &StepTimes::optimizer},
    {"communication_ms", "communication", &StepTimes::communication},
    {"communication_busy_ms", "busy", &StepTimes::busy},
    {"exposed_communication_ms", "exposed", &StepTimes::exposed},
    {"input_ms", "input", &StepTimes::input},
    {"checks_ms", "checks", &StepTimes::checks},
    {"waiting_ms", "waiting", &StepTimes::waiting},
    {"step_ms", "step", &StepTimes::whole},
};

/// All steps but the first, which also meets cold caches and makes plans.
std::span<const StepTimes> steady(const ReplicaReport& report) {
  return std::span(report.steps).subspan(report.steps.size() > 1 ? 1 : 0);
}

/// Whether there are steps: none may be left to train.
bool has_trained(const std::vector<ReplicaReport>& reports) {
  return std::ranges::any_of(reports, [](const ReplicaReport& own) { return !own.steps.empty(); });
}

std::int64_t workers_in(const GradientExchange& exchange,
                        const std::vector<ReplicaReport>& reports) {
  return exchange.in_step ? std::ssize(reports) / exchange.replicas : std::ssize(reports);
}

/// Mean of what a step takes; workers may run out of samples. The first epoch may be the end of one
/// that was resumed.
double samples_of_step(const TrainingPlan& plan, const ReplicaReport& report) {
  const auto& epochs = report.epochs;
  const bool whole =
      epochs.size() > 1 || (!epochs.empty() && report.first_step % epochs.back().steps == 0);
  if (!whole) return static_cast<double>(plan.global_batch);
  return static_cast<double>(epochs.back().samples) / static_cast<double>(epochs.back().steps);
}

/// Of steps as the median one, without warm-up; 0 if there are no others. A step is that of all
/// replicas, unless each has its own: then their rates add up.
double steady_rate(const TrainingPlan& plan, const GradientExchange& exchange,
                   const std::vector<ReplicaReport>& reports) {
  const double samples = samples_of_step(plan, reports[0]);
  double rate = 0;
  for (const ReplicaReport& report : reports) {
    if (report.steps.size() < 2) continue;
    rate += samples * 1e3 / median_ms(steady(report), {"step_ms", "step", &StepTimes::whole});
    if (exchange.in_step) break;
  }
  return rate;
}

double images_per_second(const Progress& epoch) {
  return static_cast<double>(epoch.samples) / epoch.elapsed.count();
}

/// The vectors of a rank, in words.
std::string memory_line(std::string_view what, const TrainingMemory& memory) {
  const auto mib = [](Bytes size) { return static_cast<double>(size.count) / (1 << 20); };
  return fmt::format(
      "# {} {:.2f} MiB: parameters {:.2f}, gradients {:.2f}, optimizer {:.2f}, buffers {:.2f}\n",
      what, mib(memory.all()), mib(memory.parameters), mib(memory.gradients), mib(memory.optimizer),
      mib(memory.buffers));
}

void print_results(const TrainingPlan& plan, const Samples& samples,
                   const GradientExchange& exchange, const std::vector<ReplicaReport>& reports) {
  std::cout << fmt::format(
      "# {}, {} parameters; {}; {}, global batch {}, {} by {}\n", plan.model.name,
      parameters_of(plan.model), samples.train.description,
      counted(workers_in(exchange, reports), "worker") +
          (exchange.replicas > 1 ? fmt::format(" of {} replicas", exchange.replicas) : ""),
      plan.global_batch, plan.optimizer.name, plan.optimizer.learning_rate);
  if (!has_trained(reports)) {
    std::cout << fmt::format(
        "# nothing is left to train: the checkpoint is of the last step, {}\n"
        "# accuracy on held-out samples: {:.4f}\n",
        reports[0].first_step, reports[0].held_out_accuracy);
    return;
  }
  std::cout << fmt::format("{:>6}{:>12}{:>12}{:>12}\n", "epoch", "loss", "accuracy", "images/s");
  std::int64_t number = 0;
  for (const Progress& epoch : reports[0].epochs) {
    if (number == 0) number = reports[0].first_step / epoch.steps;
    std::cout << fmt::format("{:>6}{:>12.6f}{:>12.4f}{:>12.1f}\n", ++number, epoch.loss,
                             epoch.accuracy, images_per_second(epoch));
  }
  if (number > 0) std::cout << divergence_line(reports[0].epochs.back().loss);
  if (const double rate = steady_rate(plan, exchange, reports); rate > 0) {
    std::cout << fmt::format("# after the first step: {:.1f} images/s by the median step\n", rate);
  }
  std::cout << fmt::format("# accuracy on held-out samples: {:.4f}\n",
                           reports[0].held_out_accuracy);
  std::vector<std::span<const StepTimes>> ranks;
  std::size_t most = 0;
  for (const ReplicaReport& report : reports) {
    ranks.push_back(steady(report));
    most = std::max(most, ranks.back().size());
  }
  std::cout << fmt::format("# median of {} steps after the first, ms for each rank\n{}", most,
                           step_table("rank", parts, ranks));
  const ReplicaReport& first = reports[0];
  if (plan.state_sharding == StateSharding::none || first.memory.all() == Bytes{}) return;
  std::cout << memory_line("vectors of rank 0 take", first.memory)
            << memory_line("by the sizes of shares at most", first.expected_memory);
}

/// Equal for equal bits of all parameters.
std::string digest_of(const std::vector<double>& parameters) {
  std::uint64_t hash = 14695981039346656037U;
  for (const double value : parameters) {
    hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 1099511628211U;
    hash ^= hash >> 32;
  }
  return fmt::format("{:016x}", hash);
}

nlohmann::json train_document(const Settings& settings, const TrainingPlan& plan,
                              const Samples& samples, const GradientExchange& exchange,
                              const std::vector<ReplicaReport>& reports) {
  nlohmann::json document{{"model", plan.model.name},
                          {"parameters", parameters_of(plan.model)},
                          {"strategy", settings.text("strategy")},
                          {"workers", workers_in(exchange, reports)},
                          {"replicas", exchange.replicas},
                          {"algorithm", exchange.algorithm},
                          {"backend", exchange.backend},
                          {"transport", exchange.transport},
                          {"engine", plan.engine},
                          {"datatype", to_string(plan.type)},
                          {"wire", to_string(wire_type(plan.type, plan.wire))},
                          {"loss_scaling", loss_scaling_name(plan)},
                          {"global_batch", plan.global_batch},
                          {"optimizer", plan.optimizer.name},
                          {"learning_rate", plan.optimizer.learning_rate},
                          {"momentum", plan.optimizer.momentum},
                          {"overlap", plan.overlap},
                          {"sharding", to_string(plan.state_sharding)},
                          {"bucket_rule", settings.text("buckets")},
                          {"seed", plan.seed},
                          {"data", samples.train.description},
                          {"first_step", reports[0].first_step},
                          {"epochs", nlohmann::json::array()},
                          {"ranks", nlohmann::json::array()},
                          {"parameters_digest", digest_of(reports[0].parameters)},
                          {"held_out_accuracy", reports[0].held_out_accuracy}};
  for (const MemoryPart& part : memory_parts()) {
    document["memory"]["expected"][part.key] = (reports[0].expected_memory.*part.size).count;
    document["memory"]["measured"][part.key] = (reports[0].memory.*part.size).count;
  }
  for (const Bucket& bucket : reports[0].buckets) {
    document["bucket_bytes"].push_back(bucket.count * size_of(plan.type));
  }
  for (const Progress& epoch : reports[0].epochs) {
    document["epochs"].push_back({{"steps", epoch.steps},
                                  {"loss", epoch.loss},
                                  {"accuracy", epoch.accuracy},
                                  {"images_per_second", images_per_second(epoch)}});
  }
  for (const ReplicaReport& report : reports) {
    if (!has_trained(reports)) break;
    nlohmann::json rank = nlohmann::json::object();
    for (const StepPart& part : parts) {
      if (report.steps.empty()) break;
      rank["median"][part.key] = median_ms(steady(report), part);
      for (const StepTimes& step : report.steps) {
        rank["steps"][part.key].push_back((step.*part.time).count() * 1e3);
      }
    }
    document["ranks"].push_back(std::move(rank));
  }
  return document;
}

}  // namespace

std::span<const MemoryPart> memory_parts() {
  static constexpr MemoryPart rows[] = {{"parameters_bytes", &TrainingMemory::parameters},
                                        {"gradients_bytes", &TrainingMemory::gradients},
                                        {"optimizer_bytes", &TrainingMemory::optimizer},
                                        {"buffers_bytes", &TrainingMemory::buffers}};
  return rows;
}

double median_ms(std::span<const StepTimes> steps, const StepPart& part) {
  std::vector<double> times;
  for (const StepTimes& step : steps) times.push_back((step.*part.time).count() * 1e3);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

std::string step_table(std::string_view corner, std::span<const StepPart> parts,
                       const std::vector<std::span<const StepTimes>>& ranks) {
  std::string table(corner);
  for (const StepPart& part : parts) table += fmt::format("{:>14}", part.heading);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    table += fmt::format("\n{:>{}}", rank, corner.size());
    for (const StepPart& part : parts) {
      table += ranks[rank].empty() ? fmt::format("{:>14}", "-")
                                   : fmt::format("{:>14.3f}", median_ms(ranks[rank], part));
    }
  }
  return table + '\n';
}

std::string divergence_line(double loss) {
  return std::isfinite(loss) ? "" : "# the loss is no number any more: training has diverged\n";
}

void report_training(const Settings& settings, const TrainingPlan& plan, const Samples& samples,
                     const GradientExchange& exchange, std::vector<ReplicaReport> reports,
                     const FurtherFigures& further) {
  if (exchange.in_step) note_waiting(reports);
  const std::string& json = settings.text("json");
  if (json != "-") print_results(plan, samples, exchange, reports);
  if (json.empty()) return;
  nlohmann::json document = train_document(settings, plan, samples, exchange, reports);
  for (const auto& [key, value] : further) document[key] = value;
  write_output(json, [&](std::ostream& out) { out << json_text(document, 1) << '\n'; });
}

}  // namespace collbench
