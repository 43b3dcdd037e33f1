#include "bench/foreign/launcher_tags.h"

#include <cstdint>

#include "bench/foreign/foreign_readers.h"
#include "core/parse.h"

namespace collbench {
namespace {

constexpr std::string_view tag_digits = "0123456789";

bool is_table_heading(std::string_view line) {
  for (const std::string_view word : {"busbw", "# OSU", "Latency(us)", "t_avg[usec]"}) {
    if (line.find(word) != line.npos) return true;
  }
  return false;
}

/// "2026-05-20T10:11:12.123456789Z ", as `kubectl logs --timestamps` writes it.
std::string_view time_stamp(std::string_view line) {
  constexpr std::string_view form = "0000-00-00T00:00:00";
  if (line.size() < form.size()) return {};
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool fits =
        form[i] == '0' ? tag_digits.find(line[i]) != tag_digits.npos : line[i] == form[i];
    if (!fits) return {};
  }
  const std::size_t end = line.find(' ');
  return end == line.npos ? std::string_view{} : line.substr(0, end + 1);
}

/// "[pod/launcher-0/main] " or "[host] ", "launcher-0: ".
std::string_view first_word(std::string_view line) {
  const std::size_t end = line.find(' ');
  if (end == line.npos) return {};
  const std::string_view word = line.substr(0, end);
  const bool is_name = word.ends_with(':') || (word.starts_with('[') && word.ends_with(']'));
  return is_name ? line.substr(0, end + 1) : std::string_view{};
}

/// What stands before a line.
struct Prefix {
  enum class Kind : std::uint8_t { none, time, tag, word };
  Kind kind = Kind::none;
  std::string_view text;

  /// What of it stands before a line: a time is another one on each, a word may end it.
  std::string_view before(std::string_view line) const {
    if (kind == Kind::time) return time_stamp(line);
    if (kind == Kind::tag) return launcher_tag(line) == text ? text : std::string_view{};
    return line.starts_with(trimmed(text)) ? line.substr(0, text.size()) : std::string_view{};
  }
};
Prefix prefix_at(std::string_view line) {
  if (const auto stamp = time_stamp(line); !stamp.empty()) return {Prefix::Kind::time, stamp};
  if (const auto tag = launcher_tag(line); !tag.empty()) return {Prefix::Kind::tag, tag};
  if (const auto word = first_word(line); !word.empty()) return {Prefix::Kind::word, word};
  return {};
}

/// That of the first heading that has one; where none has, of the first row.
Prefix prefix_of(const std::vector<TextLine>& lines) {
  for (const bool of_row : {false, true}) {
    for (const TextLine& line : lines) {
      const Prefix prefix = prefix_at(line.text);
      if (prefix.kind == Prefix::Kind::none) continue;
      const bool is_word = prefix.kind == Prefix::Kind::word;
      std::string_view rest = trimmed(line.text.substr(prefix.text.size()));
      if (is_word) rest.remove_prefix(time_stamp(rest).size());
      const bool is_heading = is_table_heading(rest) && (!is_word || rest.starts_with('#'));
      if (of_row ? is_nccl_row(rest) : is_heading) return prefix;
    }
  }
  return {};
}

/// The lines without `prefix`; those with another launcher's tag are empty.
std::string without(const Prefix& prefix, const std::vector<TextLine>& lines) {
  std::string plain;
  for (const TextLine& line : lines) {
    const std::string_view own = prefix.before(line.text);
    if (!own.empty()) {
      std::string_view rest = line.text.substr(own.size());
      // MPICH's stands before each piece that was written, also within a line.
      for (std::size_t at = 0; (at = rest.find(own)) != rest.npos;) {
        plain.append(rest.substr(0, at)).append(" ");
        rest.remove_prefix(at + own.size());
      }
      plain.append(rest);
    } else if (prefix.kind != Prefix::Kind::tag || launcher_tag(line.text).empty()) {
      plain.append(line.text);
    }
    plain += '\n';
  }
  return plain;
}

}  // namespace

std::string_view launcher_tag(std::string_view line) {
  if (line.starts_with('[')) {
    const std::size_t close = line.find_first_of("] ");
    if (close == line.npos || line[close] != ']' || close < 2) return {};
    if (tag_digits.find(line[close - 1]) == tag_digits.npos) return {};
    for (const std::string_view stream : {"<stdout>:", "<stderr>:"}) {
      if (line.substr(close + 1).starts_with(stream)) {
        return line.substr(0, close + 1 + stream.size());
      }
    }
    const bool is_number = line.substr(1, close - 1).find_first_not_of(tag_digits) == line.npos;
    return is_number ? line.substr(0, close + 1) : std::string_view{};
  }
  const std::size_t end = line.find_first_not_of(tag_digits);
  const bool is_srun = end != 0 && end != line.npos && line.substr(end).starts_with(": ");
  return is_srun ? line.substr(0, end + 1) : std::string_view{};
}

std::string without_launcher_tags(std::string_view text) {
  constexpr int most = 3;  // a pod, a time and a launcher's
  std::string plain(text);
  for (int i = 0; i < most; ++i) {
    const std::vector<TextLine> lines = lines_of(plain);
    const Prefix prefix = prefix_of(lines);
    if (prefix.kind == Prefix::Kind::none) break;
    plain = without(prefix, lines);
  }
  return plain;
}

}  // namespace collbench
