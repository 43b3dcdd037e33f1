#include "bench/measure/observation.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "algorithms/verify.h"
#include "bench/measure/library_orders.h"
#include "core/checksum_line.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "transports/exact_check.h"

namespace collbench {
namespace {

constexpr std::int64_t most_terms = std::int64_t{1} << 27;  // elements x ranks; 1 GiB
constexpr int most_ranks = 1024;  // a minute; proofs of rings grow with the cube

double rounded(double value, DataType type) {
  return type == DataType::f32 ? static_cast<float>(value) : value;
}

// Not parse_number(): C and Python print exact values as hexadecimal, 0x1.8p+1.
double value_of_line(const std::string& line, int number) {
  char* end = nullptr;
  const double value = std::strtod(line.c_str(), &end);
  require(end != line.c_str() && *end == '\0' && std::isfinite(value),
          fmt::format("line {}: '{}' is not a number", number, printable(line.substr(0, 40))));
  return value;
}

// One line before the values: a name and what it is.
void read_head(const std::string& line, int number, Observation& observed) {
  const std::size_t space = line.find(' ');
  const std::string name = line.substr(0, space);
  const std::string value = space == line.npos ? "" : line.substr(space + 1);
  const std::string label = fmt::format("line {}: {}", number, printable(name.substr(0, 40)));
  if (name == "ranks") {
    observed.ranks = static_cast<int>(parse_count(label, value, 2, most_ranks));
  } else if (name == "type") {
    observed.type = parse_data_type(value);
    require(observed.type == DataType::f32 || observed.type == DataType::f64,
            fmt::format("{}: sums of {} do not tell orders apart; f32 and f64 do", label, value));
  } else if (name == "seed") {
    observed.seed = static_cast<std::uint64_t>(parse_count(label, value, 0, INT64_MAX));
  } else {
    throw InvalidArgument(fmt::format("{} is none of ranks, type, seed and values", label));
  }
}

/// What an order gives for elements, with the inputs made once.
class Inputs {
 public:
  explicit Inputs(const Observation& observed) : observed_(observed) {
    for (std::size_t i = 0; i < observed.values.size(); ++i) {
      for (Rank r = 0; r < observed.ranks; ++r) {
        const double value = rough_value(observed.type, ReduceOp::sum, r,
                                         static_cast<std::int64_t>(i), observed.seed);
        terms_.push_back(rounded(value, observed.type));
      }
    }
  }

  // An addition of two numbers of f64 rounds once, and of two of f32 in f64 not at all.
  double sum(const AdditionOrder& order, std::int64_t at) const {
    const double* terms = terms_.data() + at * observed_.ranks;
    stack_.clear();
    for (const int step : order.steps) {
      if (step >= 0) {
        stack_.push_back(terms[step]);
        continue;
      }
      const double right = stack_.back();
      stack_.pop_back();
      stack_.back() = rounded(stack_.back() + right, observed_.type);
    }
    return stack_.back();
  }

  bool agrees(const AdditionOrder& order, std::int64_t at) const {
    return sum(order, at) == observed_.values[static_cast<std::size_t>(at)];
  }

 private:
  const Observation& observed_;
  std::vector<double> terms_;  // elements x ranks
  mutable std::vector<double> stack_;
};

/// The order of every element, as runs of equal ones.
struct PlacedOrder {
  std::int64_t end = 0;  // of the elements that it is for
  AdditionOrder order;
};
using PlacedOrders = std::vector<PlacedOrder>;

PlacedOrders orders_of(const Schedule& schedule, const Observation& observed) {
  const std::vector<AdditionOrder> chunks = addition_orders(schedule, {});
  PlacedOrders placed;
  const auto count = static_cast<std::int64_t>(observed.values.size());
  for (int c = 0; c < schedule.chunks(); ++c) {
    placed.push_back({schedule.partition()(c + 1, count, size_of(observed.type)),
                      chunks[static_cast<std::size_t>(c)]});
  }
  return placed;
}

Agreement agreement(std::string name, const PlacedOrders& placed, const Inputs& inputs) {
  Agreement found;
  found.algorithm = std::move(name);
  found.one_order = std::ranges::all_of(
      placed, [&](const PlacedOrder& each) { return each.order == placed.front().order; });
  std::int64_t at = 0;
  for (const PlacedOrder& each : placed) {
    for (; at < each.end; ++at) {
      if (inputs.agrees(each.order, at)) {
        ++found.agreeing;
      } else if (found.first_unlike < 0) {
        found.first_unlike = at;
      }
    }
  }
  return found;
}

/// Registry rows and those of their options that change the order of additions.
std::vector<std::string> judged_specs() {
  std::vector<std::string> specs;
  for (const AlgorithmInfo& info : algorithms()) specs.emplace_back(info.name);
  for (const char* more :
       {"ring:bidirectional", "ring:pincer", "ring:segments=4", "halving-doubling:order=far",
        "torus:pincer", "hierarchical:inner=direct", "swing:latency", "bine:small"}) {
    specs.emplace_back(more);
  }
  return specs;
}

template <typename Visit>
void for_each_known(const Observation& observed, Visit visit) {
  const auto bytes =
      Bytes{static_cast<std::int64_t>(observed.values.size())} * size_of(observed.type);
  for (const std::string& spec : judged_specs()) {
    try {
      visit(spec, orders_of(make_schedule(spec, observed.ranks, bytes), observed));
    } catch (const InvalidArgument&) {
      continue;  // not for so many ranks
    }
  }
  const auto count = static_cast<std::int64_t>(observed.values.size());
  for (const LibraryOrder& library : library_orders()) {
    PlacedOrders placed;
    for (const auto& [end, order] : library.orders(observed.ranks, count, size_of(observed.type)))
      placed.push_back({end, order});
    if (!placed.empty()) visit(std::string(library.name), placed);
  }
}

/// Every order that there is for few ranks: (2n-3)!! of them.
std::set<AdditionOrder> all_orders(int ranks) {
  std::set<AdditionOrder> orders{AdditionOrder{{0}}};
  for (Rank next = 1; next < ranks; ++next) {
    std::set<AdditionOrder> larger;
    for (const AdditionOrder& order : orders) {
      // Each step ends one sum, to which the next term may be added.
      for (std::ptrdiff_t at = 1; at <= std::ssize(order.steps); ++at) {
        AdditionOrder joined = order;
        joined.steps.insert(joined.steps.begin() + at, {next, AdditionOrder::rounded});
        larger.insert(std::move(joined));
      }
    }
    orders = std::move(larger);
  }
  return orders;
}

/// `known` and what else may be.
std::set<AdditionOrder> orders_to_try(int ranks, std::set<AdditionOrder> known) {
  constexpr int most_for_all = 6;  // 945 orders
  if (ranks <= most_for_all) return all_orders(ranks);
  for (Rank first = 0; first < ranks; ++first) {
    known.insert(left_fold(ranks, first, 1));
    known.insert(left_fold(ranks, first, -1));
  }
  return known;
}

}  // namespace

Observation read_observation(const std::string& file) {
  const std::string text(without_byte_order_mark(file));
  const std::string damage = checksum_complaint(text);
  require(damage.empty(), "line 1: " + damage);
  Observation observed;
  std::istringstream lines(text);
  bool in_values = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    if (in_values) {
      observed.values.push_back(rounded(value_of_line(line, number), observed.type));
      const std::int64_t most = most_terms / std::max(observed.ranks, 1);
      require(std::ssize(observed.values) <= most,
              fmt::format("more than {} values of {} ranks; some hundred are enough", most,
                          observed.ranks));
    } else if (line == "values") {
      in_values = true;
    } else {
      read_head(line, number, observed);
    }
  }
  require(observed.ranks > 0, "no line says how many ranks, as in 'ranks 8'");
  require(!observed.values.empty(), "no value follows a line 'values'");
  return observed;
}

void write_observation(std::ostream& out, Region values, int ranks, std::uint64_t seed) {
  require(
      values.type == DataType::f32 || values.type == DataType::f64,
      fmt::format("sums of {} do not tell orders apart; f32 and f64 do", to_string(values.type)));
  std::string text =
      fmt::format("ranks {}\ntype {}\nseed {}\nvalues\n", ranks, to_string(values.type), seed);
  for (std::int64_t i = 0; i < values.count; ++i) {
    const std::byte* const element = values.part(i, 1).data;
    if (values.type == DataType::f32) {
      float value = 0;
      std::memcpy(&value, element, sizeof value);
      text += fmt::format("{}\n", value);
    } else {
      double value = 0;
      std::memcpy(&value, element, sizeof value);
      text += fmt::format("{}\n", value);
    }
  }
  out << with_checksum_line(text);
}

std::vector<std::byte> observed_inputs(Region vector, Rank rank, std::uint64_t seed) {
  std::vector<std::byte> inputs(static_cast<std::size_t>(vector.size().count));
  const std::int64_t width = size_of(vector.type);
  for (std::int64_t i = 0; i < vector.count; ++i) {
    encode(vector.type, rough_value(vector.type, ReduceOp::sum, rank, i, seed),
           inputs.data() + i * width);
  }
  return inputs;
}

double sum_in_order(const AdditionOrder& order, const Observation& inputs, std::int64_t at) {
  Observation one{inputs.ranks, inputs.type, inputs.seed, {}};
  one.values.resize(static_cast<std::size_t>(at) + 1);
  return Inputs(one).sum(order, at);
}

std::vector<Agreement> judge_orders(const Observation& observed, std::set<AdditionOrder>* orders) {
  const Inputs inputs(observed);
  std::vector<Agreement> found;
  for_each_known(observed, [&](const std::string& name, const PlacedOrders& placed) {
    found.push_back(agreement(name, placed, inputs));
    if (orders == nullptr) return;
    for (const PlacedOrder& each : placed) orders->insert(each.order);
  });
  std::stable_sort(found.begin(), found.end(),
                   [](const Agreement& a, const Agreement& b) { return a.agreeing > b.agreeing; });
  return found;
}

std::vector<OrderRun> explain_by_element(const Observation& observed,
                                         std::set<AdditionOrder> known) {
  const Inputs inputs(observed);
  known = orders_to_try(observed.ranks, std::move(known));
  std::vector<OrderRun> runs;
  for (std::int64_t at = 0; at < std::ssize(observed.values); ++at) {
    std::vector<AdditionOrder> still;
    const auto keep = [&](const AdditionOrder& order) {
      if (inputs.agrees(order, at)) still.push_back(order);
    };
    if (!runs.empty()) std::ranges::for_each(runs.back().orders, keep);
    if (!still.empty()) {
      runs.back().orders = std::move(still);
      ++runs.back().count;
      continue;
    }
    std::ranges::for_each(known, keep);
    const bool goes_on = !runs.empty() && still.empty() && runs.back().orders.empty();
    if (goes_on) {
      ++runs.back().count;
    } else {
      runs.push_back({at, 1, std::move(still)});
    }
  }
  return runs;
}

}  // namespace collbench
