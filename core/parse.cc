#include "core/parse.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

constexpr std::int64_t most_workers = 65'536;
constexpr int most_cpus = 1024;  // that a set of the C library holds

template <typename Number>
std::optional<Number> value_in(std::string_view text, Number least, Number most) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || !(value >= least && value <= most)) return {};
  return value;
}

/// The larger end of a range that begins with `first`, both as `word` has them.
std::int64_t end_of_range(const std::string& label, const std::string& word,
                          const std::string& last, std::int64_t first, std::int64_t most) {
  const std::int64_t end = parse_count(label, last, 0, most);
  require(end >= first, fmt::format("{}: '{}' ends before it begins", label, word));
  return end;
}

void append_range(const std::string& label, const std::string& word, std::vector<int>& counts) {
  const std::size_t colon = word.find(':');
  const std::size_t second = word.find(':', colon + 1);
  const auto first = parse_count(label, word.substr(0, colon), 1, most_workers);
  const auto last =
      end_of_range(label, word, word.substr(colon + 1, second - colon - 1), first, most_workers);
  std::int64_t factor = 0;
  if (second != word.npos) {
    const std::string rule = word.substr(second + 1);
    require(rule.size() > 1 && rule[0] == 'x',
            fmt::format("{}: '{}' is not FIRST:LAST or FIRST:LAST:xFACTOR", label, word));
    factor = parse_count(label + ": the factor", rule.substr(1), 2, most_workers);
  }
  for (std::int64_t n = first; n <= last; n = factor == 0 ? n + 1 : n * factor) {
    counts.push_back(static_cast<int>(n));
  }
}

}  // namespace

std::optional<std::int64_t> integer_in(std::string_view text, std::int64_t least,
                                       std::int64_t most) {
  return value_in(text, least, most);
}

std::optional<int> small_integer_in(std::string_view text, int least, int most) {
  return value_in(text, least, most);
}

std::optional<double> number_in(std::string_view text, double least, double most) {
  return value_in(text, least, most);
}

std::int64_t parse_count(const std::string& label, const std::string& text, std::int64_t least,
                         std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = end == text.data() + text.size() && !text.empty();
  require(is_number && error != std::errc::invalid_argument,
          fmt::format("{}: '{}' is not a whole number", label, text));
  require(error == std::errc() && value <= most,
          fmt::format("{} must be at most {} (got {})", label, most, text));
  require(value >= least, fmt::format("{} must be at least {} (got {})", label, least, text));
  return value;
}

double parse_number(const std::string& label, const std::string& text) {
  const auto value = number_in(text);
  require(value.has_value(), fmt::format("{}: '{}' is not a number", label, text));
  return *value;
}

Seconds parse_positive_duration(const std::string& label, const std::string& text) {
  const std::string written(trimmed(text));
  Seconds time{0};
  if (const auto seconds = number_in(written)) {
    time = Seconds{*seconds};
  } else {
    try {
      time = parse_duration(written);
    } catch (const InvalidArgument&) {
      throw InvalidArgument(fmt::format(
          "{}: '{}' is not a duration; write 500ms, 90s, 5m, 1h30m or plain seconds", label, text));
    }
  }
  require(time > Seconds{0} && time <= std::chrono::hours(24),
          fmt::format("{} must be above 0 and at most a day (got {})", label, text));
  return time;
}

double parse_fraction(const std::string& label, const std::string& text) {
  std::string_view number = trimmed(text);
  const bool percent = number.ends_with('%');
  if (percent) number.remove_suffix(1);
  const auto value = number_in(trimmed(number));
  require(value.has_value(), fmt::format("{}: '{}' is no fraction; write 2% or 0.02", label, text));
  const double fraction = percent ? *value / 100 : *value;
  require(fraction > 0 && fraction < 1,
          fmt::format("{} must be above 0 and below 100% (got {})", label, text));
  return fraction;
}

std::vector<std::string> parse_list(const std::string& label, const std::string& text) {
  std::vector<std::string> words = split_at(text, ',');
  for (std::string& word : words) {
    word = std::string(trimmed(word));
    require(!word.empty(), fmt::format("{}: '{}' has an empty item", label, text));
  }
  return words;
}

std::vector<int> parse_worker_counts(const std::string& label, const std::string& text) {
  std::vector<int> counts;
  for (const std::string& word : parse_list(label, text)) {
    if (word.find(':') != word.npos) {
      append_range(label, word, counts);
    } else {
      counts.push_back(static_cast<int>(parse_count(label, word, 1, most_workers)));
    }
  }
  std::vector<int> unique;
  for (const int n : counts) {
    if (std::find(unique.begin(), unique.end(), n) == unique.end()) unique.push_back(n);
  }
  return unique;
}

std::vector<int> parse_ranges(const std::string& label, const std::string& text, int most) {
  std::vector<int> numbers;
  for (const std::string& word : parse_list(label, text)) {
    const std::size_t dash = word.find('-');
    const auto first = parse_count(label, word.substr(0, dash), 0, most);
    const auto last =
        dash == word.npos ? first : end_of_range(label, word, word.substr(dash + 1), first, most);
    require(static_cast<std::int64_t>(numbers.size()) + last - first <= most,
            fmt::format("{}: more than {} numbers", label, most + 1));
    for (auto n = first; n <= last; ++n) numbers.push_back(static_cast<int>(n));
  }
  return numbers;
}

std::vector<int> parse_cpu_list(const std::string& label, const std::string& text) {
  return parse_ranges(label, text, most_cpus - 1);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

void for_each_line(std::string_view text, const std::function<void(std::string_view line)>& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::vector<std::string_view> split_at_blanks(std::string_view text) {
  std::vector<std::string_view> words;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    words.push_back(text.substr(0, text.find_first_of(" \t")));
    text.remove_prefix(words.back().size());
  }
  return words;
}

Bytes parse_size_option(const std::string& label, const std::string& text) {
  try {
    return parse_size(text);
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(fmt::format("{}: {}", label, e.what()));
  }
}

BandwidthGate parse_bandwidth_gate(const std::string& label, const std::string& text) {
  const std::size_t colon = text.find(':');
  require(colon != text.npos,
          fmt::format("{}: '{}' is not SIZE:RATE, as in 64M:40GB/s", label, text));
  std::string_view rate = trimmed(std::string_view(text).substr(colon + 1));
  if (rate.ends_with("GB/s") || rate.ends_with("GBps")) rate.remove_suffix(4);
  const double value = parse_number(label, std::string(trimmed(rate)));
  require(value > 0, fmt::format("{}: the rate must be above 0 GB/s (got {})", label, text));
  return {parse_size_option(label, text.substr(0, colon)), Bandwidth{value * 1e9}};
}

}  // namespace collbench
