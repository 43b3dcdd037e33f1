#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"

namespace collbench {
namespace {

struct Quantity {
  double number = 0;
  std::string_view unit;
};

// The number and the unit of "1.5 us"; `example` ends the message if there is no number.
Quantity split(std::string_view what, const std::string& text, std::string_view example) {
  Quantity quantity;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, quantity.number);
  // Files hold thousands of these: the words are made where they are needed only.
  if (error != std::errc() || !std::isfinite(quantity.number) || quantity.number < 0) {
    throw InvalidArgument(fmt::format(
        "{} '{}' does not begin with a number of at least 0; write {}", what, text, example));
  }
  quantity.unit = std::string_view(rest, static_cast<std::size_t>(end - rest));
  if (!quantity.unit.empty() && quantity.unit.front() == ' ') quantity.unit.remove_prefix(1);
  return quantity;
}

// Bytes per second of one "GBps", "Gb/s", "kbps", "GiBps" ...
std::optional<double> rate_of(std::string unit) {
  if (unit.starts_with('K')) unit[0] = 'k';
  double scale = 1;
  const std::size_t power = std::string_view("kMGTPE").find(unit.empty() ? ' ' : unit[0]);
  if (power != std::string_view::npos) {
    const bool is_binary = unit.starts_with(unit.substr(0, 1) + "i");
    for (std::size_t i = 0; i <= power; ++i) scale *= is_binary ? 1024 : 1000;
    unit.erase(0, is_binary ? 2 : 1);
  }
  if (unit == "Bps" || unit == "B/s") return scale;
  if (unit == "bps" || unit == "b/s" || unit == "bit/s") return scale / 8;
  return std::nullopt;
}

}  // namespace

Bandwidth parse_bandwidth(const std::string& text) {
  constexpr std::string_view example = "NUMBER and unit, as in 50GBps (bytes) or 100Gbps (bits)";
  const auto [number, unit] = split("bandwidth", text, example);
  const std::optional<double> rate = rate_of(std::string(unit));
  require(rate.has_value(),
          fmt::format("bandwidth '{}' has the unknown unit '{}'; write {}", text, unit, example));
  require(std::isfinite(number * *rate), fmt::format("bandwidth '{}' is too large", text));
  return {number * *rate};
}

Seconds parse_duration(const std::string& text) {
  constexpr std::string_view example = "NUMBER and unit, as in 5us, 200ns, 1.5ms, 2s or 1h30m";
  constexpr std::array<std::pair<std::string_view, double>, 10> units{{{"w", 604'800},
                                                                       {"d", 86'400},
                                                                       {"h", 3600},
                                                                       {"min", 60},
                                                                       {"m", 60},
                                                                       {"s", 1},
                                                                       {"ms", 1e-3},
                                                                       {"us", 1e-6},
                                                                       {"ns", 1e-9},
                                                                       {"ps", 1e-12}}};
  if (text == "0") return Seconds{0};
  Seconds sum{0};
  double smallest = std::numeric_limits<double>::infinity();
  std::string rest = text;
  do {
    const auto [number, tail] = split("time", rest, example);
    const std::string_view name = tail.substr(0, tail.find_first_of("0123456789"));
    const auto* const unit =
        std::find_if(units.begin(), units.end(), [&](const auto& u) { return u.first == name; });
    if (unit == units.end()) {
      throw InvalidArgument(
          fmt::format("time '{}' has the unknown unit '{}'; write {}", text, name, example));
    }
    if (unit->second >= smallest) {
      throw InvalidArgument(fmt::format(
          "time '{}' must name larger units first, each once; write {}", text, example));
    }
    smallest = unit->second;
    sum += Seconds{number * smallest};
    rest = tail.substr(name.size());
  } while (!rest.empty());
  if (!std::isfinite(sum.count())) {
    throw InvalidArgument(fmt::format("time '{}' is too large", text));
  }
  return sum;
}

}  // namespace collbench
