// `collbench train --model NAME --topo SPEC`: real training on simulated workers, and its loss over
// simulated time.
#include <algorithm>
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/train_options.h"
#include "cli/train_report.h"
#include "cli/train_runs.h"
#include "cli/train_simulated.h"
#include "core/error.h"
#include "core/json.h"
#include "core/plain_text.h"
#include "core/suggest.h"
#include "topologies/specification.h"
#include "training/simulated/step.h"
#include "training/simulated/training.h"
#include "training/workloads/workload_profile.h"

namespace collbench {
namespace {

constexpr const char* simulated_network =
    "Real training on a simulated network (--model with --topo)";

constexpr OptionRow training_network_rows[] = {
    {simulated_network, "compute-time", "", "TIME", "",
     "computing time of a worker's batch; default: by --device, or measured here"},
    {simulated_network, "points", "", "N", "20", "points of the loss curve"},
    {simulated_network, "curve", "", "FILE", "", "CSV of the loss over simulated time"},
};

/// The narrowest link between two hosts, and the latency of a message of that size.
ServerLink server_link(const Machine& machine, Host from, Host to, Bytes size) {
  std::vector<LinkId> route;
  machine.topology.route(from, to, route);
  require(!route.empty(), "a parameter server and a worker need hosts of their own");
  double rate = machine.topology.capacity(route.front());
  for (const LinkId link : route) rate = std::min(rate, machine.topology.capacity(link));
  const RouteSummary summary = summarize(machine.topology, route);
  const MessageCost cost =
      message_cost(machine.costs, nullptr, static_cast<double>(size.count), summary.level);
  if (cost.cap > 0) rate = std::min(rate, cost.cap);
  return {Bandwidth{rate / cost.wire_factor}, summary.latency + cost.latency};
}

/// What every worker and server can count on: the least rate and the longest latency of any pair.
ServerLink slowest_link(const Machine& machine, int workers, int servers, Bytes size) {
  ServerLink slowest = server_link(machine, 0, workers, size);
  for (Host worker = 0; worker < workers; ++worker) {
    for (Host server = workers; server < workers + servers; ++server) {
      const ServerLink link = server_link(machine, worker, server, size);
      slowest.rate.bytes_per_second =
          std::min(slowest.rate.bytes_per_second, link.rate.bytes_per_second);
      slowest.latency = std::max(slowest.latency, link.latency);
    }
  }
  return slowest;
}

/// What the curve needs to be read again.
struct NetworkRun {
  std::string strategy;
  std::string network;  // what was played, in words
  Workload workload;
  StepModel step;       // of asynchronous workers only what they compute
  SimulatedStep first;  // of mirrored
  std::vector<LossPoint> points;

  Seconds compute() const { return step.compute.forward() + step.compute.backward(); }
};

/// How long a worker computes: given, by a roofline, or measured here.
void time_workers(const Settings& settings, const TrainingPlan& plan, const Samples& samples,
                  NetworkRun& run) {
  constexpr int measured_steps = 9;
  StepModel& step = run.step;
  step.workers = settings.count("workers", 1, 4096);
  // A step of parameter servers is the work of one worker.
  const bool shares = run.strategy == "mirrored";
  const std::int64_t own = per_replica_batch(plan.global_batch, shares ? step.workers : 1);
  step.costs = costs_of(settings);
  check(step.costs, step.workers);
  if (settings.given("compute-time")) {  // a roofline says how layers share it
    run.workload = workload_of(plan.model);
    step.compute = roofline_profile(run.workload, device_of(settings, step.workers),
                                    ComputeShares(), own, DataType::f32);
    step.compute.optimizer = Seconds{0};
    step.compute = scaled_to(std::move(step.compute), settings.duration("compute-time"));
    return;
  }
  run.workload = settings.given("device")
                     ? workload_of(plan.model)
                     : measure_workload(plan, samples.train, own, measured_steps);
  step.compute = compute_of(settings, run.workload, own, step.workers);
}

void train_mirrored(const Settings& settings, const TrainingPlan& plan, const Samples& samples,
                    int points, NetworkRun& run) {
  StepModel& step = run.step;
  step.tensors = tensors_of(run.workload);
  step.element_bytes = step.wire_bytes = size_of(plan.type);
  step.overlap = plan.overlap;
  step.sharding = plan.state_sharding;
  const std::vector<std::string> algorithms = price_buckets(settings, step);
  run.first = simulate_step(step, slowness_of(step), 0);
  const StepTimes& times = run.first.times;
  run.network =
      fmt::format("{}\n# the first step takes {}: communication {}, of which {} is exposed",
                  describe_buckets(settings, algorithms), to_string(times.whole),
                  to_string(times.communication), to_string(times.exposed));
  run.points = train_simulated_mirrored(plan, step, samples.train, samples.held_out, points);
}

Machine machine_for(const std::string& topology, int workers, int servers) {
  machine(topology, workers);  // what else may be wrong with it
  try {
    return machine(topology, workers + servers);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(fmt::format("{} ({} and {} need a host each)", error.what(),
                                      counted(workers, "worker"),
                                      counted(servers, "parameter server")));
  }
}

void train_with_servers(const Settings& settings, const TrainingPlan& plan, const Samples& samples,
                        int points, NetworkRun& run) {
  for (const char* name : {"algo", "buckets", "no-overlap", "sharding", "per-tensor", "per-bucket",
                           "crowding", "interference", "trace"}) {
    require(!settings.given(name),
            fmt::format("{} is of steps with an all-reduce, and not for parameter-server",
                        settings.label(name)));
  }
  const StepModel& step = run.step;
  const Bytes size{parameters_of(plan.model) * size_of(plan.type)};
  const int servers = settings.count("servers", 1, 4096);
  const Machine network_of = machine_for(settings.text("topo"), step.workers, servers);
  const ServerLink link = slowest_link(network_of, step.workers, servers, size);
  run.network = fmt::format("{}, each with {} and {} to the farthest worker",
                            counted(servers, "parameter server"), to_string(link.rate),
                            to_string(link.latency));
  run.points =
      train_simulated_server(plan, step, servers, link, samples.train, samples.held_out, points);
}

NetworkRun train(const Settings& settings, const TrainingPlan& plan, const Samples& samples) {
  NetworkRun run;
  run.strategy = settings.text("strategy");
  require_known(settings.label("strategy"), run.strategy, {"mirrored", "parameter-server"},
                "strategy on a simulated network");
  for (const char* name : {"wire", "accumulate", "worker-batch", "step-time"}) {
    require(!settings.given(name),
            fmt::format("{} is for --workload: workers that really train on a simulated network "
                        "have --batch, --compute-time and --datatype",
                        settings.label(name)));
  }
  const int points = settings.count("points", 1, 100'000);
  time_workers(settings, plan, samples, run);
  const bool mirrored = run.strategy == "mirrored";
  (mirrored ? train_mirrored : train_with_servers)(settings, plan, samples, points, run);
  return run;
}

void print(const Settings& settings, const TrainingPlan& plan, const NetworkRun& run) {
  std::cout << fmt::format("# {}, {} parameters: {}, {} workers on {}, global batch {}\n",
                           plan.model.name, parameters_of(plan.model), run.strategy,
                           run.step.workers, settings.text("topo"), plan.global_batch);
  std::cout << fmt::format("# a worker computes {}, an update takes {}: {}\n# {}\n",
                           to_string(run.compute()), to_string(run.step.compute.optimizer),
                           run.step.compute.origin, run.network);
  std::cout << fmt::format("#{:>11} {:>8} {:>9} {:>9} {:>10} {:>9} {:>10}\n", "time", "updates",
                           "samples", "loss", "held-out", "accuracy", "staleness");
  for (const LossPoint& point : run.points) {
    std::cout << fmt::format(" {:>11} {:>8} {:>9} {:>9.4f} {:>10.4f} {:>9.4f} {:>10.2f}\n",
                             to_string(point.time), point.updates, point.samples, point.loss,
                             point.held_out_loss, point.held_out_accuracy, point.staleness);
  }
  std::cout << divergence_line(run.points.back().held_out_loss);
}

nlohmann::ordered_json document_of(const Settings& settings, const TrainingPlan& plan,
                                   const NetworkRun& run) {
  nlohmann::ordered_json document = {{"model", plan.model.name},
                                     {"strategy", run.strategy},
                                     {"topology", settings.text("topo")},
                                     {"network", run.network},
                                     {"workers", run.step.workers},
                                     {"global_batch", plan.global_batch},
                                     {"compute_ms", run.compute().count() * 1e3},
                                     {"computing", run.step.compute.origin},
                                     {"seed", plan.seed}};
  if (!run.step.buckets.empty()) {
    const StepTimes& times = run.first.times;
    document["buckets"] = run.step.buckets.size();
    document["overlap"] = run.step.overlap;
    document["first_step_ms"] = times.whole.count() * 1e3;
    document["communication_ms"] = times.communication.count() * 1e3;
    document["exposed_communication_ms"] = times.exposed.count() * 1e3;
  }
  for (const LossPoint& point : run.points) {
    document["points"].push_back({{"time_s", point.time.count()},
                                  {"updates", point.updates},
                                  {"samples", point.samples},
                                  {"loss", point.loss},
                                  {"held_out_loss", point.held_out_loss},
                                  {"held_out_accuracy", point.held_out_accuracy},
                                  {"staleness", point.staleness}});
  }
  return document;
}

void write_curve(std::ostream& out, const NetworkRun& run) {
  out << "time_s,updates,samples,loss,held_out_loss,held_out_accuracy,staleness\n";
  for (const LossPoint& point : run.points) {
    out << fmt::format("{:.9g},{},{},{:.6g},{:.6g},{:.6g},{:.4g}\n", point.time.count(),
                       point.updates, point.samples, point.loss, point.held_out_loss,
                       point.held_out_accuracy, point.staleness);
  }
}

}  // namespace

std::span<const OptionRow> network_option_rows() { return training_network_rows; }

int train_on_network(const Settings& settings) {
  require_writable(settings, {"json", "curve", "trace"});
  const TrainingPlan plan = plan_of(settings);
  const Samples samples = samples_of(settings, plan);
  const NetworkRun run = train(settings, plan, samples);
  if (settings.text("json") != "-") print(settings, plan, run);
  write_output(settings.text("json"), [&](std::ostream& out) {
    out << json_text(document_of(settings, plan, run), 1) << '\n';
  });
  write_output(settings.text("curve"), [&](std::ostream& out) { write_curve(out, run); });
  write_output(settings.text("trace"), [&](std::ostream& out) {
    write_step_trace(out, run.workload, run.step, run.first);
  });
  return exit_ok;
}

}  // namespace collbench
