// `collbench algos order`: in which order sums are taken, and which orders an observed result has.
#include <algorithm>
#include <iostream>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "algorithms/resolve.h"
#include "algorithms/verify.h"
#include "bench/measure/observation.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/run_options.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

constexpr OptionRow rows[] = {
    {arguments_group, "NAME", "", "NAME", "", "the algorithm, with options as in ring:segments=2"},
    {options_group, "workers", "W", "N", "4", "number of workers"},
    {options_group, "channels", "", "N", "1",
     "channels of ring and double-tree, all workers on one node"},
    {options_group, "collective", "", "NAME", "all-reduce", "all-reduce, reduce-scatter or reduce"},
    {options_group, "root", "r", "N", "0", "root rank of a reduce"},
    {options_group, "count", "", "N", "1000", "elements of the vector"},
    {options_group, "datatype", "d", "TYPE", "f32",
     "type of the elements; chunks end at cache lines"},
    {options_group, "observed", "", "FILE", "",
     "say which orders give these sums; 'run --observe' writes such a file"},
};

AlgorithmSpec spec_of(const Settings& settings, int ranks) {
  AlgorithmSpec spec = parse_algorithm_spec(settings.text("NAME"));
  const int channels = settings.count("channels", 1, 64);
  if (channels == 1) return spec;
  spec.options["channels"] = std::to_string(channels);
  spec.options.emplace("node", std::to_string(ranks));
  return spec;
}

int print_orders(const Settings& settings) {
  const int ranks = settings.count("workers", 1, 2048);  // a ring's proof takes 1.3 GB
  const AlgorithmSpec spec = spec_of(settings, ranks);
  const DataType type = parse_data_type(settings.text("datatype"));
  const std::int64_t count = settings.count("count", 1, 1 << 30);
  const Bytes bytes{count * size_of(type)};
  const Collective collective = rooted_asked(settings);
  const Schedule schedule = make_schedule(spec, ranks, bytes, collective);
  const std::vector<AdditionOrder> orders = addition_orders(schedule, collective);
  const bool is_everywhere =
      collective.kind != CollectiveKind::all_reduce || is_replica_consistent(spec);
  std::cout << fmt::format("{}: {} workers, {} {}; numbers are ranks, [a+b+c] is one fold{}\n",
                           to_string(spec), ranks, count, to_string(type),
                           is_everywhere ? "" : "; rank 0's order, others may differ");
  const Partition& partition = schedule.partition();
  for (int chunk = 0; chunk < schedule.chunks();) {
    int last = chunk;
    while (last + 1 < schedule.chunks() && orders[last + 1] == orders[chunk]) ++last;
    const std::int64_t first = partition(chunk, count, size_of(type));
    const std::int64_t end = partition(last + 1, count, size_of(type));
    if (first < end) {
      std::cout << fmt::format("elements {:>7} to {:<7}  {}\n", first, end - 1,
                               to_string(orders[chunk]));
    }
    chunk = last + 1;
  }
  return exit_ok;
}

// What stays the same bit by bit when something else changes.
void print_what_keeps_bits(const std::vector<Agreement>& agreeing) {
  std::cout << "what keeps these bits:\n"
               "  another number of workers: nothing; other terms are added\n";
  const bool anywhere = std::ranges::any_of(agreeing, &Agreement::one_order);
  std::cout << (anywhere ? "  other buckets: all do; every element is added in the same order\n"
                         : "  other buckets: those that leave an element in the same share; the "
                           "order depends on its place\n");
  std::cout << "  another algorithm: those that are listed above, and no other that is known\n";
}

int judge_observed(const std::string& path) {
  Observation observed;
  try {
    observed = read_observation(read_file(path));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(about_file(path, error.what()));
  }
  const auto count = static_cast<std::int64_t>(observed.values.size());
  std::cout << fmt::format("{} {} of {} workers, seed {}\n", count, to_string(observed.type),
                           observed.ranks, observed.seed);
  std::set<AdditionOrder> orders;
  const std::vector<Agreement> found = judge_orders(observed, &orders);
  std::vector<Agreement> agreeing;
  for (const Agreement& each : found) {
    if (each.agreeing < count) break;
    std::cout << fmt::format("agrees everywhere: {}\n", each.algorithm);
    agreeing.push_back(each);
  }
  if (!agreeing.empty()) {
    print_what_keeps_bits(agreeing);
    return exit_ok;
  }
  std::cout << "no known algorithm agrees everywhere; the nearest:\n";
  for (std::size_t i = 0; i < found.size() && i < 3; ++i) {
    std::cout << fmt::format("  {:<24} {} of {} elements, not element {}\n", found[i].algorithm,
                             found[i].agreeing, count, found[i].first_unlike);
  }
  constexpr std::size_t most_shown = 64;
  const std::vector<OrderRun> runs = explain_by_element(observed, std::move(orders));
  std::cout << "element by element:\n";
  for (std::size_t i = 0; i < runs.size() && i < most_shown; ++i) {
    const OrderRun& run = runs[i];
    std::cout << fmt::format(
        "elements {:>7} to {:<7}  {}{}\n", run.first, run.first + run.count - 1,
        run.orders.empty() ? "no known order" : to_string(run.orders.front()),
        run.orders.size() > 1 ? fmt::format(" or {}", counted(std::ssize(run.orders) - 1, "other"))
                              : "");
  }
  if (runs.size() > most_shown) std::cout << fmt::format("... {} runs\n", runs.size());
  return exit_ok;
}

}  // namespace

std::span<const OptionRow> order_rows() { return rows; }

int show_orders(const Settings& settings) {
  const std::string& observed = settings.text("observed");
  require(observed.empty() == settings.given("NAME"),
          observed.empty() ? "algos order: name an algorithm, or --observed FILE"
                           : "algos order: --observed looks for the algorithm; leave the name out");
  return observed.empty() ? print_orders(settings) : judge_observed(observed);
}

}  // namespace collbench
