#include "topologies/toml_table.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <type_traits>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "core/checksum_line.h"
#include "core/error.h"
#include "core/plain_text.h"
#include "core/suggest.h"

namespace collbench {

namespace {

constexpr std::size_t deepest = 100;

// The end of the string that begins at `at`; that of the line if a string of one line has none.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool many_lines = text.substr(at, 3) == three;
  for (at += many_lines ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (many_lines && text.substr(at, 3) == three) {
      // Up to two quotes before the closing three belong to the string.
      const std::size_t after = text.find_first_not_of(quote, at);
      return std::min({after, at + 5, text.size()});
    } else if (!many_lines && (text[at] == quote || text[at] == '\n')) {
      return text[at] == quote ? at + 1 : at;
    }
  }
  return text.size();
}

// toml++ recurses into dotted keys, lists and tables without a limit, so that a file
// of 100 KB would overflow the stack. This looks at the text before they do.
void refuse_deep_nesting(std::string_view text, const std::string& file) {
  std::vector<std::size_t> around;  // levels outside each open bracket
  std::size_t level = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_string(text, at) - 1;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (c == '[' || c == '{') {
      around.push_back(level++);
    } else if (c == '.') {
      ++level;
    } else if ((c == ']' || c == '}') && !around.empty()) {
      level = around.back();
      around.pop_back();
    } else if (c == ',' || (c == '\n' && around.empty())) {
      level = around.empty() ? 0 : around.back() + 1;  // what follows stands beside what was before
    }
    if (level <= deepest) continue;
    const std::string_view before = text.substr(0, at);
    throw InvalidArgument(fmt::format("{}:{}: nested deeper than {} levels", file,
                                      1 + std::ranges::count(before, '\n'), deepest));
  }
}

/// The tables of a text. Those of the last one are kept: a fitted machine is read as a machine and
/// as a calibration. Thread safety: any number of threads.
std::shared_ptr<const toml::table> root_of(std::string_view text) {
  static std::mutex mutex;
  static std::string last;
  static std::shared_ptr<const toml::table> root;
  const std::lock_guard lock(mutex);
  if (root == nullptr || last != text) {
    root = nullptr;
    root = std::make_shared<const toml::table>(toml::parse(text));
    last = text;
  }
  return root;
}

int line_of(const toml::node& node) {
  return std::max(1, static_cast<int>(node.source().begin.line));
}

}  // namespace

struct TomlTable::Place {
  std::shared_ptr<const toml::table> root;  // owns all nodes
  std::string file;
  const toml::table* table;
  std::string name;  // "[link.nic]", for messages
  std::vector<std::string> asked = {};

  TomlTable within(const toml::node& inner, std::string inner_name) const {
    return TomlTable(
        std::make_shared<Place>(Place{root, file, inner.as_table(), std::move(inner_name)}));
  }
  const toml::node* find(const std::string& key) {
    asked.push_back(key);
    return table->get(key);
  }
  const toml::node& need(const std::string& key) {
    const toml::node* node = find(key);
    if (node == nullptr && key == "source") {
      refuse(key, fmt::format("{} needs `source`: where its numbers come from", name));
    }
    if (node == nullptr) refuse(key, fmt::format("{} needs `{}`", name, key));
    return *node;
  }
  [[noreturn]] void refuse(const std::string& key, const std::string& what) const {
    const toml::node* node = table->get(key);
    throw InvalidArgument(
        fmt::format("{}:{}: {}", file, line_of(node == nullptr ? *table : *node), what));
  }
  /// The node as a T of toml++.
  template <typename T>
  const T& as(const toml::node& node, const std::string& key, std::string_view kind) const {
    if constexpr (std::is_same_v<T, toml::table> || std::is_same_v<T, toml::array>) {
      if (const T* found = node.as<T>()) return *found;
    } else {
      if (const toml::value<T>* found = node.as<T>()) return found->get();
    }
    refuse(key, fmt::format("`{}` of {} must be {}", key, name, kind));
  }
  /// A text that a terminal shows and does not obey.
  const std::string& words(const toml::node& node, const std::string& key,
                           std::string_view kind) const {
    const auto& text = as<std::string>(node, key, kind);
    const std::string shown = printable(text);
    if (shown == text) return text;
    refuse(key, fmt::format("`{}` of {} holds a control character: '{}'", key, name, shown));
  }
  template <typename Read>
  auto parsed(const std::string& key, Read read) {
    const auto& text = as<std::string>(need(key), key, "a text with a unit, as \"50 GBps\"");
    try {
      return read(text);
    } catch (const InvalidArgument& e) {
      refuse(key, fmt::format("`{}` of {}: {}", key, name, e.what()));
    }
  }
  template <typename Number>
  void check(const std::string& key, Number number, Number least, Number most,
             const char* what = "be") const {
    if (number >= least && number <= most) return;
    refuse(key, fmt::format("`{}` of {} must {} from {} to {}, not {}", key, name, what, least,
                            most, number));
  }
  std::string as_option(const std::string& key, const toml::node& node) const {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* whole = node.as_integer()) return fmt::to_string(whole->get());
    if (const auto* number = node.as_floating_point()) return fmt::to_string(number->get());
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    refuse(key,
           fmt::format("`{}` of {} must be a text, a number, true or false, or a list of these",
                       key, name));
  }
};

TomlTable TomlTable::parse(std::string_view text, const std::string& file) {
  if (const std::string damage = checksum_complaint(text); !damage.empty()) {
    throw InvalidArgument(fmt::format("{}:1: {}", file, damage));
  }
  refuse_deep_nesting(text, file);
  try {
    const auto root = root_of(text);
    return TomlTable(std::make_shared<Place>(Place{root, file, root.get(), "the file"}));
  } catch (const toml::parse_error& e) {
    throw InvalidArgument(fmt::format("{}:{}: no TOML in column {}: {}", file,
                                      e.source().begin.line, e.source().begin.column,
                                      e.description()));
  }
}

bool TomlTable::has(const std::string& key) const { return place_->find(key) != nullptr; }

std::string TomlTable::text(const std::string& key) const {
  const std::string& text = place_->words(place_->need(key), key, "a text in quotes");
  if (text.empty()) refuse(key, fmt::format("`{}` of {} is empty", key, place_->name));
  return text;
}

bool TomlTable::flag(const std::string& key, bool otherwise) const {
  const toml::node* node = place_->find(key);
  return node == nullptr ? otherwise : place_->as<bool>(*node, key, "true or false");
}

int TomlTable::integer(const std::string& key, int least, int most) const {
  const auto number = place_->as<std::int64_t>(place_->need(key), key, "a whole number");
  place_->check<std::int64_t>(key, number, least, most);
  return static_cast<int>(number);
}

double TomlTable::number(const std::string& key, double least, double most) const {
  const toml::node& node = place_->need(key);
  const auto* whole = node.as_integer();
  const double number = whole != nullptr ? static_cast<double>(whole->get())
                                         : place_->as<double>(node, key, "a number");
  place_->check(key, number, least, most);
  return number;
}

Bandwidth TomlTable::bandwidth(const std::string& key) const {
  const Bandwidth rate = place_->parsed(key, parse_bandwidth);
  if (rate.bytes_per_second <= 0) {
    refuse(key, fmt::format("`{}` of {} must be above 0; leave out what does not exist", key,
                            place_->name));
  }
  return rate;
}

Seconds TomlTable::duration(const std::string& key) const {
  return place_->parsed(key, parse_duration);
}

Bytes TomlTable::size(const std::string& key) const { return place_->parsed(key, parse_size); }

std::vector<int> TomlTable::integers(const std::string& key, int least, int most) const {
  constexpr const char* kind = "a list of whole numbers";
  std::vector<int> numbers;
  for (const toml::node& node : place_->as<toml::array>(place_->need(key), key, kind)) {
    const auto number = place_->as<std::int64_t>(node, key, kind);
    place_->check<std::int64_t>(key, number, least, most, "hold numbers");
    numbers.push_back(static_cast<int>(number));
  }
  if (numbers.empty()) refuse(key, fmt::format("`{}` of {} is empty", key, place_->name));
  return numbers;
}

std::vector<bool> TomlTable::flags(const std::string& key) const {
  constexpr const char* kind = "a list of true and false";
  std::vector<bool> flags;
  for (const toml::node& node : place_->as<toml::array>(place_->need(key), key, kind)) {
    flags.push_back(place_->as<bool>(node, key, kind));
  }
  return flags;
}

std::vector<std::string> TomlTable::texts(const std::string& key) const {
  constexpr const char* kind = "a list of texts";
  const toml::node& node = place_->need(key);
  if (node.is_string()) return {place_->words(node, key, kind)};
  std::vector<std::string> texts;
  for (const toml::node& entry : place_->as<toml::array>(node, key, kind)) {
    texts.push_back(place_->words(entry, key, kind));
  }
  if (texts.empty()) refuse(key, fmt::format("`{}` of {} is empty", key, place_->name));
  return texts;
}

TomlTable TomlTable::table(const std::string& key) const {
  const toml::node& node = place_->need(key);
  place_->as<toml::table>(node, key, fmt::format("a table [{}]", key));
  return place_->within(node, fmt::format("[{}]", key));
}

std::vector<TomlTable> TomlTable::tables(const std::string& key) const {
  std::vector<TomlTable> tables;
  const toml::node* node = place_->find(key);
  if (node == nullptr) return tables;
  const std::string kind = fmt::format("a list of tables, [[{}]]", key);
  for (const toml::node& entry : place_->as<toml::array>(*node, key, kind)) {
    place_->as<toml::table>(entry, key, kind);
    tables.push_back(place_->within(entry, fmt::format("[[{}]]", key)));
  }
  return tables;
}

std::vector<std::pair<std::string, TomlTable>> TomlTable::named_tables() const {
  std::vector<std::pair<std::string, TomlTable>> tables;
  const std::string& name = place_->name;
  for (const auto& [key, node] : *place_->table) {
    const std::string own(key.str());
    place_->asked.push_back(own);
    place_->as<toml::table>(node, own, "a table");
    tables.emplace_back(
        own, place_->within(node, fmt::format("[{}.{}]", name.substr(1, name.size() - 2), own)));
  }
  return tables;
}

std::vector<TomlSetting> TomlTable::settings(std::span<const std::string_view> by_semicolon) const {
  std::vector<TomlSetting> settings;
  for (const auto& [name, node] : *place_->table) {
    const std::string key(name.str());
    if (node.is_table()) {
      if (std::ranges::count(place_->asked, key) > 0) continue;
      refuse(key, fmt::format("unknown table [{}]", key));
    }
    TomlSetting setting{key, "", line_of(node)};
    if (const toml::array* list = node.as_array()) {
      const char* const between = std::ranges::count(by_semicolon, key) > 0 ? ";" : ",";
      for (const toml::node& item : *list) {
        setting.value += (setting.value.empty() ? "" : between) + place_->as_option(key, item);
      }
    } else {
      setting.value = place_->as_option(key, node);
    }
    settings.push_back(std::move(setting));
  }
  std::ranges::stable_sort(settings, {}, &TomlSetting::line);
  return settings;
}

void TomlTable::finish() const {
  for (const auto& [name, node] : *place_->table) {
    const std::string key(name.str());
    if (std::ranges::count(place_->asked, key) > 0) continue;
    const std::set<std::string> keys(place_->asked.begin(), place_->asked.end());
    const std::vector<std::string> known(keys.begin(), keys.end());
    refuse(key, fmt::format("{} has no key `{}` here; its keys are {}.{}", place_->name, key,
                            fmt::join(known, ", "), did_you_mean(key, known)));
  }
}

void TomlTable::refuse(const std::string& key, const std::string& what) const {
  place_->refuse(key, what);
}

std::string TomlTable::place() const {
  return fmt::format("{}:{}", place_->file, line_of(*place_->table));
}

const std::string& TomlTable::file() const { return place_->file; }

std::string toml_quoted(const std::string& text) {
  std::string safe = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') safe += '\\';
    safe += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return safe + '"';
}

}  // namespace collbench
