#include "cli/config_file.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '+';
}

/// A cursor over one line.
class LineReader {
 public:
  LineReader(std::string_view line, const std::string& file, int number)
      : rest_(line), file_(file), number_(number) {}

  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }
  bool at_end() {
    skip_blanks();
    return rest_.empty() || rest_.front() == '#';
  }
  bool take(char c) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c, std::string_view where) {
    if (!take(c)) fail(fmt::format("expected '{}' {}", c, where));
  }
  std::string bare_word(std::string_view what) {
    skip_blanks();
    std::size_t length = 0;
    while (length < rest_.size() && is_bare(rest_[length])) ++length;
    if (length == 0) fail(fmt::format("expected {}", what));
    const std::string word(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return word;
  }
  std::string scalar() {
    skip_blanks();
    if (take('"')) return quoted('"');
    if (take('\'')) return quoted('\'');
    return bare_word("a value: a \"string\", a number, true or false");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidArgument(fmt::format("{}:{}: {}", file_, number_, what));
  }

 private:
  std::string quoted(char quote) {
    std::string text;
    while (!rest_.empty() && rest_.front() != quote) {
      const bool escaped = quote == '"' && rest_.front() == '\\';
      if (escaped) rest_.remove_prefix(1);
      if (rest_.empty()) break;
      if (escaped && rest_.front() != '"' && rest_.front() != '\\') {
        fail(fmt::format("unknown escape '\\{}'; only \\\" and \\\\ are", rest_.front()));
      }
      text += rest_.front();
      rest_.remove_prefix(1);
    }
    if (rest_.empty()) fail(fmt::format("the string has no closing {}", quote));
    rest_.remove_prefix(1);
    return text;
  }

  std::string_view rest_;
  const std::string& file_;
  int number_;
};

std::string read_value(LineReader& line) {
  if (!line.take('[')) return line.scalar();
  std::string joined;
  for (bool first = true; !line.take(']'); first = false) {
    if (!first) {
      line.expect(',', "or ']' after an item of an array");
      if (line.take(']')) break;
      joined += ',';
    }
    joined += line.scalar();
  }
  return joined;
}

void read_table_header(LineReader& line) {
  const std::string table = line.bare_word("the name of a table");
  line.expect(']', "after the name of a table");
  if (table != "run") line.fail(fmt::format("unknown table [{}]; only [run] is known", table));
}

}  // namespace

std::vector<ConfigEntry> parse_config(std::string_view text, const std::string& file) {
  std::vector<ConfigEntry> entries;
  std::set<std::string> seen;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    LineReader line(text.substr(0, end), file, ++number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.at_end()) continue;
    if (line.take('[')) {
      read_table_header(line);
    } else {
      const std::string key = line.bare_word("a key");
      line.expect('=', fmt::format("after the key '{}'", key));
      entries.push_back({key, read_value(line), number});
      if (!seen.insert(key).second) line.fail(fmt::format("'{}' is given twice", key));
    }
    if (!line.at_end()) line.fail("unexpected text at the end of the line");
  }
  return entries;
}

std::string read_text_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  // A folder can be opened, but not read.
  if (!in || std::filesystem::is_directory(path)) {
    throw Unavailable(fmt::format("cannot read the file '{}'", path));
  }
  text << in.rdbuf();
  return text.str();
}

}  // namespace collbench
