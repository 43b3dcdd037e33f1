#include "bench/reports/text.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace collbench {
namespace {

std::string padding(std::string_view text, std::size_t width) {
  const std::size_t taken = characters(text);
  return std::string(width > taken ? width - taken : 0, ' ');
}

/// The bytes of the UTF-8 character that a text begins with; 0 if it begins with none, or with one
/// that XML refuses.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  unsigned code = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    code = code << 6U | (byte(i) & 0x3FU);
  }
  constexpr unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  const bool is_none = code == 0xFFFE || code == 0xFFFF || code > 0x10FFFF;
  return code < least[length] || is_surrogate || is_none ? 0 : length;
}

}  // namespace

std::string with_whole_characters(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text.substr(at));
    out += bytes > 0 ? text.substr(at, bytes) : std::string_view("\uFFFD");
    at += std::max<std::size_t>(bytes, 1);
  }
  return out;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string significant(double value, int digits) {
  if (std::isnan(value)) return "-";
  if (value == 0 || !std::isfinite(value)) return "0";
  const int before_point = static_cast<int>(std::floor(std::log10(std::abs(value)))) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(digits - before_point, 0, 6));
}

std::string align_right(std::string_view text, std::size_t width) {
  return padding(text, width) + std::string(text);
}

std::string align_left(std::string_view text, std::size_t width) {
  return std::string(text) + padding(text, width);
}

std::vector<std::string> aligned_lines(const std::vector<std::vector<std::string>>& rows,
                                       const std::function<bool(std::size_t column)>& is_left) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], characters(row[c]));
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string& line = lines.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += c == 0 ? "" : "  ";
      line += is_left(c) ? align_left(row[c], widths[c]) : align_right(row[c], widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

std::string escaped_for_markdown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\|*_`<>[]#").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
    if (c == '@') out += "<!-- -->";  // forges send a word to a person named behind it
  }
  return out;
}

std::string fitted_markdown(std::string text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  const std::string_view note = "\n\nThe rest did not fit here; the other reports have it.\n";
  const std::size_t room = most_bytes > note.size() ? most_bytes - note.size() : 0;
  const std::size_t end = room > 0 ? text.rfind('\n', room - 1) : std::string::npos;
  text.resize(end == std::string::npos ? 0 : end);
  return text.append(note.substr(0, most_bytes));
}

std::string time_text(Seconds time) {
  const double us = time.count() * 1e6;
  if (us >= 1e6) return significant(us / 1e6) + " s";
  if (us >= 1e3) return significant(us / 1e3) + " ms";
  return significant(us) + " us";
}

Figures figures(const Record& record) {
  Figures out;
  if (!record.skipped.empty() || record.measurement.latency_ns.empty()) return out;
  out.valid = true;
  out.latency = summarize(record);
  out.time_us = out.latency.median_ns / 1e3;
  const std::string& statistic = record.point.statistic;
  if (!statistic.empty()) {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    const double median_ns = statistic == "median" ? out.latency.median_ns : unknown;
    out.latency = {0, median_ns, unknown, unknown, unknown, unknown, unknown, unknown, unknown};
  }
  out.median_us = out.latency.median_ns / 1e3;
  out.p95_us = out.latency.p95_ns / 1e3;
  if (record.measurement.exact) out.time_us = record.measurement.exact->time.count() * 1e6;
  const Seconds time{out.time_us / 1e6};
  if (time.count() > 0) {
    const double half = (out.latency.interval_high_ns - out.latency.interval_low_ns) / 2;
    // The extremes of fewer enclose the median with less than 95 %.
    constexpr int fewest = 6;
    out.interval_percent = out.latency.n < fewest ? std::numeric_limits<double>::quiet_NaN()
                                                  : 1e-7 * half / time.count();
    out.algbw_GBps = algorithm_bandwidth(record, time).bytes_per_second / 1e9;
    out.busbw_GBps = bus_bandwidth(record, time).bytes_per_second / 1e9;
  }
  return out;
}

}  // namespace collbench
