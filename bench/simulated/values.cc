#include "bench/simulated/values.h"

#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

/// A pair "INDEX:VALUE" of a comma-separated list.
struct Entry {
  int index;
  std::string value;
};

std::vector<Entry> parse_entries(const std::string& what, const std::string& text) {
  std::vector<Entry> entries;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string_view part = std::string_view(text).substr(start, end - start);
    const std::size_t colon = part.find(':');
    Entry entry{-1, {}};
    if (colon != std::string_view::npos) {
      entry.index = small_integer_in(part.substr(0, colon)).value_or(-1);
      entry.value = part.substr(colon + 1);
    }
    require(entry.index >= 0 && !entry.value.empty(),
            fmt::format("{}: '{}' is not NUMBER:VALUE as in '{}'", what, part,
                        what == "stragglers" ? "3:10us" : "3:0.5"));
    entries.push_back(std::move(entry));
    start = end + 1;
  }
  return entries;
}

}  // namespace

std::vector<std::pair<int, Seconds>> parse_stragglers(const std::string& text) {
  std::vector<std::pair<int, Seconds>> stragglers;
  for (const auto& [rank, value] : parse_entries("stragglers", text)) {
    stragglers.emplace_back(rank, parse_duration(value));
  }
  return stragglers;
}

SlowHosts parse_slow_hosts(const std::string& text) {
  SlowHosts slow;
  for (const auto& [host, value] : parse_entries("slow hosts", text)) {
    const double factor = number_in(value, 0, 1).value_or(0);
    require(factor > 0,
            fmt::format("slow hosts: '{}' is not a share above 0 and at most 1", value));
    slow.hosts.push_back(host);
    slow.factors.push_back(factor);
  }
  return slow;
}

}  // namespace collbench
