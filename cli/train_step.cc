#include "cli/train_step.h"

#include <limits>

#include <fmt/format.h>

#include "bench/simulated/all_reduce_costs.h"
#include "bench/simulated/values.h"
#include "core/parse.h"

namespace collbench {
namespace {

Seconds time_of(const Settings& settings, const char* name) {
  const std::string& text = settings.text(name);
  return text == "0" ? Seconds{0} : parse_positive_duration(settings.label(name), text);
}

}  // namespace

StepCosts costs_of(const Settings& settings) {
  StepCosts result;
  result.per_tensor = time_of(settings, "per-tensor");
  result.per_bucket = time_of(settings, "per-bucket");
  result.crowding = parse_number(settings.label("crowding"), settings.text("crowding"));
  result.interference = parse_number(settings.label("interference"), settings.text("interference"));
  result.jitter = parse_number(settings.label("compute-jitter"), settings.text("compute-jitter"));
  result.seed = static_cast<std::uint64_t>(parse_count(
      settings.label("seed"), settings.text("seed"), 0, std::numeric_limits<std::int64_t>::max()));
  const SlowHosts slow = parse_slow_hosts(settings.text("slow-workers"));
  for (std::size_t i = 0; i < slow.hosts.size(); ++i) {
    result.slow_workers.emplace_back(slow.hosts[i], 1 / slow.factors[i]);
  }
  return result;
}

std::string simulated_algorithm(const Settings& settings) {
  return settings.given("algo") ? settings.text("algo") : "auto";
}

std::vector<std::string> price_buckets(const Settings& settings, StepModel& model) {
  AllReduceCosts network(settings.text("topo"), simulated_algorithm(settings), model.workers);
  const BucketTiming timing{
      .ready = ready_times(model.compute, model.tensors, model.costs.per_tensor),
      .launch = model.costs.per_bucket,
      .cost = [&](Bytes size) { return network.between(size); }};
  model.buckets =
      plan_buckets(settings.text("buckets"), model.tensors, model.element_bytes, timing);
  constexpr std::size_t most_exact = 64;  // plans with more buckets are priced between sizes
  std::vector<std::string> algorithms;
  for (const Bucket& bucket : model.buckets) {
    const Bytes size{bucket.count * model.element_bytes};
    const bool exact = model.buckets.size() <= most_exact;
    model.all_reduce.push_back(exact ? network.exact(size) : network.between(size));
    algorithms.push_back(network.played(size));
  }
  return algorithms;
}

std::string describe_buckets(const Settings& settings, const std::vector<std::string>& algorithms) {
  const bool named = !algorithms.empty() && !algorithms.back().empty();
  return fmt::format("{} bucket{} ({}), all-reduce {}", algorithms.size(),
                     algorithms.size() == 1 ? "" : "s", settings.text("buckets"),
                     named ? algorithms.front() : settings.text("algo"));
}

}  // namespace collbench
