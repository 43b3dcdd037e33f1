#include "bench/foreign/launcher_tags.h"

#include "bench/foreign/foreign_readers.h"

namespace collbench {
namespace {

constexpr std::string_view tag_digits = "0123456789";

bool is_table_heading(std::string_view line) {
  for (const std::string_view word : {"busbw", "# OSU", "Latency(us)", "t_avg[usec]"}) {
    if (line.find(word) != line.npos) return true;
  }
  return false;
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
  const std::vector<TextLine> lines = lines_of(text);
  std::string_view wanted;
  for (const TextLine& line : lines) {
    if (!is_table_heading(line.text)) continue;
    wanted = launcher_tag(line.text);
    break;
  }
  if (wanted.empty()) return std::string(text);
  std::string plain;
  for (const TextLine& line : lines) {
    const std::string_view tag = launcher_tag(line.text);
    if (tag == wanted) {
      std::string_view rest = line.text.substr(tag.size());
      // MPICH's stands before each piece that was written, also within a line.
      for (std::size_t at = 0; (at = rest.find(tag)) != rest.npos;) {
        plain.append(rest.substr(0, at)).append(" ");
        rest.remove_prefix(at + tag.size());
      }
      plain.append(rest);
    } else if (tag.empty()) {
      plain.append(line.text);
    }
    plain += '\n';
  }
  return plain;
}

}  // namespace collbench
