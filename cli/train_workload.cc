// `collbench train --workload NAME --topo SPEC`: steps of a table of layers in simulated time.
#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/train_options.h"
#include "cli/train_report.h"
#include "cli/train_runs.h"
#include "cli/train_simulated.h"
#include "core/error.h"
#include "core/json.h"
#include "topologies/specification.h"
#include "training/simulated/step.h"
#include "training/workloads/workload.h"

namespace collbench {
namespace {

constexpr const char* work = "Workloads (steps are timed, not computed)";
constexpr const char* costs = "Costs of a simulated step";

constexpr OptionRow workload_rows[] = {
    {work, "workload", "", "NAME", "",
     "a table of layers: resnet50, bert-large-s128, ... or a file"},
    {work, "list-workloads", "", "", "", "list the shipped tables and devices"},
    {work, "topo", "t", "SPEC", "",
     "simulate it on this network ('collbench topo list'); otherwise all-reduces are real"},
    {work, "worker-batch", "", "N", "",
     "samples of a worker and micro-batch, instead of --batch; where neither is given those that "
     "the table's times are of, else 32"},
    {work, "accumulate", "", "N", "1", "micro-batches of a step; the last one communicates"},
    {work, "device", "", "NAME", "",
     "device whose roofline gives computing times; default: that of --topo, or v100"},
    {work, "step-time", "", "TIME", "",
     "one worker's measured step (all micro-batches) without all-reduce; scales computing times"},
    {work, "draws", "", "N", "25", "steps to simulate with --compute-jitter"},
    {work, "profile", "", "FILE", "", "time the layers of --model and write them as a workload"},
    {work, "trace", "", "FILE", "", "write a trace of one step for ui.perfetto.dev"},

    {costs, "per-tensor", "", "TIME", "0", "added to the backward pass for each tensor"},
    {costs, "per-bucket", "", "TIME", "0", "added to the backward pass for each bucket"},
    {costs, "crowding", "", "X", "0", "computing takes 1 + X times as long beside other workers"},
    {costs, "interference", "", "X", "0",
     "computing beside an all-reduce takes 1 + X times as long"},
    {costs, "compute-jitter", "", "X", "0", "spread of each worker's computing, from --seed"},
    {costs, "slow-workers", "", "R:X,..", "", "worker R computes with X of the speed"},
    {costs, "compute-share", "", "X", "", "share of the device's flops that is reached"},
    {costs, "memory-share", "", "X", "", "share of its memory bandwidth that is reached"},
};

constexpr StepPart simulated_parts[] = {
    {"forward_ms", "forward", &StepTimes::forward},
    {"backward_ms", "backward", &StepTimes::backward},
    {"optimizer_ms", "optimizer", &StepTimes::optimizer},
    {"communication_ms", "communication", &StepTimes::communication},
    {"exposed_communication_ms", "exposed communication", &StepTimes::exposed},
    {"waiting_ms", "waiting, mean", &StepTimes::waiting},
    {"step_ms", "step", &StepTimes::whole}};

int workers_of(const Settings& settings) {
  const std::string& topology = settings.text("topo");
  if (settings.given("workers")) return settings.count("workers", 1, 1 << 20);
  return machine(topology).topology.hosts();
}

/// Adam by default, whatever the workload.
OptimizerSpec optimizer_of(const Settings& settings) {
  const OptimizerSpec optimizer{settings.given("optimizer") ? settings.text("optimizer") : "adam",
                                1, settings.number("momentum")};
  check(optimizer);
  return optimizer;
}

/// Of worker 0; parameters, and what the optimizer remembers, are of the data type.
TrainingMemory memory_of(const OptimizerSpec& optimizer, const StepModel& model) {
  return expected_memory({.sharding = model.sharding,
                          .tensors = model.tensors,
                          .buckets = model.buckets,
                          .ranks = model.workers,
                          .element_bytes = model.element_bytes,
                          .wire_bytes = model.wire_bytes,
                          .slots = static_cast<int>(slot_names(optimizer).size()),
                          .overlap = model.overlap,
                          .accumulate = model.accumulate});
}

/// What was played, and what came of it: the step with the median time.
struct PlayedStep {
  Workload workload;
  StepModel model;
  std::int64_t batch = 0;               // of a worker and micro-batch
  std::vector<SimulatedStep> steps;     // by time
  std::vector<std::string> algorithms;  // of each bucket
  TrainingMemory memory;

  const SimulatedStep& median() const { return steps[steps.size() / 2]; }
  double samples() const { return static_cast<double>(batch) * model.accumulate * model.workers; }
  double throughput() const { return samples() / median().times.whole.count(); }
  double efficiency() const { return model.alone() / median().times.whole; }
};

PlayedStep play(const Settings& settings) {
  require_all_reduce(settings);
  const OptimizerSpec optimizer = optimizer_of(settings);
  const DataType type = parse_data_type(settings.text("datatype"));
  const bool whole = type == DataType::i32 || type == DataType::i64 || type == DataType::u8;
  require(!whole, fmt::format("{}: gradients are no whole numbers", settings.label("datatype")));
  PlayedStep played;
  played.workload = find_workload(settings.text("workload"));
  StepModel& model = played.model;
  model.workers = workers_of(settings);
  model.accumulate = settings.count("accumulate", 1, 1 << 20);
  played.batch = worker_batch_of(settings, played.workload, model.workers, model.accumulate);
  model.compute =
      compute_of(settings, played.workload, played.batch, model.workers, model.accumulate);
  model.costs = costs_of(settings);
  check(model.costs, model.workers);
  model.sharding = parse_state_sharding(settings.text("sharding"));
  model.overlap = !settings.flag("no-overlap");
  model.tensors = tensors_of(played.workload);
  model.element_bytes = size_of(type);
  model.wire_bytes = size_of(settings.given("wire") ? wire_type(type, wire_of(settings)) : type);
  played.algorithms = price_buckets(settings, model);
  played.memory = memory_of(optimizer, model);
  const bool draws = model.costs.jitter > 0;
  played.steps = simulate_steps(model, draws ? settings.count("draws", 1, 100'000) : 1);
  std::stable_sort(played.steps.begin(), played.steps.end(),
                   [](const auto& a, const auto& b) { return a.times.whole < b.times.whole; });
  return played;
}

/// Why a step is shorter than that of one worker alone.
const char* why_above_one(const StepModel& model) {
  return model.sharding == StateSharding::none
             ? "above 100 %: the jitter made this step shorter"
             : "above 100 %: one worker alone updates all parameters, each of several a share";
}

void print(const Settings& settings, const PlayedStep& played) {
  const StepModel& model = played.model;
  const SimulatedStep& step = played.median();
  std::cout << fmt::format(
      "# {}: {} parameters, {} tensors; {} workers on {}, batch {} each{}\n", played.workload.name,
      played.workload.parameters(), model.tensors.size(), model.workers, settings.text("topo"),
      played.batch,
      model.accumulate > 1 ? fmt::format(", {} micro-batches", model.accumulate) : "");
  std::cout << fmt::format("# computing: {}; one worker alone takes {}\n", model.compute.origin,
                           to_string(model.alone()));
  std::cout << fmt::format("# {}\n", describe_buckets(settings, played.algorithms));
  for (const StepPart& part : simulated_parts) {
    std::cout << fmt::format(" {:<24}{:>12.3f} ms\n", part.heading,
                             (step.times.*part.time).count() * 1e3);
  }
  if (played.steps.size() > 1) {
    std::cout << fmt::format(" {:<24}{:>12} {:.3f} to {:.3f} ms, {} steps\n", "step, quartiles", "",
                             played.steps[played.steps.size() / 4].times.whole.count() * 1e3,
                             played.steps[played.steps.size() * 3 / 4].times.whole.count() * 1e3,
                             played.steps.size());
  }
  std::cout << fmt::format(" {:<24}{:>12.1f} samples/s\n", "throughput", played.throughput());
  std::cout << fmt::format(" {:<24}{:>12.2f} %\n", "scaling efficiency", played.efficiency() * 100);
  constexpr double shown_as_one = 1.00005;
  if (played.efficiency() >= shown_as_one) std::cout << fmt::format("# {}\n", why_above_one(model));
  const TrainingMemory& memory = played.memory;
  const auto gib = [](Bytes size) { return static_cast<double>(size.count) / (1 << 30); };
  std::cout << fmt::format(
      " {:<24}{:>12.3f} GiB: parameters {:.3f}, gradients {:.3f}, optimizer {:.3f}, buffers "
      "{:.3f}\n",
      "vectors of a worker", gib(memory.all()), gib(memory.parameters), gib(memory.gradients),
      gib(memory.optimizer), gib(memory.buffers));
}

nlohmann::ordered_json document_of(const Settings& settings, const PlayedStep& played) {
  const auto ms = [](Seconds time) { return time.count() * 1e3; };
  const StepModel& model = played.model;
  nlohmann::ordered_json document = {{"workload", played.workload.name},
                                     {"parameters", played.workload.parameters()},
                                     {"topology", settings.text("topo")},
                                     {"workers", model.workers},
                                     {"worker_batch", played.batch},
                                     {"accumulate", model.accumulate},
                                     {"algorithm", simulated_algorithm(settings)},
                                     {"bucket_rule", settings.text("buckets")},
                                     {"overlap", model.overlap},
                                     {"element_bytes", model.element_bytes},
                                     {"wire_bytes", model.wire_bytes},
                                     {"computing", model.compute.origin},
                                     {"costs",
                                      {{"per_tensor_us", model.costs.per_tensor.count() * 1e6},
                                       {"per_bucket_us", model.costs.per_bucket.count() * 1e6},
                                       {"crowding", model.costs.crowding},
                                       {"interference", model.costs.interference},
                                       {"jitter", model.costs.jitter},
                                       {"seed", model.costs.seed}}},
                                     {"alone_ms", ms(model.alone())}};
  for (const StepPart& part : simulated_parts) {
    document[part.key] = ms(played.median().times.*part.time);
  }
  document["sharding"] = to_string(model.sharding);
  for (const MemoryPart& part : memory_parts()) {
    document["memory"][part.key] = (played.memory.*part.size).count;
  }
  for (const GatherSpan& gather : played.median().gathers) {
    document["gathers"].push_back({{"bucket", gather.bucket},
                                   {"bytes", gather.span.bytes.count},
                                   {"ready_ms", ms(gather.span.ready)},
                                   {"start_ms", ms(gather.span.start)},
                                   {"end_ms", ms(gather.span.end)}});
  }
  document["samples_per_second"] = played.throughput();
  document["scaling_efficiency"] = played.efficiency();
  document["buckets"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < model.buckets.size(); ++i) {
    const BucketSpan& span = played.median().buckets[i];
    document["buckets"].push_back({{"bytes", span.bytes.count},
                                   {"algorithm", played.algorithms[i]},
                                   {"ready_ms", ms(span.ready)},
                                   {"start_ms", ms(span.start)},
                                   {"end_ms", ms(span.end)}});
  }
  for (const SimulatedStep& step : played.steps) {
    document["steps_ms"].push_back(ms(step.times.whole));
  }
  return document;
}

void list_workloads() {
  std::cout << fmt::format("{:<18}{:>16}{:>9}{:>18}  {}\n", "workload", "parameters", "tensors",
                           "forward Gflops", "sample");
  for (const std::string& name : shipped_workloads()) {
    const Workload workload = find_workload(name);
    std::cout << fmt::format("{:<18}{:>16}{:>9}{:>18.3f}  {}\n", name, workload.parameters(),
                             tensors_of(workload).size(), workload.forward_flops() * 1e-9,
                             workload.sample);
  }
  std::cout << '\n'
            << fmt::format("{:<18}{:>16}{:>16}{:>14}  {}\n", "device", "f32 Tflops/s",
                           "f16 Tflops/s", "memory GB/s", "source");
  for (const ComputeDevice& device : compute_devices()) {
    std::cout << fmt::format("{:<18}{:>16.1f}{:>16.1f}{:>14.0f}  {}\n", device.name,
                             device.flops_f32 * 1e-12, device.flops_f16 * 1e-12,
                             device.memory_bandwidth * 1e-9, device.source);
  }
}

}  // namespace

std::span<const OptionRow> workload_option_rows() { return workload_rows; }

bool asks_for_workload(const Settings& settings) {
  return settings.flag("list-workloads") || settings.given("workload") || settings.given("profile");
}

int train_workload(const Settings& settings) {
  if (settings.flag("list-workloads")) {
    list_workloads();
    return exit_ok;
  }
  if (settings.given("profile")) return write_profile(settings);
  if (!settings.given("topo")) return train_replay(settings);
  require_writable(settings, {"json", "trace"});
  const PlayedStep played = play(settings);
  if (settings.text("json") != "-") print(settings, played);
  write_output(settings.text("trace"), [&](std::ostream& out) {
    write_step_trace(out, played.workload, played.model, played.median());
  });
  write_output(settings.text("json"), [&](std::ostream& out) {
    out << json_text(document_of(settings, played), 1) << '\n';
  });
  return exit_ok;
}

}  // namespace collbench
