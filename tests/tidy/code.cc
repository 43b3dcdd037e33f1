// Reading C++ as text: where code ends and comments begin, where functions begin and end.
#include <algorithm>
#include <regex>

#include "tests/tidy/rules.h"

namespace collbench::tidy {

namespace {

// The end (one past) of the comment or literal that starts at `i`; `i` itself if none does.
std::size_t skip(std::string_view text, std::size_t i) {
  const auto past = [&](std::string_view end, std::size_t from) {
    const std::size_t found = text.find(end, from);
    return found == std::string_view::npos ? text.size() : found + end.size();
  };
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (text.substr(i, 2) == "//") return std::min(text.find('\n', i), text.size());
  if (text.substr(i, 2) == "/*") return past("*/", i + 2);
  if (text.substr(i, 2) == "R\"" && (i == 0 || !is_word(text[i - 1]))) {
    const std::size_t open = text.find('(', i);
    if (open == std::string_view::npos) return text.size();
    return past(")" + std::string(text.substr(i + 2, open - i - 2)) + "\"", open);
  }
  const bool digit_separator = text[i] == '\'' && i > 0 && is_word(text[i - 1]);
  if ((text[i] != '"' && text[i] != '\'') || digit_separator) return i;
  for (std::size_t j = i + 1; j < text.size(); ++j) {
    if (text[j] == '\\') {
      ++j;
    } else if (text[j] == text[i] || text[j] == '\n') {
      return j + 1;
    }
  }
  return text.size();
}

// Whether the text before a brace makes it the body of a function, not of a type, a namespace or
// a list.
bool opens_function(const std::string& head) {
  // Preceded by < or , the word names a template's parameter.
  static const std::regex type_or_namespace(
      "(^|[^<,\\w\\s]\\s*|\\w\\s+|>\\s*)(namespace|class|struct|union|enum)\\b");
  const std::size_t parenthesis = head.find('(');
  if (parenthesis == std::string::npos) return false;
  return !std::regex_search(head.substr(0, parenthesis), type_or_namespace);
}

// Empties the lines of the preprocessor.
std::string without_directives(std::string code) {
  for (std::size_t i = 0; i < code.size();) {
    const std::size_t end = std::min(code.find('\n', i), code.size());
    const std::size_t first = code.find_first_not_of(" \t", i);
    if (first < end && code[first] == '#') {
      code.erase(i, end - i);
      ++i;
    } else {
      i = end + 1;
    }
  }
  return code;
}

}  // namespace

std::string code_of(std::string_view text) {
  std::string code(text);
  for (std::size_t i = 0; i < text.size();) {
    i = std::min(text.find_first_of("/R\"'", i), text.size());  // what skip() may begin with
    if (i == text.size()) break;
    const std::size_t end = skip(text, i);
    std::replace_if(
        code.begin() + static_cast<std::ptrdiff_t>(i),
        code.begin() + static_cast<std::ptrdiff_t>(end), [](char c) { return c != '\n'; }, ' ');
    i = std::max(end, i + 1);
  }
  return code;
}

std::vector<FunctionLines> functions_of(std::string_view text) {
  struct Brace {
    bool function;
    int first_line;
  };
  std::vector<Brace> open;
  std::vector<FunctionLines> found;
  const std::string code = without_directives(code_of(text));
  std::string head;  // the code since the last ; { or }
  int line = 1;
  int head_line = 1;
  bool inside = false;  // of a function
  for (const char c : code) {
    line += c == '\n' ? 1 : 0;
    if (c == '{') {
      open.push_back({!inside && opens_function(head), head_line});
      inside = inside || open.back().function;
    } else if (c == '}' && !open.empty()) {
      if (open.back().function) {
        found.push_back({open.back().first_line, line});
        inside = false;
      }
      open.pop_back();
    }
    if (c == '{' || c == '}' || c == ';') {
      head.clear();
    } else if (!head.empty() || std::isspace(static_cast<unsigned char>(c)) == 0) {
      if (head.empty()) head_line = line;
      head += c;
    }
  }
  return found;
}

}  // namespace collbench::tidy
