#include "cli/train_simulated.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "bench/simulated/all_reduce_costs.h"
#include "bench/simulated/values.h"
#include "cli/train_options.h"
#include "core/error.h"
#include "core/plain_text.h"
#include "core/suggest.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/diagnosis/floors.h"
#include "topologies/specification.h"
#include "training/workloads/workload.h"

namespace collbench {
namespace {

Seconds time_of(const Settings& settings, const char* name) {
  const std::string& text = settings.text(name);
  return text == "0" ? Seconds{0} : settings.duration(name);
}

double share_of(const Settings& settings, const char* name, double otherwise) {
  if (!settings.given(name)) return otherwise;
  const double value = settings.number(name);
  require(value > 0 && value <= 1,
          fmt::format("{}: {} is not a share above 0 and at most 1", settings.label(name), value));
  return value;
}

bool uses_measured_times(const Settings& settings, const Workload& workload) {
  return workload.measured && !settings.given("device");
}

}  // namespace

std::string simulated_algorithm(const Settings& settings) {
  return settings.given("algo") ? settings.text("algo") : "auto";
}

std::int64_t worker_batch_of(const Settings& settings, const Workload& workload, int workers,
                             int accumulate) {
  if (settings.given("worker-batch")) return settings.count("worker-batch", 1, 1 << 30);
  if (!settings.given("batch")) {
    return uses_measured_times(settings, workload) ? workload.measured->batch : 32;
  }
  const std::int64_t own = per_replica_batch(settings.count("batch", 1), workers);
  require(own % accumulate == 0, fmt::format("{}: the {} samples of a worker do not divide by {}",
                                             settings.label("accumulate"), own, accumulate));
  return own / accumulate;
}

const ComputeDevice& device_of(const Settings& settings, int workers) {
  if (settings.given("device")) return find_compute_device(settings.text("device"));
  const std::string& topology = settings.text("topo");
  if (topology.empty()) return find_compute_device("v100");
  const Machine network = machine(topology, workers);
  for (const std::string& name : {lower_case(network.summary), lower_case(topology)}) {
    for (const ComputeDevice& device : compute_devices()) {
      const bool inside = device.name == "b200" && names_gpu(name, "gb200");
      if (inside || names_gpu(name, device.name)) return device;
    }
  }
  require(!network.costs.gpus && lower_case(network.summary).find("tpu") == std::string::npos,
          fmt::format("{}: no roofline of {} is known ({}); name a device, and give --step-time",
                      settings.label("device"), topology, network.summary));
  return find_compute_device("v100");
}

ComputeProfile compute_of(const Settings& settings, const Workload& workload, std::int64_t batch,
                          int workers, int micro_batches) {
  const auto by_roofline = [&] {
    ComputeShares shares;
    shares.compute = share_of(settings, "compute-share", shares.compute);
    shares.memory = share_of(settings, "memory-share", shares.memory);
    return roofline_profile(workload, device_of(settings, workers), shares, batch,
                            parse_data_type(settings.text("datatype")));
  };
  ComputeProfile profile =
      uses_measured_times(settings, workload) ? measured_profile(workload, batch) : by_roofline();
  if (settings.given("step-time")) {
    profile = scaled_to(std::move(profile), settings.duration("step-time"), micro_batches);
  }
  return profile;
}

void require_all_reduce(const Settings& settings) {
  require_known(settings.label("strategy"), settings.text("strategy"),
                {"mirrored", "multi-worker-mirrored"}, "strategy of a workload's steps");
}

StepCosts costs_of(const Settings& settings) {
  StepCosts result;
  result.per_tensor = time_of(settings, "per-tensor");
  result.per_bucket = time_of(settings, "per-bucket");
  result.crowding = settings.number("crowding");
  result.interference = settings.number("interference");
  result.jitter = settings.number("compute-jitter");
  result.seed = settings.seed();
  const SlowHosts slow = parse_slow_hosts(settings.text("slow-workers"));
  for (std::size_t i = 0; i < slow.hosts.size(); ++i) {
    result.slow_workers.emplace_back(slow.hosts[i], 1 / slow.factors[i]);
  }
  return result;
}

namespace {

/// Where workers that do not fill the nodes of a cluster sit.
void tell_seats_of_workers(const std::string& topology, int workers) {
  const Topology network = machine(topology, workers).topology;
  const std::string words = words_on_seats(network, workers, nodes_of(network.layout(), workers));
  if (!words.empty()) std::cerr << fmt::format("collbench: {}: {}\n", topology, words);
}

}  // namespace

std::vector<std::string> price_buckets(const Settings& settings, StepModel& model) {
  const bool shares = model.sharding != StateSharding::none;
  tell_seats_of_workers(settings.text("topo"), model.workers);
  require(!shares || settings.text("buckets") != "auto",
          fmt::format("{}: auto plans for all-reduces, and {} has none", settings.label("buckets"),
                      settings.label("sharding")));
  const auto costs = [&](CollectiveKind collective) {
    return AllReduceCosts(settings.text("topo"), simulated_algorithm(settings), model.workers,
                          collective);
  };
  AllReduceCosts network =
      costs(shares ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce);
  AllReduceCosts gathers = costs(CollectiveKind::all_gather);
  const BucketTiming timing{
      .ready = ready_times(model.compute, model.tensors, model.costs.per_tensor),
      .launch = model.costs.per_bucket,
      .cost = [&](Bytes size) {
        return network.between({size.count / model.element_bytes * model.wire_bytes});
      }};
  model.buckets =
      plan_buckets(settings.text("buckets"), model.tensors, model.element_bytes, timing);
  constexpr std::size_t most_exact = 64;  // plans with more buckets are priced between sizes
  std::vector<std::string> algorithms;
  const bool exact = model.buckets.size() <= most_exact;
  const auto price = [exact](AllReduceCosts& of, Bytes size) {
    return exact ? of.exact(size) : of.between(size);
  };
  for (const Bucket& bucket : model.buckets) {
    const Bytes size{bucket.count * model.wire_bytes};
    model.all_reduce.push_back(price(network, size));
    if (shares) {
      model.all_gather.push_back(price(gathers, {bucket.count * model.element_bytes}));
    }
    algorithms.push_back(network.played(size));
  }
  return algorithms;
}

std::string describe_buckets(const Settings& settings, const std::vector<std::string>& algorithms) {
  std::vector<std::pair<std::string, int>> counts;  // in the order of buckets
  for (const std::string& name : algorithms) {
    auto found = std::ranges::find(counts, name, &std::pair<std::string, int>::first);
    if (found == counts.end()) found = counts.insert(found, {name, 0});
    ++found->second;
  }
  std::string names;
  for (const auto& [name, count] : counts) {
    if (!names.empty()) names += "; ";
    names += name.empty() ? simulated_algorithm(settings) : name;
    if (counts.size() > 1) names += fmt::format(" for {}", count);
  }
  const bool shares = parse_state_sharding(settings.text("sharding")) != StateSharding::none;
  return fmt::format("{} ({}), {} {}", counted(std::ssize(algorithms), "bucket"),
                     settings.text("buckets"),
                     shares ? "reduce-scatter and all-gather" : "all-reduce", names);
}

}  // namespace collbench
