#include "bench/measure/sweep.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/nccl/settings.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

constexpr std::size_t most_sizes = 100'000;

const Backend& resolve_backend(const std::string& wanted, const std::string& algorithm) {
  if (const Backend* library = black_box(algorithm)) {
    if (library->on_gpus) parse_nccl_settings(algorithm);
    require(wanted == "auto" || wanted == library->name,
            fmt::format("algorithm '{0}' is a back end of its own; it cannot run on back end {1}. "
                        "Name others beside it as in ring@{1},{0}, without --backend",
                        library->name, wanted));
    return *library;
  }
  if (wanted == "auto" || wanted == "threads") return usual_backend();
  const Backend& backend = find_backend(wanted);
  require(
      !backend.is_black_box() || algorithm == "auto",
      fmt::format("back end '{0}' plays no schedules, it has its own algorithms; use --algo {0}",
                  wanted));
  return backend;
}

/// Of "grpc-tcp" the back end and its transport; of other words there is no transport.
std::pair<std::string, std::string> split_transport(const std::string& wanted) {
  for (const Backend& backend : backends()) {
    for (const std::string& transport : backend.transports) {
      if (wanted == backend.name + "-" + transport) return {backend.name, transport};
    }
  }
  return {wanted, ""};
}

/// The case without its size, proven possible. `apart`: its back end was named with it, so that
/// what is asked for all cases need not suit this one.
Case resolve(const Sweep& sweep, const std::string& algorithm, const std::string& place,
             int workers, bool apart) {
  Case point = sweep.common;
  const auto [wanted, transport] = split_transport(place);
  const Backend& backend = resolve_backend(
      wanted == "auto" && black_box(algorithm) == nullptr ? sweep.usual : wanted, algorithm);
  point.algorithm = algorithm;
  point.backend = backend.name;
  point.workers = workers;
  require(point.root < group_size(point),
          fmt::format("the root of a {} must be one of {} workers, not {}",
                      to_string(point.collective), group_size(point), point.root));
  point.transport = !transport.empty()                        ? transport
                    : backend.transport_option == "transport" ? sweep.common.transport
                    : backend.transport_option == "executor"  ? sweep.executor
                                                              : "";
  if (!backend.takes_devices) point.devices.clear();
  // Black boxes beside isolated workers decide for themselves, and so do back ends whose workers
  // are processes anyway.
  const bool is_library = black_box(algorithm) != nullptr;
  if (backend.is_black_box() || is_library || (apart && !backend.isolates)) {
    point.isolate = point.private_buffers = false;
  }
  const Collective collective = collective_of(point);
  if (algorithm == "auto" && backend.is_black_box()) point.algorithm = point.backend;
  if (algorithm != "auto" && black_box(point.algorithm) == nullptr) {
    make_schedule(parse_algorithm_spec(algorithm), group_size(point), sweep.first, collective);
  }
  return point;
}

}  // namespace

std::vector<std::string> names_that_fit(const std::function<void(const AlgorithmSpec&)>& make) {
  std::vector<std::string> names;
  for (const AlgorithmInfo& info : algorithms()) {
    try {
      make({std::string(info.name), {}});
      names.emplace_back(info.name);
    } catch (const InvalidArgument&) {
      continue;
    }
  }
  return names;
}

std::vector<Bytes> sweep_sizes(const Sweep& sweep) {
  require(sweep.first.count >= 0 && sweep.first <= sweep.last,
          fmt::format("the smallest size ({}) is above the largest ({})", to_string(sweep.first),
                      to_string(sweep.last)));
  require(sweep.step.count >= 0, "the step between sizes is negative");
  const bool by_factor = sweep.step.count == 0;
  require(!by_factor || sweep.factor > 1,
          fmt::format("the factor between sizes must be above 1, not {}", sweep.factor));
  const std::int64_t element = size_of(sweep.common.type);
  if (!sweep.common.counts.empty()) return {{sum_of_counts(sweep.common.counts) * element}};
  std::vector<Bytes> sizes;
  auto exact = static_cast<double>(sweep.first.count);
  for (std::int64_t size = sweep.first.count; size <= sweep.last.count;) {
    const Bytes whole{size / element * element};
    if (sizes.empty() || sizes.back() < whole) sizes.push_back(whole);
    require(sizes.size() <= most_sizes,
            fmt::format("more than {} sizes; use a larger step", most_sizes));
    if (size == sweep.last.count) break;
    if (by_factor && size == 0) {
      throw InvalidArgument("sizes from 0 B cannot be multiplied; start above or use a step");
    }
    exact = by_factor ? exact * sweep.factor : exact + static_cast<double>(sweep.step.count);
    if (exact > static_cast<double>(sweep.last.count)) break;
    size =
        by_factor ? std::max<std::int64_t>(size + 1, std::llround(exact)) : size + sweep.step.count;
  }
  return sizes;
}

PlacedAlgorithm placed_algorithm(const std::string& text) {
  const std::size_t at = text.rfind('@');
  const bool in_path =
      text.starts_with("file:") && at != text.npos && text.find_first_of("./", at) != text.npos;
  if (at == text.npos || in_path) return {text, ""};
  require(at > 0 && at + 1 < text.size(),
          fmt::format("'{}' is not of the form ALGORITHM@BACKEND, as in ring@{}", text,
                      usual_backend().name));
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<Case> sweep_cases(const Sweep& sweep) {
  std::vector<Case> columns;
  bool mixes = false;
  for (const int workers : sweep.workers) {
    const int size = group_size(parse_groups(sweep.common.groups, workers), workers);
    for (const std::string& text : sweep.algorithms) {
      const PlacedAlgorithm placed = placed_algorithm(text);
      const std::string& name = placed.algorithm;
      const bool apart = !placed.backend.empty();
      mixes = mixes || apart;
      const Collective equal{sweep.common.collective, sweep.common.root};
      const auto make = [&](const AlgorithmSpec& spec) {
        make_schedule(spec, size, sweep.first, equal);
      };
      for (const auto& algorithm : name == "all" ? names_that_fit(make) : std::vector{name}) {
        for (const auto& backend : apart ? std::vector{placed.backend} : sweep.backends) {
          columns.push_back(resolve(sweep, algorithm, backend, workers, apart));
        }
      }
    }
  }
  require(!sweep.common.isolate || std::ranges::any_of(columns, &Case::isolate) || !mixes,
          "none of these back ends can isolate its workers; each decides that itself");
  std::vector<Case> cases;
  for (const Bytes size : sweep_sizes(sweep)) {
    for (Case point : columns) {
      point.bytes = size;
      for (const bool in_place : {false, true}) {
        if (in_place ? !sweep.in_place : !sweep.out_of_place) continue;
        point.in_place = in_place;
        cases.push_back(point);
      }
    }
  }
  return cases;
}

}  // namespace collbench
