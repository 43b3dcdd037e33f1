#include "bench/simulated/values.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

/// Calls `take` with every "NUMBER:VALUE" of a comma-separated list.
template <typename Take>
void for_each_pair(const std::string& what, const std::string& text, Take take) {
  if (text.empty()) return;
  std::set<int> seen;
  for (const std::string& part : parse_list(what, text)) {
    const std::size_t colon = std::min(part.find(':'), part.size());
    const auto number = small_integer_in(part.substr(0, colon));
    require(number.has_value() && colon + 1 < part.size(),
            fmt::format("{}: '{}' is not NUMBER:VALUE as in '{}'", what, part,
                        what == "stragglers" ? "3:10us" : "3:0.5"));
    require(seen.insert(*number).second, fmt::format("{}: {} is named twice", what, *number));
    take(*number, part.substr(colon + 1));
  }
}

}  // namespace

std::vector<std::pair<int, Seconds>> parse_stragglers(const std::string& text) {
  std::vector<std::pair<int, Seconds>> stragglers;
  for_each_pair("stragglers", text, [&](int rank, const std::string& delay) {
    stragglers.emplace_back(rank, parse_duration(delay));
  });
  return stragglers;
}

SlowHosts parse_slow_hosts(const std::string& text) {
  SlowHosts slow;
  for_each_pair("slow hosts", text, [&](int host, const std::string& share) {
    const double factor = number_in(share, 0, 1).value_or(0);
    require(factor > 0,
            fmt::format("slow hosts: '{}' is not a share above 0 and at most 1", share));
    slow.hosts.push_back(host);
    slow.factors.push_back(factor);
  });
  return slow;
}

}  // namespace collbench
