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

}  // namespace

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
    out += c == '\n' ? ' ' : c;
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
