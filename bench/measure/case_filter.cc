#include "bench/measure/case_filter.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"
#include "core/suggest.h"

namespace collbench {
namespace {

const std::vector<std::string>& keys() {
  static const std::vector<std::string> names = {"algo", "backend", "workers", "bytes",
                                                 "type", "op",      "place"};
  return names;
}

bool is_number(std::string_view key) { return key == "workers" || key == "bytes"; }

std::int64_t number(std::string_view key, const std::string& text) {
  if (key == "bytes") return parse_size(text).count;
  const auto value = small_integer_in(text, std::numeric_limits<int>::min());
  require(value.has_value(), fmt::format("filter: '{}' is not a number of workers", text));
  return *value;
}

std::vector<std::string> alternatives(std::string_view text, std::string_view term) {
  require(!text.empty(), fmt::format("filter: '{}' has no value", term));
  if (text.front() != '(') return {std::string(text)};
  require(text.size() > 2 && text.back() == ')',
          fmt::format("filter: '{}' has a parenthesis that is not closed", term));
  text = text.substr(1, text.size() - 2);
  const std::vector<std::string> values = split_at(text, '|');
  require(std::ranges::count(values, "") == 0,
          fmt::format("filter: '{}' has an empty alternative", term));
  return values;
}

FilterTerm parse_term(std::string_view term) {
  const std::size_t at = term.find_first_of(":<>");
  require(at != term.npos && at > 0,
          fmt::format("filter: '{}' is not of the form KEY:VALUE or KEY>=VALUE", term));
  const bool with_equals = term[at] != ':' && at + 1 < term.size() && term[at + 1] == '=';
  const std::size_t length = with_equals ? 2 : 1;
  FilterTerm parsed{std::string(term.substr(0, at)), std::string(term.substr(at, length)),
                    alternatives(term.substr(at + length), term)};
  require_known("filter", parsed.key, keys(), "key");
  require(parsed.comparison == ":" || (is_number(parsed.key) && parsed.values.size() == 1),
          fmt::format("filter: '{}' compares what is not a single number", term));
  for (const std::string& value : parsed.values) {
    if (is_number(parsed.key)) number(parsed.key, value);
    if (parsed.key == "type") parse_data_type(value);
    if (parsed.key == "op") parse_reduce_op(value);
    require(parsed.key != "place" || value == "in" || value == "out",
            fmt::format("filter: place is 'in' or 'out', not '{}'", value));
  }
  return parsed;
}

bool holds(std::int64_t left, std::string_view comparison, std::int64_t right) {
  if (comparison == "<") return left < right;
  if (comparison == "<=") return left <= right;
  if (comparison == ">") return left > right;
  if (comparison == ">=") return left >= right;
  return left == right;
}

/// Another benchmark's case has a name and perhaps a size.
bool has_field(const Case& point, std::string_view key) {
  if (!point.backend.empty() || key == "algo") return true;
  return key == "bytes" && point.bytes.count > 0;
}

bool matches_value(const FilterTerm& term, const std::string& value, const Case& point) {
  if (!has_field(point, term.key)) return false;
  if (term.key == "workers") return holds(point.workers, term.comparison, number("workers", value));
  if (term.key == "bytes") return holds(point.bytes.count, term.comparison, number("bytes", value));
  if (term.key == "backend") return point.backend == value;
  if (term.key == "type") return point.type == parse_data_type(value);
  if (term.key == "op") return point.op == parse_reduce_op(value);
  if (term.key == "place") return point.in_place == (value == "in");
  return point.algorithm == value || point.algorithm.substr(0, point.algorithm.find(':')) == value;
}

}  // namespace

std::vector<FilterTerm> parse_filter(std::string_view text) {
  std::vector<FilterTerm> filter;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    if (blank != 0) filter.push_back(parse_term(text.substr(0, blank)));
    text.remove_prefix(blank == text.npos ? text.size() : blank + 1);
  }
  return filter;
}

bool matches(const std::vector<FilterTerm>& filter, const Case& point) {
  return std::all_of(filter.begin(), filter.end(), [&](const FilterTerm& term) {
    return std::any_of(term.values.begin(), term.values.end(),
                       [&](const std::string& value) { return matches_value(term, value, point); });
  });
}

}  // namespace collbench
