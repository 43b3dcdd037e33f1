// `collbench train`: data-parallel training over our own all-reduce, and where a step's time goes.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "cli/values.h"
#include "core/error.h"
#include "training/mirrored.h"

namespace collbench {
namespace {

constexpr const char* what = "What to train";
constexpr const char* how = "How";
constexpr const char* input = "Data";
constexpr const char* output = "Output";

constexpr OptionRow rows[] = {
    {what, "model", "m", "NAME", "mlp", "mlp, mnist-cnn or dense2"},
    {what, "widths", "", "N[,..]", "", "hidden layers of mlp; 128 by default"},
    {what, "optimizer", "", "NAME", "", "sgd or adam; the one of the model's tutorial by default"},
    {what, "lr", "", "X", "", "learning rate; the one of the tutorial by default"},
    {what, "momentum", "", "X", "0", "of sgd"},
    {what, "batch", "B", "N", "64", "global batch; a multiple of the workers"},
    {what, "epochs", "", "N", "3", "rounds of steps, each with a line of results"},
    {what, "steps", "", "N", "", "per epoch; one pass over the data by default"},
    {what, "seed", "", "N", "1", "of weights, order and synthetic data"},

    {how, "strategy", "", "NAME", "mirrored", "mirrored: replicas are threads of this process"},
    {how, "workers", "W", "N", "2", "replicas"},
    {how, "algo", "A", "NAME", "ring", "the all-reduce: 'collbench algos' lists them"},
    {how, "engine", "E", "NAME", "plain", "what computes; plain loops on the CPU"},
    {how, "datatype", "d", "TYPE", "f32", "f32 or f64"},
    {how, "buckets", "", "RULE", "ddp", "ddp (1 MiB, then 25 MiB), one, tensor, or a size"},
    {how, "no-overlap", "", "", "", "all-reduce only when the backward pass is over"},

    {input, "data", "", "FOLDER", "", "MNIST's four IDX files, unpacked; synthetic otherwise"},
    {input, "samples", "", "N", "1024", "of synthetic data; a quarter more is held out"},

    {output, "json", "J", "FILE", "", "results and the times of every rank; - is standard output"},
    {output, "progress", "", "WHEN", "auto", "auto, on, off"},
};

std::int64_t count_of(const Settings& settings, const char* name, std::int64_t least,
                      std::int64_t most = std::numeric_limits<int>::max()) {
  return parse_count(settings.label(name), settings.text(name), least, most);
}

TrainingPlan plan_of(const Settings& settings) {
  TrainingPlan plan;
  std::vector<int> widths;
  if (settings.given("widths")) {
    for (const std::string& word : parse_list(settings.label("widths"), settings.text("widths"))) {
      widths.push_back(
          static_cast<int>(parse_count(settings.label("widths"), word, 1, std::int64_t{1} << 20)));
    }
  }
  plan.model = make_model(settings.text("model"), widths);
  const bool other = settings.given("optimizer");
  plan.optimizer.name = other ? settings.text("optimizer") : plan.model.optimizer;
  plan.optimizer.learning_rate = plan.model.learning_rate;
  if (plan.optimizer.name != plan.model.optimizer) {
    plan.optimizer.learning_rate = plan.optimizer.name == "adam" ? 0.001 : 0.01;  // Keras's
  }
  if (settings.given("lr")) {
    plan.optimizer.learning_rate = parse_number(settings.label("lr"), settings.text("lr"));
  }
  plan.optimizer.momentum = parse_number(settings.label("momentum"), settings.text("momentum"));
  plan.engine = settings.text("engine");
  plan.type = parse_data_type(settings.text("datatype"));
  plan.global_batch = count_of(settings, "batch", 1);
  plan.epochs = static_cast<int>(count_of(settings, "epochs", 1));
  if (settings.given("steps")) plan.steps = count_of(settings, "steps", 1);
  plan.seed = static_cast<std::uint64_t>(
      count_of(settings, "seed", 0, std::numeric_limits<std::int64_t>::max()));
  plan.buckets = parse_bucket_rule(settings.text("buckets"));
  plan.overlap = !settings.flag("no-overlap");
  return plan;
}

struct Samples {
  Dataset train;
  Dataset held_out;
};

Samples samples_of(const Settings& settings, const TrainingPlan& plan) {
  const std::string& folder = settings.text("data");
  if (!folder.empty()) return {mnist_dataset(folder, "train"), mnist_dataset(folder, "test")};
  const std::int64_t count = count_of(settings, "samples", 1, 10'000'000);
  const auto part = [&](const char* name, std::int64_t size) {
    return synthetic_dataset(plan.model.input, plan.model.classes, size, plan.seed, name);
  };
  return {part("train", count), part("test", std::max<std::int64_t>(1, count / 4))};
}

/// A part of a step: its key in JSON, its heading, and the member.
struct Part {
  const char* key;
  const char* heading;
  Seconds StepTimes::*time;
};
constexpr Part parts[] = {
    {"forward_ms", "forward", &StepTimes::forward},
    {"backward_ms", "backward", &StepTimes::backward},
    {"optimizer_ms", "optimizer", &StepTimes::optimizer},
    {"communication_ms", "communication", &StepTimes::communication},
    {"exposed_communication_ms", "exposed", &StepTimes::exposed},
    {"input_ms", "input", &StepTimes::input},
    {"checks_ms", "checks", &StepTimes::checks},
    {"step_ms", "step", &StepTimes::whole},
};

/// The median over all steps but the first, which also meets cold caches and makes plans.
double median_ms(const ReplicaReport& report, const Part& part) {
  std::vector<double> times;
  for (const StepTimes& step : report.steps) times.push_back((step.*part.time).count() * 1e3);
  if (times.size() > 1) times.erase(times.begin());
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

double images_per_second(const TrainingPlan& plan, const Progress& epoch) {
  return static_cast<double>(epoch.steps * plan.global_batch) / epoch.elapsed.count();
}

void print_times(const std::vector<ReplicaReport>& reports) {
  std::cout << fmt::format("# median of {} steps after the first, ms for each rank\n{:>4}",
                           std::max<std::size_t>(1, reports[0].steps.size() - 1), "rank");
  for (const Part& part : parts) std::cout << fmt::format("{:>14}", part.heading);
  std::cout << '\n';
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    std::cout << fmt::format("{:>4}", rank);
    for (const Part& part : parts) {
      std::cout << fmt::format("{:>14.3f}", median_ms(reports[rank], part));
    }
    std::cout << '\n';
  }
}

void print_results(const TrainingPlan& plan, const Samples& samples,
                   const std::vector<ReplicaReport>& reports) {
  std::cout << fmt::format("# {}, {} parameters; {}; {} workers, global batch {}, {} by {}\n",
                           plan.model.name, parameters_of(plan.model), samples.train.description,
                           reports.size(), plan.global_batch, plan.optimizer.name,
                           plan.optimizer.learning_rate);
  std::cout << fmt::format("{:>6}{:>12}{:>12}{:>12}\n", "epoch", "loss", "accuracy", "images/s");
  int number = 0;
  for (const Progress& epoch : reports[0].epochs) {
    std::cout << fmt::format("{:>6}{:>12.6f}{:>12.4f}{:>12.1f}\n", ++number, epoch.loss,
                             epoch.accuracy, images_per_second(plan, epoch));
  }
  std::cout << fmt::format("# accuracy on held-out samples: {:.4f}\n",
                           reports[0].held_out_accuracy);
  print_times(reports);
}

nlohmann::json to_json(const Settings& settings, const TrainingPlan& plan, const Samples& samples,
                       const std::vector<ReplicaReport>& reports) {
  nlohmann::json document{{"model", plan.model.name},
                          {"parameters", parameters_of(plan.model)},
                          {"strategy", settings.text("strategy")},
                          {"workers", reports.size()},
                          {"algorithm", settings.text("algo")},
                          {"engine", plan.engine},
                          {"datatype", to_string(plan.type)},
                          {"global_batch", plan.global_batch},
                          {"optimizer", plan.optimizer.name},
                          {"learning_rate", plan.optimizer.learning_rate},
                          {"momentum", plan.optimizer.momentum},
                          {"overlap", plan.overlap},
                          {"seed", plan.seed},
                          {"data", samples.train.description},
                          {"held_out_accuracy", reports[0].held_out_accuracy}};
  for (const Bucket& bucket : reports[0].buckets) {
    document["bucket_bytes"].push_back(bucket.count * size_of(plan.type));
  }
  for (const Progress& epoch : reports[0].epochs) {
    document["epochs"].push_back({{"steps", epoch.steps},
                                  {"loss", epoch.loss},
                                  {"accuracy", epoch.accuracy},
                                  {"images_per_second", images_per_second(plan, epoch)}});
  }
  for (const ReplicaReport& report : reports) {
    nlohmann::json rank;
    for (const Part& part : parts) {
      rank["median"][part.key] = median_ms(report, part);
      for (const StepTimes& step : report.steps) {
        rank["steps"][part.key].push_back((step.*part.time).count() * 1e3);
      }
    }
    document["ranks"].push_back(std::move(rank));
  }
  return document;
}

void write_json(const std::string& path, const nlohmann::json& document) {
  if (path == "-") {
    std::cout << document.dump(1) << '\n';
    return;
  }
  std::ofstream file(path);
  if (!file) throw Unavailable(fmt::format("cannot write the file '{}'", path));
  file << document.dump(1) << '\n';
  file.close();
  if (!file) throw Error(fmt::format("could not write '{}'", path));
}

int train_command(const CLI::App& app) {
  const Settings settings(app, rows, {});
  require(settings.text("strategy") == "mirrored",
          fmt::format("{}: unknown strategy '{}'. Strategies: mirrored", settings.label("strategy"),
                      settings.text("strategy")));
  const TrainingPlan plan = plan_of(settings);
  const int workers = static_cast<int>(count_of(settings, "workers", 1, 512));
  const std::string& json = settings.text("json");
  per_replica_batch(plan.global_batch, workers);
  const Samples samples = samples_of(settings, plan);
  ProgressLine line(use_progress(settings.text("progress")));
  const auto reports =
      train_mirrored(plan, workers, settings.text("algo"), samples.train, samples.held_out,
                     [&line](const Progress& now) {
                       line.show(fmt::format("step {}: loss {:.4f}, accuracy {:.3f}", now.steps,
                                             now.loss, now.accuracy));
                     });
  line.clear();
  if (json != "-") print_results(plan, samples, reports);
  if (!json.empty()) write_json(json, to_json(settings, plan, samples, reports));
  return exit_ok;
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("train", "train a small model on replicas, and time it");
  declare_options(*command, rows);
  command->allow_extras();
  command->callback([command, &action] { action = [command] { return train_command(*command); }; });
}

}  // namespace collbench
