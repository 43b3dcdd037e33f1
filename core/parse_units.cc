#include <array>
#include <charconv>
#include <cmath>
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
  require(error == std::errc() && std::isfinite(quantity.number) && quantity.number >= 0,
          fmt::format("{} '{}' does not begin with a number of at least 0; write {}", what, text,
                      example));
  quantity.unit = std::string_view(rest, static_cast<std::size_t>(end - rest));
  if (!quantity.unit.empty() && quantity.unit.front() == ' ') quantity.unit.remove_prefix(1);
  return quantity;
}

// Bytes per second of one "GBps", "Gb/s", "kbps" ...
std::optional<double> rate_of(std::string_view unit) {
  double scale = 1;
  constexpr std::array<std::pair<char, double>, 5> prefixes{
      {{'k', 1e3}, {'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}}};
  for (const auto& [letter, factor] : prefixes) {
    if (unit.empty() || unit.front() != letter) continue;
    scale = factor;
    unit.remove_prefix(1);
    break;
  }
  if (unit == "Bps" || unit == "B/s") return scale;
  if (unit == "bps" || unit == "b/s" || unit == "bit/s") return scale / 8;
  return std::nullopt;
}

}  // namespace

Bandwidth parse_bandwidth(const std::string& text) {
  constexpr std::string_view example = "NUMBER and unit, as in 50GBps (bytes) or 100Gbps (bits)";
  const auto [number, unit] = split("bandwidth", text, example);
  const std::optional<double> rate = rate_of(unit);
  require(rate.has_value(),
          fmt::format("bandwidth '{}' has the unknown unit '{}'; write {}", text, unit, example));
  require(std::isfinite(number * *rate), fmt::format("bandwidth '{}' is too large", text));
  return {number * *rate};
}

Seconds parse_duration(const std::string& text) {
  constexpr std::string_view example = "NUMBER and unit, as in 5us, 200ns, 1.5ms or 2s";
  const auto [number, unit] = split("time", text, example);
  if (number == 0 && unit.empty()) return Seconds{0};
  constexpr std::array<std::pair<std::string_view, double>, 4> units{
      {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  for (const auto& [name, seconds] : units) {
    if (unit == name) return Seconds{number * seconds};
  }
  throw InvalidArgument(
      fmt::format("time '{}' has the unknown unit '{}'; write {}", text, unit, example));
}

}  // namespace collbench
