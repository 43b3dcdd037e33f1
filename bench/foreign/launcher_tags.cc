#include "bench/foreign/launcher_tags.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "bench/foreign/foreign_readers.h"
#include "bench/foreign/nccl_rows.h"
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

/// Whether the word begins with the digits and signs of `form`, in which 0 stands for a digit.
bool has_form(std::string_view word, std::string_view form) {
  if (word.size() < form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool fits =
        form[i] == '0' ? tag_digits.find(word[i]) != tag_digits.npos : word[i] == form[i];
    if (!fits) return false;
  }
  return true;
}

/// The first word of a line and the blanks behind it; empty if nothing follows.
std::string_view word_with_blank(std::string_view line) {
  const std::size_t end = line.find(' ');
  const std::size_t next = end == line.npos ? end : line.find_first_not_of(' ', end);
  return next == line.npos ? std::string_view{} : line.substr(0, next);
}

/// "2026-05-20T10:11:12.123456789Z ", as `kubectl logs --timestamps` writes it, "[2026-05-20
/// 10:11:12,123] ", "[10:11:12] ", and syslog's "Nov 30 06:02:42 ".
std::string_view time_stamp(std::string_view line) {
  std::size_t end = 0;
  const auto take = [&](std::initializer_list<std::string_view> forms) {
    const std::string_view word = word_with_blank(line.substr(end));
    const bool fits = !word.empty() && std::ranges::any_of(forms, [&](std::string_view form) {
      return has_form(word.substr(word.front() == '[' ? 1 : 0), form);
    });
    end += fits ? word.size() : 0;
    return fits;
  };
  if (take({"0000-00-00T00:00:00", "00:00:00"})) return line.substr(0, end);
  constexpr std::string_view months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec ";
  const std::string_view month = word_with_blank(line);
  const bool is_syslog = month.size() >= 4 && months.find(month.substr(0, 4)) != months.npos;
  if (is_syslog) end = month.size();
  const bool has_day = is_syslog ? take({"00 ", "0 "}) : take({"0000-00-00"});
  return has_day && take({"00:00:00"}) ? line.substr(0, end) : std::string_view{};
}

/// "[pod/launcher-0/main] " or "[host] ", "launcher-0: ".
std::string_view first_word(std::string_view line) {
  const std::string_view word = trimmed(word_with_blank(line));
  const bool is_name = word.ends_with(':') || (word.starts_with('[') && word.ends_with(']'));
  return is_name ? line.substr(0, word.size() + 1) : std::string_view{};
}

/// What of words stands before a heading that begins with '#', up to a time or a launcher's tag:
/// "launcher-0 main ", "node1 app[123]: ".
std::string_view names_before_heading(std::string_view line) {
  const std::size_t sign = line.find('#');
  if (sign == line.npos || !is_table_heading(line.substr(sign))) return {};
  std::size_t end = 0;
  while (end < sign) {
    const std::string_view rest = line.substr(end, sign - end);
    if (end > 0 && (!launcher_tag(rest).empty() || !time_stamp(line.substr(end)).empty())) break;
    const std::string_view word = word_with_blank(line.substr(end));
    end = std::min(sign, word.empty() ? sign : end + word.size());
  }
  return line.substr(0, end);
}

/// What stands before a line.
struct Prefix {
  enum class Kind : std::uint8_t { none, time, tag, words };
  Kind kind = Kind::none;
  std::string_view text;

  /// What of it stands before a line: a time is another one on each, words may end it.
  std::string_view before(std::string_view line) const {
    if (kind == Kind::time) return time_stamp(line);
    if (kind == Kind::tag) return launcher_tag(line) == text ? text : std::string_view{};
    return line.starts_with(trimmed(text)) ? line.substr(0, text.size()) : std::string_view{};
  }
};
Prefix prefix_at(std::string_view line) {
  if (const auto stamp = time_stamp(line); !stamp.empty()) return {Prefix::Kind::time, stamp};
  if (const auto tag = launcher_tag(line); !tag.empty()) return {Prefix::Kind::tag, tag};
  return {};
}

/// That of the first heading that has one, if it stands before another line, too.
Prefix prefix_of_heading(const std::vector<TextLine>& lines) {
  for (const TextLine& line : lines) {
    const Prefix prefix = prefix_at(line.text);
    if (prefix.kind != Prefix::Kind::none) {
      const std::string_view rest = line.text.substr(prefix.text.size());
      const bool is_tag = prefix.kind == Prefix::Kind::tag;
      if (is_table_heading(rest) && (is_tag || rest.find('#') != rest.npos)) return prefix;
      continue;
    }
    const Prefix names{Prefix::Kind::words, names_before_heading(line.text)};
    const auto has_them = [&](const TextLine& each) { return !names.before(each.text).empty(); };
    if (!names.text.empty() && std::ranges::count_if(lines, has_them) > 1) return names;
  }
  return {};
}

/// That of the first heading; where none has one, of the first row.
Prefix prefix_of(const std::vector<TextLine>& lines) {
  if (const Prefix found = prefix_of_heading(lines); found.kind != Prefix::Kind::none) return found;
  for (const TextLine& line : lines) {
    Prefix prefix = prefix_at(line.text);
    if (prefix.kind == Prefix::Kind::none) prefix = {Prefix::Kind::words, first_word(line.text)};
    std::string_view rest = trimmed(line.text.substr(prefix.text.size()));
    if (prefix.kind == Prefix::Kind::words) rest.remove_prefix(time_stamp(rest).size());
    if (!prefix.text.empty() && is_nccl_row(rest)) return prefix;
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
  constexpr int most = 5;  // a pod, a time, a host, another time and a launcher's
  std::string plain(text);
  for (int i = 0; i < most; ++i) {
    const std::vector<TextLine> lines = lines_of(plain);
    const Prefix prefix = prefix_of(lines);
    if (prefix.kind == Prefix::Kind::none) break;
    plain = without(prefix, lines);
  }
  return plain;
}

std::string other_table_writer(std::string_view plain) {
  for (const TextLine& line : lines_of(plain)) {
    const std::string_view names = names_before_heading(line.text);
    if (!names.empty()) return std::string(trimmed(names));
  }
  return {};
}

}  // namespace collbench
