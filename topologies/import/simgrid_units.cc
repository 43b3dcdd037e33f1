#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"
#include "topologies/import/simgrid_platform.h"

namespace collbench {
namespace {

// A number without a unit as it stands, else what `parse` makes of `text`; -1 if that is nothing.
template <class Parse>
double plain_or_parsed(const std::string& text, const Parse& parse) {
  if (const auto number = number_in(text)) return *number;
  try {
    return parse(text);
  } catch (const InvalidArgument&) {
    return -1;
  }
}

}  // namespace

double simgrid_bandwidth(const XmlElement& element, std::string_view attribute) {
  const std::string& text = element.need(attribute);
  const double rate = plain_or_parsed(
      text, [](const std::string& t) { return parse_bandwidth(t).bytes_per_second; });
  if (rate > 0) return rate;
  element.refuse(
      fmt::format("{}=\"{}\" must be a rate above 0, as 125MBps or 1Gbps", attribute, text));
}

LinkClass simgrid_class(double bytes_per_second, Seconds latency) {
  const Bandwidth rate{bytes_per_second};
  return {.name = fmt::format("{} {}", to_string(rate), to_string(latency)),
          .nominal = rate,
          .latency = latency,
          .level = 1,
          .source = "bandwidth and latency in the file"};
}

Seconds simgrid_latency(const XmlElement& element, std::string_view attribute,
                        const std::string& fallback) {
  std::string text = element.text(attribute);
  if (text.empty()) text = fallback;
  const double time =
      plain_or_parsed(text, [](const std::string& t) { return parse_duration(t).count(); });
  if (time >= 0) return Seconds{time};
  element.refuse(fmt::format("{}=\"{}\" must be a time, as 50us or 1ms", attribute, text));
}

}  // namespace collbench
