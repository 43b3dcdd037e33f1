#include "core/plain_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace collbench {
namespace {

bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\n' && c != '\t') || code == 0x7f;
}

// Bytes of the first character; 1 of what is no UTF-8.
std::size_t utf8_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0xc2   ? 1
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 1;
  if (length > text.size()) return 1;
  const auto is_further = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; };
  const std::string_view further = text.substr(1, length - 1);
  return std::all_of(further.begin(), further.end(), is_further) ? length : 1;
}

// U+202A to U+202E and U+2066 to U+2069, after which text is shown in another order than it has.
bool turns_direction(std::string_view character) {
  return character.size() == 3 && ((character >= "\u202a" && character <= "\u202e") ||
                                   (character >= "\u2066" && character <= "\u2069"));
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    const auto last = static_cast<unsigned char>(text[at + length - 1]);
    // U+0080 to U+009F are two bytes of UTF-8, or one where a terminal does not speak that.
    const bool is_high = last >= 0x80 && last < 0xa0 && (length == 1 || text[at] == '\xc2');
    if (is_control(text[at]) || is_high || turns_direction(text.substr(at, length))) {
      for (const char c : text.substr(at, length)) {
        shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      }
    } else {
      shown += text.substr(at, length);
    }
    at += length;
  }
  return shown;
}

std::string without_terminal_codes(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool code = text[at] == '\033' && at + 1 < text.size() && text[at + 1] == '[';
    // ESC [ parameters, and a letter that ends them
    if (code) at = std::min(text.find_first_not_of("0123456789;?", at + 2), text.size());
    const bool kept = !code && (text[at] == '\r' || !is_control(text[at]));
    if (kept) plain += text[at];
  }
  return plain;
}

std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

bool deeper_than(std::string_view text, int levels) {
  int depth = 0;
  QuoteScanner quotes;
  for (const char c : text) {
    if (!quotes.outside(c)) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > levels) return true;
  }
  return false;
}

std::string library_reason(const std::exception& error) {
  std::string_view reason = error.what();
  // "[json.exception.type_error.302] type must be number, but is string"
  const std::size_t end = reason.find("] ");
  if (reason.starts_with('[') && end != reason.npos && end > 1 &&
      reason.find_first_not_of("abcdefghijklmnopqrstuvwxyz_.0123456789", 1) == end) {
    reason.remove_prefix(end + 2);
  }
  constexpr std::string_view filesystem = "filesystem error: ";
  if (reason.starts_with(filesystem)) reason.remove_prefix(filesystem.size());
  return std::string(reason);
}

}  // namespace collbench
