#include "cli/train_on_network.h"

#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/all_reduce_costs.h"
#include "bench/simulated_values.h"
#include "cli/exit_code.h"
#include "cli/train_options.h"
#include "cli/values.h"
#include "core/error.h"
#include "core/suggest.h"
#include "topologies/specification.h"
#include "training/simulated_step.h"
#include "training/simulated_training.h"

namespace collbench {
namespace {

constexpr const char* network = "Real training on a simulated network (--model with --topo)";

constexpr OptionRow rows[] = {
    {network, "compute-time", "", "TIME", "", "of a worker's batch; measured here by default"},
    {network, "points", "", "N", "20", "of the curve of the loss"},
    {network, "curve", "", "FILE", "", "CSV of the loss over simulated time"},
};

/// The narrowest link between two hosts, and the latency of a message.
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

/// What the curve needs to be read again.
struct Run {
  std::string strategy;
  std::string network;  // what was played, in words
  SimulatedWorkers workers;
  bool measured = false;
  std::vector<LossPoint> points;
};

SimulatedWorkers workers_of(const Settings& settings, const TrainingPlan& plan,
                            const Samples& samples, bool& measured) {
  SimulatedWorkers workers;
  workers.workers = static_cast<int>(count_of(settings, "workers", 1, 4096));
  const std::int64_t own = per_replica_batch(plan.global_batch, workers.workers);
  workers.jitter = parse_number(settings.label("compute-jitter"), settings.text("compute-jitter"));
  const SlowHosts slow = parse_slow_hosts(settings.text("slow-workers"));
  for (std::size_t i = 0; i < slow.hosts.size(); ++i) {
    workers.slow_workers.emplace_back(slow.hosts[i], 1 / slow.factors[i]);
  }
  StepCosts limits;
  limits.jitter = workers.jitter;
  limits.slow_workers = workers.slow_workers;
  check(limits, workers.workers);
  measured = !settings.given("compute-time");
  if (measured) {
    const MeasuredCompute times = measure_compute(plan, samples.train, own);
    workers.compute = times.compute;
    workers.update = times.update;
  } else {
    workers.compute = parse_duration(settings.label("compute-time"), settings.text("compute-time"));
  }
  return workers;
}

Run train(const Settings& settings, const TrainingPlan& plan, const Samples& samples) {
  Run run;
  run.strategy = settings.text("strategy");
  const std::vector<std::string> known{"mirrored", "parameter-server"};
  require(std::find(known.begin(), known.end(), run.strategy) != known.end(),
          fmt::format("{}: on a simulated network there are mirrored and parameter-server, not "
                      "'{}'.{}",
                      settings.label("strategy"), run.strategy, did_you_mean(run.strategy, known)));
  run.workers = workers_of(settings, plan, samples, run.measured);
  const std::string& topology = settings.text("topo");
  const int points = static_cast<int>(count_of(settings, "points", 1, 100'000));
  const Bytes size{parameters_of(plan.model) * size_of(plan.type)};
  if (run.strategy == "mirrored") {
    AllReduceCosts costs(topology, settings.given("algo") ? settings.text("algo") : "auto",
                         run.workers.workers);
    const Seconds all_reduce = costs.exact(size);
    run.network = fmt::format("all-reduce of {} by {}: {}", to_string(size), costs.played(size),
                              to_string(all_reduce));
    run.points = train_simulated_mirrored(plan, run.workers, all_reduce, samples.train,
                                          samples.held_out, points);
    return run;
  }
  const int servers = static_cast<int>(count_of(settings, "servers", 1, 4096));
  const Machine network_of = machine(topology, run.workers.workers + servers);
  const ServerLink link = server_link(network_of, 0, run.workers.workers, size);
  run.network = fmt::format("{} parameter server{}, each with {} and {}", servers,
                            servers == 1 ? "" : "s", to_string(link.rate), to_string(link.latency));
  run.points = train_simulated_server(plan, run.workers, servers, link, samples.train,
                                      samples.held_out, points);
  return run;
}

void print(const Settings& settings, const TrainingPlan& plan, const Run& run) {
  std::cout << fmt::format("# {}, {} parameters: {}, {} workers on {}, global batch {}\n",
                           plan.model.name, parameters_of(plan.model), run.strategy,
                           run.workers.workers, settings.text("topo"), plan.global_batch);
  std::cout << fmt::format("# a worker computes {} ({}), an update takes {}; {}\n",
                           to_string(run.workers.compute), run.measured ? "measured here" : "given",
                           to_string(run.workers.update), run.network);
  std::cout << fmt::format("#{:>11} {:>8} {:>9} {:>9} {:>10} {:>9} {:>10}\n", "time", "updates",
                           "samples", "loss", "held-out", "accuracy", "staleness");
  for (const LossPoint& point : run.points) {
    std::cout << fmt::format(" {:>11} {:>8} {:>9} {:>9.4f} {:>10.4f} {:>9.4f} {:>10.2f}\n",
                             to_string(point.time), point.updates, point.samples, point.loss,
                             point.held_out_loss, point.held_out_accuracy, point.staleness);
  }
}

nlohmann::ordered_json document_of(const Settings& settings, const TrainingPlan& plan,
                                   const Run& run) {
  nlohmann::ordered_json document = {{"model", plan.model.name},
                                     {"strategy", run.strategy},
                                     {"topology", settings.text("topo")},
                                     {"network", run.network},
                                     {"workers", run.workers.workers},
                                     {"global_batch", plan.global_batch},
                                     {"compute_ms", run.workers.compute.count() * 1e3},
                                     {"compute_measured", run.measured},
                                     {"seed", plan.seed}};
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

void write_curve(std::ostream& out, const Run& run) {
  out << "time_s,updates,samples,loss,held_out_loss,held_out_accuracy,staleness\n";
  for (const LossPoint& point : run.points) {
    out << fmt::format("{:.9g},{},{},{:.6g},{:.6g},{:.6g},{:.4g}\n", point.time.count(),
                       point.updates, point.samples, point.loss, point.held_out_loss,
                       point.held_out_accuracy, point.staleness);
  }
}

}  // namespace

std::span<const OptionRow> network_option_rows() { return rows; }

int train_on_network(const Settings& settings) {
  const TrainingPlan plan = plan_of(settings);
  const Samples samples = samples_of(settings, plan);
  const Run run = train(settings, plan, samples);
  const std::string& json = settings.text("json");
  if (json == "-") {
    std::cout << document_of(settings, plan, run).dump(1) << '\n';
  } else {
    print(settings, plan, run);
  }
  const auto write = [](const std::string& path, const auto& writer) {
    std::ofstream file(path);
    if (!file) throw Unavailable(fmt::format("cannot write the file '{}'", path));
    writer(file);
    file.close();
    if (!file) throw Error(fmt::format("could not write '{}'", path));
  };
  if (!json.empty() && json != "-") {
    write(json,
          [&](std::ostream& out) { out << document_of(settings, plan, run).dump(1) << '\n'; });
  }
  if (const std::string& curve = settings.text("curve"); !curve.empty()) {
    write(curve, [&](std::ostream& out) { write_curve(out, run); });
  }
  return exit_ok;
}

}  // namespace collbench
