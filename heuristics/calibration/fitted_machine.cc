#include "heuristics/calibration/fitted_machine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <Eigen/LU>

#include "algorithms/registry.h"
#include "core/error.h"
#include "heuristics/predict.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

/// Overhead, latency, seconds per byte sent, seconds per byte reduced.
using Costs4 = std::array<double, 4>;

/// 1 ns, and 1 TB/s: less than any machine takes.
constexpr Costs4 least_costs = {1e-9, 1e-9, 1e-12, 1e-12};

constexpr double poor_error = 0.3;  // of predict(), that the description warns of
constexpr double own_error = 0.01;  // of predict(), of times that it explains best
constexpr double told_apart = 10;   // factor beyond which the data do not tell a cost from nothing

/// One measured time of an algorithm of ours.
struct FittedRow {
  MeasuredTime row;
  Schedule schedule;
};

/// TCP: as machines of Ethernet have it (topologies/ethernet-10g.toml); NCCL: its tuner's
/// netOverhead (topologies/dgx-h100.toml). MPI's depends on its network, which tables do not say.
Seconds gap_between_nodes(const std::string& library) {
  if (library == "grpc" || library == "gloo") return Seconds{3.5e-6};
  return is_nccl(library) ? Seconds{1e-6} : Seconds{0};
}

using MeasuredMethods = std::vector<MeasuredMethod>;

/// Those of the system and the libraries that the points are of: a machine is no mixture.
MeasuredMethods methods_like(std::span<const MeasuredTime> points, const Calibration& calibration) {
  std::set<std::string> libraries;
  for (const MeasuredTime& point : points) libraries.insert(point.library);
  MeasuredMethods methods;
  for (const MeasuredMethod& each : calibration.measured()) {
    const bool is_like =
        each.method.system == points.front().system && libraries.count(each.method.library) > 0;
    if (is_like) methods.push_back(each);
  }
  return methods;
}

/// Rows of several nodes, or of one, on a host of so many cores (0: any).
std::vector<FittedRow> played_rows(const MeasuredMethods& methods, bool between, int cores) {
  std::vector<FittedRow> played;
  for (const MeasuredMethod& measured : methods) {
    for (const MeasuredTime& row : measured.points) {
      const bool alike = between ? row.scale.ranks == row.scale.nodes : row.scale.nodes <= 1;
      if (!alike || row.scale.ranks < 2 || row.scale.ranks > 256) continue;
      if (cores > 0 && row.scale.cores != cores) continue;
      try {
        played.push_back({row, make_schedule(parse_algorithm_spec(row.algorithm), row.scale.ranks,
                                             row.bytes, {row.collective})});
      } catch (const InvalidArgument&) {
        break;  // not an algorithm of ours
      }
    }
  }
  return played;
}

Prediction predicted(const FittedRow& played, const Costs4& costs) {
  LinkClass link;
  link.name = "link";
  link.nominal = Bandwidth{1 / costs[2]};
  link.latency = Seconds{costs[1]};
  link.level = played.row.scale.nodes > 1 ? 1 : 0;
  Machine machine{star(played.row.scale.ranks, link), {}, "", ""};
  machine.costs.message_gap = {Seconds{0}, gap_between_nodes(played.row.library)};
  machine.costs.reduction_rate = Bandwidth{1 / costs[3]};
  machine.costs.per_collective = Seconds{costs[0]};
  VectorSpec work;
  work.type = played.row.type;
  work.count = std::max<std::int64_t>(1, played.row.bytes.count / size_of(work.type));
  work.equal_chunks = true;
  return predict(played.schedule, machine,
                 place("row-major", played.row.scale.ranks, machine.topology), work);
}

/// How often each cost is paid on the critical path.
Costs4 amounts(const FittedRow& played, const Costs4& costs) {
  const Prediction p = predicted(played, costs);
  return {p.overhead / Seconds{costs[0]}, p.latency / Seconds{costs[1]},
          p.bandwidth / Seconds{costs[2]}, p.reduction / Seconds{costs[3]}};
}

/// What large errors count for.
double weight_of(double error) { return 1 / std::sqrt(1 + 4 * error * error); }

/// The factor that each cost may be off: by the inverse of the normal matrix, so that costs whose
/// shares of the times grow alike are as unsure as their sum leaves them. `variance` is of the
/// relative errors, each with its weight. No factor is larger than what tells nothing.
Costs4 spread_of(const std::vector<Eigen::Vector4d>& shares, const std::vector<double>& weights,
                 double variance) {
  constexpr double ridge = 1e-9;
  Eigen::Matrix4d normal = Eigen::Matrix4d::Zero();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    normal += weights[i] * shares[i] * shares[i].transpose();
  }
  normal += ridge * static_cast<double>(shares.size()) * Eigen::Matrix4d::Identity();
  const Eigen::Vector4d inverse = normal.inverse().diagonal();
  Costs4 spread{};
  for (int k = 0; k < 4; ++k) {
    const double deviation = 2 * std::sqrt(std::max(variance, own_error * own_error) * inverse[k]);
    spread[k] = std::min(1 + deviation, 1 + told_apart);
  }
  return spread;
}

/// Least squares of relative errors with costs that stay positive, by coordinates; large errors
/// count less. `spread` gets the factor that each cost may be off.
Costs4 fit_amounts(const std::vector<FittedRow>& played, const std::vector<Costs4>& all,
                   Costs4 costs, Costs4& spread) {
  const auto relative = [&](std::size_t i, const Costs4& c) {
    double sum = 0;
    for (std::size_t k = 0; k < c.size(); ++k) sum += all[i][k] * c[k];
    return sum / played[i].row.time.count() - 1;
  };
  for (int round = 0; round < 300; ++round) {
    for (std::size_t k = 0; k < costs.size(); ++k) {
      double top = 0;
      double curvature = 0;
      for (std::size_t i = 0; i < played.size(); ++i) {
        const double r = relative(i, costs);
        const double slope = all[i][k] / played[i].row.time.count();
        top += weight_of(r) * slope * r;
        curvature += weight_of(r) * slope * slope;
      }
      if (curvature <= 0) continue;
      costs[k] = std::max(costs[k] - top / curvature, least_costs[k]);
    }
  }
  std::vector<Eigen::Vector4d> shares;
  std::vector<double> weights;
  double variance = 0;
  for (std::size_t i = 0; i < played.size(); ++i) {
    const double r = relative(i, costs);
    weights.push_back(weight_of(r));
    variance += weights.back() * r * r / static_cast<double>(played.size());
    Eigen::Vector4d& own = shares.emplace_back(Eigen::Vector4d::Zero());
    for (int k = 0; k < 4; ++k) {
      if (costs[k] > least_costs[k]) own[k] = all[i][k] * costs[k] / played[i].row.time.count();
    }
  }
  spread = spread_of(shares, weights, variance);
  return costs;
}

/// The same, where what is not told apart from the others is left to them: of reductions and of
/// the overhead there may be none.
Costs4 fit_told_apart(const std::vector<FittedRow>& played, std::vector<Costs4> all, Costs4 costs,
                      Costs4& spread) {
  costs = fit_amounts(played, all, costs, spread);
  for (const std::size_t k : {3U, 0U}) {
    if (costs[k] <= least_costs[k] || spread[k] <= told_apart) continue;
    for (Costs4& each : all) each[k] = 0;
    costs[k] = least_costs[k];
    costs = fit_amounts(played, all, costs, spread);
  }
  return costs;
}

double median_error(const std::vector<FittedRow>& played, const Costs4& costs) {
  std::vector<double> errors;
  for (const FittedRow& each : played) {
    errors.push_back(predicted(each, costs).time() / each.row.time - 1);
  }
  return summarize_errors(std::move(errors)).median;
}

FittedCost fitted(double value, double factor) {
  if (factor > told_apart || !std::isfinite(value)) return {};
  return {value, factor};
}

/// The least number of nodes whose rates are those of any: two nodes alone exchange directly, so
/// more of them count where such were measured at long vectors too.
int least_nodes(std::span<const MeasuredTime> points) {
  constexpr std::int64_t near = 4;  // times shorter
  Bytes of_two;
  Bytes of_more;
  for (const MeasuredTime& row : points) {
    if (row.scale.nodes == 2) of_two = std::max(of_two, row.bytes);
    if (row.scale.nodes > 2) of_more = std::max(of_more, row.bytes);
  }
  return of_more.count > 0 && of_more.count >= of_two.count / near ? 3 : 2;
}

/// The most bytes per second and rank, all ways of the collective counted, that any method and size
/// reached inside one node or between nodes.
double reached_rate(const MeasuredMethods& methods, bool between) {
  double rate = 0;
  for (const MeasuredMethod& measured : methods) {
    const int least = between ? least_nodes(measured.points) : 1;
    for (const MeasuredTime& row : measured.points) {
      const int nodes = std::max(row.scale.nodes, 1);
      if (between ? nodes < least : nodes > 1) continue;
      const double sent = bus_factor(row.collective, row.scale.ranks);
      rate = std::max(rate, sent * static_cast<double>(row.bytes.count) / row.time.count());
    }
  }
  return rate;
}

void fit_to_schedules(const MeasuredMethods& methods, const std::vector<FittedRow>& played,
                      FittedMachine& machine) {
  Costs4 costs = {5e-6, 5e-6, 1e-9, 1e-10};
  Costs4 spread{};
  for (int i = 0; i < 3; ++i) {
    std::vector<Costs4> all;
    for (const FittedRow& each : played) all.push_back(amounts(each, costs));
    costs = fit_told_apart(played, std::move(all), costs, spread);
  }
  machine.error = median_error(played, costs);
  if (costs[0] > least_costs[0]) machine.overhead = fitted(costs[0], spread[0]);
  if (costs[3] > least_costs[3]) machine.reduction_rate = fitted(1 / costs[3], spread[3]);
  if (costs[1] > least_costs[1]) {
    (machine.network ? machine.network_latency : machine.node_latency) = {costs[1], spread[1]};
  }
  FittedCost& rate = machine.network ? machine.network_rate : machine.node_rate;
  rate = {1 / costs[2], spread[2]};
  std::set<std::string> names;
  for (const FittedRow& each : played) names.insert(each.row.algorithm);
  machine.basis = fmt::format("{} times of {}", played.size(), fmt::join(names, ", "));
  if (machine.error > poor_error) {
    machine.basis += fmt::format(
        "; simulated from these costs, the same times are off by {:.0f} % in the median: they are "
        "none of a star of links",
        100 * machine.error);
  }
  if (costs[2] > least_costs[2]) return;
  // Other costs explain all of the times, which does not make the links infinitely fast.
  rate.value = reached_rate(methods, machine.network);
  machine.basis +=
      "; their rate is not told apart from other costs: the most that any size reached";
}

/// The trend that tells the most: one of several nodes, the most scales, then the most points.
const MethodModel& fullest(const Calibration& calibration) {
  const auto scales = [](const MethodModel& model) {
    std::set<Scale> all;
    for (const MeasuredTime& row : model.points()) all.insert(row.scale);
    const bool between = std::ranges::any_of(all, [](const Scale& s) { return s.nodes > 1; });
    return std::tuple(between, all.size(), model.points().size());
  };
  return *std::max_element(calibration.models().begin(), calibration.models().end(),
                           [&](const auto& a, const auto& b) { return scales(a) < scales(b); });
}

void read_trend(const MethodModel& model, const MeasuredMethods& methods, FittedMachine& machine) {
  const TermValues& costs = model.trend().costs();
  const TermValues& factors = model.trend().factors();
  machine.overhead = {costs[0] * 1e-6, factors[0]};
  // Latencies and rates are of a way up and one down, but an all-reduce alone goes both ways; costs
  // are microseconds (per byte).
  const double ways = model.method().collective == CollectiveKind::all_reduce ? 2 : 1;
  if (machine.ranks_per_node > 1) {
    const double rate = reached_rate(methods, false);
    machine.node_latency = {costs[1] * 1e-6 / ways, factors[1]};
    machine.node_rate = {rate > 0 ? rate : ways / 2 * 1e6 / costs[4], factors[4]};
  }
  if (machine.network) {
    machine.network_latency = {costs[2] * 1e-6 / ways, factors[2]};
    machine.network_rate = {reached_rate(methods, true), factors[5]};
  }
  machine.basis =
      fmt::format("trend of '{}', {} points", to_string(model.method()), model.points().size());
}

/// The structure with the most points.
const StructuralModel& fullest_structure(const Calibration& calibration) {
  const auto structures = calibration.structures();
  return *std::max_element(structures.begin(), structures.end(), [](const auto& a, const auto& b) {
    return a.points().size() < b.points().size();
  });
}

void read_structure(const StructuralModel& structure, FittedMachine& machine) {
  const NetworkModel& model = network_model(structure.interconnect());
  const auto fitted_constant = [&](std::string_view name) -> FittedConstant {
    for (std::size_t k = 0; k < model.constants.size(); ++k) {
      if (model.constants[k].name == name) return structure.fit().constants[k];
    }
    return {};
  };
  const auto time = [&](std::string_view name, double share) -> FittedCost {
    const FittedConstant constant = fitted_constant(name);
    return {constant.value * 1e-6 * share, constant.factor};
  };
  const auto rate = [&](std::string_view name) -> FittedCost {
    const FittedConstant constant = fitted_constant(name);
    return {constant.value > 0 ? 1e6 / constant.value : 0, constant.factor};
  };
  const PlainConstants& plain = model.plain;
  machine.overhead = time(plain.overhead, 1);
  machine.reduction_rate = rate(plain.reduce);
  // A message goes up a link and down another; all of one host stay inside it.
  if (machine.network) {
    machine.network_latency = time(plain.latency, 0.5);
    machine.network_rate = rate(plain.byte);
  }
  const bool is_host = !machine.network;
  machine.node_latency = time(is_host ? plain.latency : plain.inside_latency, 0.5);
  machine.node_rate = rate(is_host ? plain.byte : plain.inside_byte);
  machine.basis = fmt::format("constants of a {} network, {}", model.name, structure.basis());
}

void take_size(std::span<const MeasuredTime> points, FittedMachine& machine) {
  for (const MeasuredTime& row : points) {
    const int nodes = std::max(row.scale.nodes, 1);
    machine.network = machine.network || nodes > 1;
    machine.ranks_per_node = std::max(machine.ranks_per_node, row.scale.ranks / nodes);
    if (nodes > 1) machine.message_gap = gap_between_nodes(row.library);
  }
}

}  // namespace

FittedMachine fit_machine(const Calibration& calibration) {
  FittedMachine machine;
  const bool structured = !calibration.structures().empty();
  const std::span<const MeasuredTime> points =
      structured ? std::span(fullest_structure(calibration).points())
                 : std::span(fullest(calibration).points());
  const MeasuredMethods methods = methods_like(points, calibration);
  take_size(points, machine);
  if (!structured) {
    for (const MeasuredMethod& each : methods) take_size(each.points, machine);
  }
  const int cores = structured ? fullest_structure(calibration).cores() : 0;
  const std::vector<FittedRow> played = played_rows(methods, machine.network, cores);
  if (played.size() >= 8) {
    if (machine.network) machine.ranks_per_node = 1;
    fit_to_schedules(methods, played, machine);
  } else if (structured) {
    read_structure(fullest_structure(calibration), machine);
  } else {
    read_trend(fullest(calibration), methods, machine);
  }
  if (methods.size() < calibration.measured().size()) {
    std::set<std::string> whose;
    for (const MeasuredMethod& each : methods) {
      whose.insert(each.method.system + (each.method.system.empty() ? "" : " ") +
                   each.method.library);
    }
    machine.basis += fmt::format("; only of {}", fmt::join(whose, ", "));
  }
  return machine;
}

int nodes_as_measured(const Calibration& calibration, int workers) {
  std::map<int, int> times;  // by ranks of a node
  for (const MeasuredTime& point : calibration.points()) {
    if (point.scale.nodes > 1) ++times[point.scale.ranks_per_node()];
  }
  const auto most =
      std::ranges::max_element(times, {}, [](const auto& each) { return each.second; });
  return most != times.end() && workers % most->first == 0 ? workers / most->first : 1;
}

}  // namespace collbench
