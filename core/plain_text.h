// Foreign text, made safe for messages and terminals.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace collbench {

/// `text` with control characters, those from U+0080 and those that turn the direction of writing
/// too, as \xNN, but line ends and tabs kept: a terminal must show a wrong value and not obey it.
std::string printable(std::string_view text);

/// `text`, as of a log, without colours and other commands to a terminal.
std::string without_terminal_codes(std::string_view text);

/// `text` without the mark of UTF-8 that some editors begin files with.
std::string_view without_byte_order_mark(std::string_view text);

/// Whether `part` stands somewhere in `text`.
inline bool mentions(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// `text` with the letters of ASCII in lower case.
std::string lower_case(std::string_view text);

/// "1 host", "3 hosts".
std::string counted(std::int64_t count, std::string_view noun);

/// What an exception of a library says, without the codes that some put before it.
std::string library_reason(const std::exception& error);

/// Follows JSON or TOML character by character, to tell its own brackets and commas from those in
/// strings.
class QuoteScanner {
 public:
  /// Whether `next` is of no string; quotes are of theirs.
  bool outside(char next) {
    const bool escaped = std::exchange(escape_, false);
    if (next == '"' && !escaped) quoted_ = !quoted_;
    escape_ = quoted_ && !escaped && next == '\\';
    return !quoted_ && next != '"';
  }

 private:
  bool quoted_ = false;
  bool escape_ = false;  // the character before was a backslash that counts
};

/// Whether brackets outside of quoted strings are nested deeper.
bool deeper_than(std::string_view text, int levels);

}  // namespace collbench
