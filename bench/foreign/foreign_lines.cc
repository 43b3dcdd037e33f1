#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "bench/foreign/foreign_readers.h"
#include "core/error.h"
#include "core/parse.h"

namespace collbench {

std::vector<TextLine> lines_of(std::string_view text) {
  std::vector<TextLine> lines;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    lines.push_back({trimmed(text.substr(0, end)), number});
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return letters;
}

double table_number(std::string_view word, const std::string& what, const std::string& place) {
  const auto value = number_in(word, 0);
  require(value.has_value(), fmt::format("{}: {} is '{}'; it must be a finite number of at least 0",
                                         place, what, word));
  return *value;
}

std::int64_t table_integer(std::string_view word, const std::string& what,
                           const std::string& place) {
  const auto value = integer_in(word, 0, std::int64_t{1} << 62);
  require(value.has_value(), fmt::format("{}: {} is '{}'; it must be a whole number of at least 0",
                                         place, what, word));
  return *value;
}

std::optional<double> ns_of_unit(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 4> units = {
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  for (const auto& [name, ns] : units) {
    if (unit == name) return ns;
  }
  return std::nullopt;
}

std::int64_t whole_count(double value) {
  return static_cast<std::int64_t>(std::ceil(std::min(value, 1e18)));
}

MeasuredTime mean_of(const std::string& library) {
  MeasuredTime row;
  row.library = library;
  row.algorithm = "auto";
  row.mean = true;
  return row;
}

void read_names(MeasuredTime& row, std::string_view type, std::string_view op,
                const std::string& place) {
  row.type = at_place(place, [&] { return parse_data_type(type); });
  row.op = at_place(place, [&] { return parse_reduce_op(op); });
}

MeasuredTime timed(const MeasuredTime& row, double microseconds, bool in_place,
                   const std::string& place) {
  require(microseconds > 0, fmt::format("{}: a time of 0 us for {}; the clock that took it did "
                                        "not resolve it",
                                        place, to_string(row.bytes)));
  MeasuredTime time = row;
  time.in_place = in_place;
  time.time = Seconds{microseconds * 1e-6};
  time.low = time.time;
  time.high = time.time;
  return time;
}

}  // namespace collbench
