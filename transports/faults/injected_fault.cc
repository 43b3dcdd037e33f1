#include "transports/faults/injected_fault.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/suggest.h"

namespace collbench {

namespace {

using Kind = InjectedFault::Kind;

constexpr struct {
  std::string_view name;
  Kind kind;
} kinds[] = {
    {"drop", Kind::drop},         {"delay", Kind::delay},     {"duplicate", Kind::duplicate},
    {"truncate", Kind::truncate}, {"reorder", Kind::reorder}, {"corrupt", Kind::corrupt},
    {"kill", Kind::kill},         {"stop", Kind::stop},       {"late", Kind::late}};

const std::vector<std::string> keys = {"rank",   "to",   "message", "every",
                                       "chance", "time", "early",   "seed"};

std::atomic<std::int64_t> struck{0};

std::int64_t count_of(const std::string& key, const std::string& value) {
  const auto count = integer_in(value, 0, 1'000'000'000);
  require(count.has_value(),
          "fault: " + key + " must be a count up to 1000000000, not '" + value + "'");
  return *count;
}

// "0.1%" or "0.001".
double chance_of(const std::string& value) {
  const bool percent = value.ends_with('%');
  const std::string_view number = std::string_view(value).substr(0, value.size() - percent);
  const double chance = number_in(number).value_or(-1) / (percent ? 100 : 1);
  require(chance > 0 && chance <= 1,
          "fault: chance must be above 0 and at most 1 (or 100%), not '" + value + "'");
  return chance;
}

void set(InjectedFault& fault, const std::string& key, const std::string& value) {
  if (key == "rank") {
    fault.rank = static_cast<Rank>(count_of(key, value));
  } else if (key == "to") {
    fault.to = static_cast<Rank>(count_of(key, value));
  } else if (key == "message") {
    fault.message = count_of(key, value);
  } else if (key == "every") {
    fault.every = count_of(key, value);
    require(fault.every > 0, "fault: every must be 1 or more; leave it out for one message");
  } else if (key == "seed") {
    fault.seed = static_cast<std::uint64_t>(count_of(key, value));
  } else if (key == "chance") {
    fault.chance = chance_of(value);
  } else if (key == "time") {
    fault.time = parse_duration(value);
  } else if (key == "early") {
    require(value.empty(), "fault: early takes no value");
    fault.early = true;
  } else {
    throw InvalidArgument("fault: " + unknown_name("key", key, keys));
  }
}

InjectedFault fault_of(std::string_view text) {
  const AlgorithmSpec spec = parse_algorithm_spec(text);
  InjectedFault fault;
  fault.kind = find_row("fault", spec.name, kinds).kind;
  for (const auto& [key, value] : spec.options) set(fault, key, value);
  const bool process = fault.kind == Kind::kill || fault.kind == Kind::stop;
  require(!fault.early || process, "fault: early is for kill and stop, not for " + spec.name);
  const bool lasts = fault.kind == Kind::delay || fault.kind == Kind::late;
  require(
      (fault.time.count() > 0) == lasts,
      "fault: a delay needs time=, as in delay:time=10ms, so does late, and nothing else has one");
  require(fault.rank < 0 || fault.rank != fault.to,
          fmt::format("fault: rank {} sends no message to itself, so '{}' never strikes",
                      fault.rank, text));
  require(fault.kind != Kind::late || fault.to < 0, "fault: late has no receiver; leave to= out");
  require(!process || fault.rank >= 0, "fault: " + spec.name + " needs rank=");
  return fault;
}

}  // namespace

bool InjectedFault::applies_to(Rank from, Rank receiver, std::int64_t number,
                               std::mt19937_64& engine) const {
  if (kind == Kind::late || (rank >= 0 && rank != from) || (to >= 0 && to != receiver))
    return false;
  return strikes(number, engine);
}

bool InjectedFault::delays_arrival(Rank late_rank, std::int64_t number,
                                   std::mt19937_64& engine) const {
  return kind == Kind::late && (rank < 0 || rank == late_rank) && strikes(number, engine);
}

bool InjectedFault::strikes(std::int64_t number, std::mt19937_64& engine) const {
  if (number < message) return false;
  const std::int64_t period = every == 0 && chance < 1 ? 1 : every;
  if (number != message && (period == 0 || (number - message) % period != 0)) return false;
  constexpr double range = 18446744073709551616.0;  // 2^64
  const bool now = chance >= 1 || static_cast<double>(engine()) < chance * range;
  if (now && kind != Kind::reorder) note_struck();
  return now;
}

void InjectedFault::note_struck() const {
  struck.fetch_or(std::int64_t{1} << std::min(place, 63), std::memory_order_relaxed);
}

std::int64_t faults_struck() { return struck.load(std::memory_order_relaxed); }

std::vector<InjectedFault> parse_injected_faults(std::string_view text) {
  std::vector<InjectedFault> faults;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    faults.push_back(fault_of(text.substr(0, comma)));
    faults.back().place = static_cast<int>(faults.size()) - 1;
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
    require(comma == std::string_view::npos || !text.empty(), "fault: nothing follows the comma");
  }
  return faults;
}

}  // namespace collbench
