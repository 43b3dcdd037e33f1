#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "topologies/import/simgrid_platform.h"

namespace collbench {
namespace {

// "12.5MBps" as 12.5 and "MBps".
std::pair<double, std::string> split_unit(const XmlElement& element, std::string_view attribute,
                                          const std::string& text) {
  const std::size_t end = text.find_last_of("0123456789.") + 1;
  double value = 0;
  if (!read_number(text.substr(0, end), value)) {
    element.refuse(fmt::format("{}=\"{}\" is no number with a unit", attribute, text));
  }
  return {value, text.substr(end)};
}

// Bytes per second of one unit, 0 if it is none: [kMGTPE[i]]{B|b}ps.
double bandwidth_unit(const std::string& unit) {
  if (unit.empty()) return 1;
  static constexpr std::string_view prefixes = "kMGTPEZY";
  std::string_view rest = unit;
  double factor = 1;
  const char first = rest[0] == 'K' ? 'k' : rest[0];
  const std::size_t power = prefixes.find(first);
  if (power != std::string_view::npos) {
    const bool is_binary = rest.size() > 1 && rest[1] == 'i';
    factor = std::pow(is_binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
    rest.remove_prefix(is_binary ? 2 : 1);
  }
  if (rest == "Bps") return factor;
  return rest == "bps" ? factor / 8 : 0;
}

double time_unit(const std::string& unit) {
  static constexpr std::array<std::pair<std::string_view, double>, 10> units{{{"", 1},
                                                                              {"s", 1},
                                                                              {"ms", 1e-3},
                                                                              {"us", 1e-6},
                                                                              {"ns", 1e-9},
                                                                              {"ps", 1e-12},
                                                                              {"m", 60},
                                                                              {"h", 3'600},
                                                                              {"d", 86'400},
                                                                              {"w", 604'800}}};
  for (const auto& [name, seconds] : units) {
    if (name == unit) return seconds;
  }
  return 0;
}

}  // namespace

double simgrid_bandwidth(const XmlElement& element, std::string_view attribute) {
  const std::string& text = element.need(attribute);
  const auto [value, unit] = split_unit(element, attribute, text);
  const double rate = value * bandwidth_unit(unit);
  if (!(rate > 0) || !std::isfinite(rate)) {
    element.refuse(
        fmt::format("{}=\"{}\" must be a rate above 0, as 125MBps or 1Gbps", attribute, text));
  }
  return rate;
}

Seconds simgrid_latency(const XmlElement& element, std::string_view attribute,
                        const std::string& fallback) {
  std::string text = element.text(attribute);
  if (text.empty()) text = fallback;
  const auto [value, unit] = split_unit(element, attribute, text);
  const double factor = time_unit(unit);
  if (value < 0 || factor == 0) {
    element.refuse(fmt::format("{}=\"{}\" must be a time, as 50us or 1ms", attribute, text));
  }
  return Seconds{value * factor};
}

}  // namespace collbench
