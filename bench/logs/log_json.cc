#include "bench/logs/log_json.h"

#include <cctype>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "core/input_file.h"
#include "core/json.h"
#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

/// Where a text can be cut, and what closes it there.
struct JsonCut {
  std::size_t at = 0;
  std::string closers;
};

}  // namespace

std::string completed_json(std::string_view text, bool& cut) {
  std::string open;  // the brackets that are open, as what closes them
  std::optional<JsonCut> last;
  QuoteScanner quotes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (!quotes.outside(c)) continue;
    if (c == '{' || c == '[') open += c == '{' ? '}' : ']';
    if ((c == '}' || c == ']') && !open.empty()) open.pop_back();
    if (open.size() > 200) break;  // is refused for its depth
    // Behind a complete member, or before the first; of a list not inside of its elements.
    const std::size_t list = open.find(']');
    const bool is_whole = list == open.npos || list + 1 == open.size();
    const bool between = is_whole && (c == ',' || c == '{' || c == '[' || c == '}' || c == ']');
    if (between && !open.empty()) last = JsonCut{c == ',' ? at : at + 1, open};
  }
  cut = !open.empty() && last.has_value();
  if (!cut) return std::string(text);
  return std::string(text.substr(0, last->at)) +
         std::string(last->closers.rbegin(), last->closers.rend());
}

nlohmann::json log_json(std::string_view text, const std::string& file, JobLog& job, bool* is_cut) {
  // Only lines are read without values being made of all of them.
  require(text.size() <= largest_input,
          fmt::format("{}: {} MiB of JSON in one value; the most that is read is {}", file,
                      text.size() >> 20, largest_input >> 20));
  bool cut = false;
  const std::string whole = completed_json(text, cut);
  const auto is_array_of_events = [&] {
    const std::string_view start = trimmed(text);
    return start.starts_with('[') && (start.ends_with("},") || start.ends_with('}'));
  };
  if (cut && !is_array_of_events()) {
    ++job.left_out["ends of files that were cut short"];
    if (is_cut != nullptr) *is_cut = true;
  }
  return read_json<nlohmann::json>(whole, file, [](nlohmann::json value) { return value; });
}

std::vector<int> ranks_in_text(std::string_view text) {
  std::vector<int> ranks;
  constexpr std::size_t most = std::size_t{1} << 20;
  if (text.find("...") != text.npos) return ranks;
  for (std::size_t at = 0; at < text.size() && ranks.size() < most;) {
    std::size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    const auto rank = small_integer_in(text.substr(at, end - at), 0, 1 << 20);
    if (!rank) return {};
    ranks.push_back(*rank);
    at = end;
  }
  return ranks;
}

double number_at(const nlohmann::json& object, const char* key, double otherwise) {
  if (!object.is_object()) return otherwise;
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

namespace {

/// 5663.0 stands for an integer in some versions.
std::optional<std::int64_t> integer_of(double value) {
  if (value != std::floor(value) || std::abs(value) >= 1e15) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::int64_t integer_at(const nlohmann::json& object, const char* key, std::int64_t otherwise) {
  if (!object.is_object()) return otherwise;
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if (found->is_number_integer()) return found->get<std::int64_t>();
  if (found->is_number_float()) return integer_of(found->get<double>()).value_or(otherwise);
  if (found->is_string()) return integer_in(found->get<std::string>()).value_or(otherwise);
  return otherwise;
}

std::string text_at(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string written_text(std::string_view value) {
  if (value.size() < 2 || value.front() != '"') return {};
  if (value.find('\\') == value.npos) return std::string(value.substr(1, value.size() - 2));
  const nlohmann::json text = try_parse_json<nlohmann::json>(value);
  return text.is_string() ? text.get<std::string>() : std::string();
}

std::optional<std::int64_t> written_integer(std::string_view value) {
  if (value.size() > 1 && value.front() == '"')
    return integer_in(value.substr(1, value.size() - 2));
  if (const auto integer = integer_in(value, std::numeric_limits<std::int64_t>::lowest())) {
    return integer;
  }
  const auto number = number_in(value);
  return number ? integer_of(*number) : std::nullopt;
}

}  // namespace collbench
