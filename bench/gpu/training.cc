// Steps of training on GPUs by the engine of cuDNN: collbench_gpu_training FILE.json
//
// One replica, as PyTorch has it in torch_step.py beside this file, and several on one GPU with an
// all-reduce between them. Medians over all steps but the first ones, in which libraries load and
// graphs are captured.
#include <algorithm>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "training/mirrored.h"

namespace collbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t first_steps = 10;

double median_us(const std::vector<StepTimes>& steps, Seconds StepTimes::*part) {
  std::vector<double> values;
  for (std::size_t i = first_steps; i < steps.size(); ++i) {
    values.push_back((steps[i].*part).count() * 1e6);
  }
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Json measure(const std::string& model, int replicas, std::int64_t batch, std::int64_t steps) {
  TrainingPlan plan;
  plan.model = make_model(model);
  plan.optimizer = {plan.model.optimizer, plan.model.learning_rate, 0};
  plan.engine = "cudnn";
  plan.global_batch = batch;
  plan.steps = steps;
  const Dataset data =
      synthetic_dataset(plan.model.input, plan.model.classes, 40 * batch, 1, "train");
  const std::vector<ReplicaReport> reports = train_mirrored(plan, replicas, "auto", data, {});
  const std::vector<StepTimes>& times = reports[0].steps;
  return {{"model", model},
          {"replicas", replicas},
          {"global_batch", batch},
          {"steps", times.size() - first_steps},
          {"step_us", median_us(times, &StepTimes::whole)},
          {"forward_us", median_us(times, &StepTimes::forward)},
          {"backward_us", median_us(times, &StepTimes::backward)},
          {"communication_us", median_us(times, &StepTimes::communication)},
          {"exposed_us", median_us(times, &StepTimes::exposed)},
          {"optimizer_us", median_us(times, &StepTimes::optimizer)},
          {"checks_us", median_us(times, &StepTimes::checks)},
          {"last_loss", reports[0].epochs.back().loss},
          {"replicas_equal", reports.front().parameters == reports.back().parameters}};
}

void run(const std::string& file) {
  Json rows = Json::array();
  for (const int replicas : {1, 2, 4}) {
    for (const char* model : {"mnist-cnn", "resnet56"}) {
      Json row = measure(model, replicas, 64, model[0] == 'm' ? 200 : 60);
      std::cout << row.dump() << std::endl;
      rows.push_back(std::move(row));
      std::ofstream(file) << rows.dump(1) << '\n';
    }
  }
}

}  // namespace
}  // namespace collbench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: collbench_gpu_training FILE.json\n";
    return 2;
  }
  try {
    collbench::run(argv[1]);
    return 0;
  } catch (const collbench::Unavailable& error) {
    std::cerr << "collbench_gpu_training: " << error.what() << '\n';
    return 4;
  } catch (const std::exception& error) {
    std::cerr << "collbench_gpu_training: " << error.what() << '\n';
    return 5;
  }
}
