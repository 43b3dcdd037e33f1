#include "bench/foreign/row_pieces.h"

#include <algorithm>
#include <optional>

#include "bench/foreign/foreign_readers.h"
#include "core/parse.h"

namespace collbench {
namespace {

constexpr std::string_view count_digits = "0123456789";

/// `text` without the digits that it ends with and what stands before them; nothing if it does not
/// end so.
std::optional<std::string_view> without_number(std::string_view text, std::string_view before) {
  const std::size_t last = text.find_last_not_of(count_digits);
  if (last == text.npos || last + 1 == text.size()) return std::nullopt;
  text = text.substr(0, last + 1);
  if (!text.ends_with(before)) return std::nullopt;
  return text.substr(0, text.size() - before.size());
}

/// What stands before "host:1469:1480 [0] NCCL INFO ..", the host included; nothing if no such
/// output is in the line.
std::optional<std::string_view> up_to_host(std::string_view line) {
  const std::size_t at = line.find("] NCCL ");
  if (at == line.npos) return std::nullopt;
  auto rest = without_number(line.substr(0, at), " [");
  if (rest) rest = without_number(*rest, ":");
  if (rest) rest = without_number(*rest, ":");
  return rest;
}

/// "8   2   float", with whatever comes behind it.
bool begins_a_row(std::string_view text) {
  const auto words = split_at_blanks(text);
  return words.size() >= 3 && words[0].find_first_not_of(count_digits) == text.npos &&
         words[1].find_first_not_of(count_digits) == text.npos &&
         count_digits.find(words[2].front()) == text.npos;
}

}  // namespace

std::string_view RowPieces::end_row(std::string_view line) {
  whole_ = pieces_ + " " + std::string(line);
  const std::string_view whole = trimmed(whole_);
  pieces_.clear();
  if (is_nccl_row(whole)) return whole;
  ++lost_;
  return line;
}

std::string_view RowPieces::next(std::string_view line, const std::set<std::string>& hosts) {
  const auto before = up_to_host(line);
  if (!before) return pieces_.empty() ? line : end_row(line);
  std::size_t longest = 0;
  for (const std::string& host : hosts) {
    if (before->ends_with(host)) longest = std::max(longest, host.size());
  }
  const bool is_alone = before->find_first_of(" \t") == before->npos;
  if (longest == 0 && !is_alone) {  // where the piece ends is not known
    if (!pieces_.empty() || begins_a_row(*before)) ++lost_;
    pieces_.clear();
    return {};
  }
  if (longest == 0) return {};
  const std::string_view piece = trimmed(before->substr(0, before->size() - longest));
  if (begins_a_row(piece)) {
    if (!pieces_.empty()) ++lost_;
    pieces_.clear();
  } else if (pieces_.empty()) {
    return piece;
  }
  pieces_.append(" ").append(piece);
  return {};
}

}  // namespace collbench
