#include "topologies/toml_table.h"

#include <algorithm>
#include <map>
#include <variant>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "core/error.h"
#include "core/suggest.h"

namespace collbench {

struct TomlNode {
  using Array = std::vector<std::shared_ptr<const TomlNode>>;
  using Table = std::map<std::string, std::shared_ptr<const TomlNode>>;
  int line = 1;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Table> value;
};

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

// toml++ and convert() recurse into dotted keys, lists and tables without a limit, so that a file
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

std::shared_ptr<const TomlNode> convert(const toml::node& source) {
  auto node = std::make_shared<TomlNode>();
  node->line = std::max(1, static_cast<int>(source.source().begin.line));
  if (const toml::table* table = source.as_table()) {
    TomlNode::Table& entries = node->value.emplace<TomlNode::Table>();
    for (const auto& [key, value] : *table) entries.emplace(key.str(), convert(value));
  } else if (const toml::array* array = source.as_array()) {
    TomlNode::Array& entries = node->value.emplace<TomlNode::Array>();
    for (const toml::node& value : *array) entries.push_back(convert(value));
  } else if (const auto* text = source.as_string()) {
    node->value = text->get();
  } else if (const auto* integer = source.as_integer()) {
    node->value = integer->get();
  } else if (const auto* number = source.as_floating_point()) {
    node->value = number->get();
  } else if (const auto* flag = source.as_boolean()) {
    node->value = flag->get();
  }
  return node;
}

}  // namespace

TomlTable::TomlTable(std::shared_ptr<const std::string> file, std::shared_ptr<const TomlNode> node,
                     std::string name)
    : file_(std::move(file)),
      node_(std::move(node)),
      name_(std::move(name)),
      asked_(std::make_shared<std::vector<std::string>>()) {}

TomlTable TomlTable::parse(std::string_view text, const std::string& file) {
  refuse_deep_nesting(text, file);
  try {
    const toml::table root = toml::parse(text);
    return TomlTable(std::make_shared<const std::string>(file), convert(root), "the file");
  } catch (const toml::parse_error& e) {
    throw InvalidArgument(fmt::format("{}:{}: no TOML in column {}: {}", file,
                                      e.source().begin.line, e.source().begin.column,
                                      e.description()));
  }
}

const TomlNode* TomlTable::find(const std::string& key) const {
  asked_->push_back(key);
  const auto& entries = std::get<TomlNode::Table>(node_->value);
  const auto entry = entries.find(key);
  return entry == entries.end() ? nullptr : entry->second.get();
}

const TomlNode& TomlTable::need(const std::string& key) const {
  const TomlNode* node = find(key);
  if (node == nullptr && key == "source") {
    refuse(key, fmt::format("{} needs `source`: where its numbers come from", name_));
  }
  if (node == nullptr) refuse(key, fmt::format("{} needs `{}`", name_, key));
  return *node;
}

template <typename T>
T TomlTable::value(const TomlNode& node, const std::string& key, std::string_view kind) const {
  if (const T* found = std::get_if<T>(&node.value)) return *found;
  refuse(key, fmt::format("`{}` of {} must be {}", key, name_, kind));
}

bool TomlTable::has(const std::string& key) const { return find(key) != nullptr; }

std::string TomlTable::text(const std::string& key) const {
  auto text = value<std::string>(need(key), key, "a text in quotes");
  if (text.empty()) refuse(key, fmt::format("`{}` of {} is empty", key, name_));
  return text;
}

bool TomlTable::flag(const std::string& key, bool otherwise) const {
  const TomlNode* node = find(key);
  return node == nullptr ? otherwise : value<bool>(*node, key, "true or false");
}

int TomlTable::integer(const std::string& key, int least, int most) const {
  const auto number = value<std::int64_t>(need(key), key, "a whole number");
  if (number < least || number > most) {
    refuse(key, fmt::format("`{}` of {} must be from {} to {}, not {}", key, name_, least, most,
                            number));
  }
  return static_cast<int>(number);
}

double TomlTable::number(const std::string& key, double least, double most) const {
  const TomlNode& node = need(key);
  const auto* whole = std::get_if<std::int64_t>(&node.value);
  const double number =
      whole != nullptr ? static_cast<double>(*whole) : value<double>(node, key, "a number");
  if (!(number >= least && number <= most)) {
    refuse(key, fmt::format("`{}` of {} must be from {} to {}, not {}", key, name_, least, most,
                            number));
  }
  return number;
}

template <typename T, typename Read>
T TomlTable::parsed(const std::string& key, Read read) const {
  const auto text = value<std::string>(need(key), key, "a text with a unit, as \"50 GBps\"");
  try {
    return read(text);
  } catch (const InvalidArgument& e) {
    refuse(key, fmt::format("`{}` of {}: {}", key, name_, e.what()));
  }
}

Bandwidth TomlTable::bandwidth(const std::string& key) const {
  const auto rate = parsed<Bandwidth>(key, parse_bandwidth);
  if (rate.bytes_per_second <= 0) {
    refuse(key,
           fmt::format("`{}` of {} must be above 0; leave out what does not exist", key, name_));
  }
  return rate;
}

Seconds TomlTable::duration(const std::string& key) const {
  return parsed<Seconds>(key, parse_duration);
}

Bytes TomlTable::size(const std::string& key) const { return parsed<Bytes>(key, parse_size); }

std::vector<int> TomlTable::integers(const std::string& key, int least, int most) const {
  std::vector<int> numbers;
  for (const auto& node : value<TomlNode::Array>(need(key), key, "a list of whole numbers")) {
    const auto number = value<std::int64_t>(*node, key, "a list of whole numbers");
    if (number < least || number > most) {
      refuse(key, fmt::format("`{}` of {} must hold numbers from {} to {}, not {}", key, name_,
                              least, most, number));
    }
    numbers.push_back(static_cast<int>(number));
  }
  if (numbers.empty()) refuse(key, fmt::format("`{}` of {} is empty", key, name_));
  return numbers;
}

std::vector<bool> TomlTable::flags(const std::string& key) const {
  std::vector<bool> flags;
  for (const auto& node : value<TomlNode::Array>(need(key), key, "a list of true and false")) {
    flags.push_back(value<bool>(*node, key, "a list of true and false"));
  }
  return flags;
}

std::vector<std::string> TomlTable::texts(const std::string& key) const {
  const TomlNode& node = need(key);
  if (const auto* one = std::get_if<std::string>(&node.value)) return {*one};
  std::vector<std::string> texts;
  for (const auto& entry : value<TomlNode::Array>(node, key, "a list of texts")) {
    texts.push_back(value<std::string>(*entry, key, "a list of texts"));
  }
  if (texts.empty()) refuse(key, fmt::format("`{}` of {} is empty", key, name_));
  return texts;
}

TomlTable TomlTable::table(const std::string& key) const {
  const TomlNode& node = need(key);
  value<TomlNode::Table>(node, key, fmt::format("a table [{}]", key));
  // Shares the life of the whole file.
  return TomlTable(file_, std::shared_ptr<const TomlNode>(node_, &node), fmt::format("[{}]", key));
}

std::vector<TomlTable> TomlTable::tables(const std::string& key) const {
  std::vector<TomlTable> tables;
  const TomlNode* node = find(key);
  if (node == nullptr) return tables;
  const std::string kind = fmt::format("a list of tables, [[{}]]", key);
  for (const auto& entry : value<TomlNode::Array>(*node, key, kind)) {
    value<TomlNode::Table>(*entry, key, kind);
    tables.push_back(TomlTable(file_, entry, fmt::format("[[{}]]", key)));
  }
  return tables;
}

std::vector<std::pair<std::string, TomlTable>> TomlTable::named_tables() const {
  std::vector<std::pair<std::string, TomlTable>> tables;
  for (const auto& [key, node] : std::get<TomlNode::Table>(node_->value)) {
    asked_->push_back(key);
    value<TomlNode::Table>(*node, key, "a table");
    tables.emplace_back(
        key,
        TomlTable(file_, node, fmt::format("[{}.{}]", name_.substr(1, name_.size() - 2), key)));
  }
  return tables;
}

std::string TomlTable::as_option(const std::string& key, const TomlNode& node) const {
  if (const auto* text = std::get_if<std::string>(&node.value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&node.value)) return fmt::to_string(*whole);
  if (const auto* number = std::get_if<double>(&node.value)) return fmt::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&node.value)) return *flag ? "true" : "false";
  refuse(key, fmt::format("`{}` of {} must be a text, a number, true or false, or a list of these",
                          key, name_));
}

std::vector<TomlSetting> TomlTable::settings() const {
  std::vector<TomlSetting> settings;
  for (const auto& [key, node] : std::get<TomlNode::Table>(node_->value)) {
    if (std::holds_alternative<TomlNode::Table>(node->value)) {
      if (std::find(asked_->begin(), asked_->end(), key) != asked_->end()) continue;
      refuse(key, fmt::format("unknown table [{}]", key));
    }
    TomlSetting setting{key, "", node->line};
    if (const auto* list = std::get_if<TomlNode::Array>(&node->value)) {
      for (const auto& item : *list) {
        setting.value += (setting.value.empty() ? "" : ",") + as_option(key, *item);
      }
    } else {
      setting.value = as_option(key, *node);
    }
    settings.push_back(std::move(setting));
  }
  std::ranges::stable_sort(settings, {}, &TomlSetting::line);
  return settings;
}

void TomlTable::finish() const {
  for (const auto& [key, node] : std::get<TomlNode::Table>(node_->value)) {
    if (std::find(asked_->begin(), asked_->end(), key) != asked_->end()) continue;
    std::vector<std::string> known = *asked_;
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    refuse(key, fmt::format("{} has no key `{}` here; its keys are {}.{}", name_, key,
                            fmt::join(known, ", "), did_you_mean(key, known)));
  }
}

void TomlTable::refuse(const std::string& key, const std::string& what) const {
  const auto& entries = std::get<TomlNode::Table>(node_->value);
  const auto entry = entries.find(key);
  const int line = entry == entries.end() ? node_->line : entry->second->line;
  throw InvalidArgument(fmt::format("{}:{}: {}", *file_, line, what));
}

std::string TomlTable::place() const { return fmt::format("{}:{}", *file_, node_->line); }

std::string toml_quoted(const std::string& text) {
  std::string safe = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') safe += '\\';
    safe += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return safe + '"';
}

}  // namespace collbench
