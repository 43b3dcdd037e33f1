#include "bench/foreign/nccl_rows.h"

#include <algorithm>
#include <string>

#include <fmt/ranges.h>

#include "bench/foreign/foreign_readers.h"
#include "core/parse.h"

namespace collbench {
namespace {

constexpr std::string_view row_digits = "0123456789";

/// Whether the word is of the digits and signs of `form`, in which 0 stands for a digit.
bool is_of_form(std::string_view word, std::string_view form) {
  return std::ranges::equal(word, form, [](char c, char wanted) {
    return wanted == '0' ? row_digits.find(c) != row_digits.npos : c == wanted;
  });
}

}  // namespace

bool is_bare_comment(const std::vector<std::string_view>& words) {
  return words.front() == "nThread" || words.front() == "size" ||
         (words.front() == "Rank" && words.size() > 2 && words[2] == "Group");
}

bool begins_as_nccl_row(const std::vector<std::string_view>& words) {
  if (words.size() < 8) return false;
  const auto is_number = [](std::string_view word) {
    return word.find_first_not_of(row_digits) == word.npos;
  };
  const auto begins_as_one = [](std::string_view word) {
    return word.find_first_of(row_digits) == 0;
  };
  return is_number(words[0]) && is_number(words[1]) && !begins_as_one(words[2]) &&
         !begins_as_one(words[3]);
}

void drop_time_stamp(std::vector<std::string_view>& row) {
  const std::size_t count = row.size();
  const bool has_one = count > 2 && is_of_form(row[count - 1], "00:00:00") &&
                       is_of_form(row[count - 2], "0000-00-00");
  if (has_one) row.resize(count - 2);
}

std::int64_t NcclHalf::wrong_elements(double figure) const {
  if (figure <= 0.01) return 0;
  return wrong == "error" ? 1 : whole_count(figure);
}

void NcclHalf::read(const std::vector<std::string_view>& words) {
  if (words.size() <= 8 || words[1] != "size") return;
  const auto is_time = [](std::string_view word) { return word == "time" || word == "cputime"; };
  const auto first = std::ranges::find_if(words, is_time);
  if (first == words.end()) return;
  auto second = std::find_if(first + 1, words.end(), is_time);
  if (second == words.end() && words.back() == "timestamp") --second;
  width = std::max<std::size_t>(4, static_cast<std::size_t>(second - first));
  const auto column = [&](std::string_view name) {
    const auto found = std::find(first, second, name);
    return found == second ? 0 : static_cast<std::size_t>(found - first);
  };
  wrong = column("error") > 0 ? "error" : "#wrong";
  least = column("i_min");
  most = column("i_max");
  has_launch_time = *first == "cputime";
}

bool is_nccl_row(std::string_view line) {
  if (line.empty() || row_digits.find(line.front()) == row_digits.npos) return false;
  auto words = split_at_blanks(line);
  drop_time_stamp(words);
  const std::size_t of_halves = words.size() - std::min<std::size_t>(4, words.size());
  const bool has_columns = of_halves / 4 >= 1 && of_halves / 4 <= 2 && of_halves % 4 <= 1;
  if (!has_columns || !begins_as_nccl_row(words)) return false;
  return std::all_of(words.end() - 4, words.end(), [](std::string_view word) {
    return word == "N/A" || number_in(word, 0).has_value();
  });
}

std::optional<CollectiveKind> collective_of_test(std::string_view name) {
  std::string test = letters_of(name.substr(name.rfind('/') + 1));
  if (test.ends_with("perf")) test.resize(test.size() - 4);
  for (const std::string_view known : collective_names()) {
    if (letters_of(known) == test) return parse_collective(known);
  }
  return std::nullopt;
}

int NcclColumns::shares() const {
  if (counted <= 0 || bytes.count % counted != 0) return 0;
  return static_cast<int>(std::min<std::int64_t>(bytes.count / counted, 1 << 24));
}

std::optional<CollectiveKind> NcclColumns::collective() const {
  const bool is_cut = shares() > 1;
  if (is_cut && root) return std::nullopt;  // a gather or scatter
  if (is_cut) return reduces ? CollectiveKind::reduce_scatter : CollectiveKind::all_gather;
  if (root) return reduces ? CollectiveKind::reduce : CollectiveKind::broadcast;
  if (reduces) return CollectiveKind::all_reduce;
  return std::nullopt;
}

NcclColumns nccl_columns(const std::vector<std::string_view>& words, bool says_root, Bytes bytes,
                         DataType type) {
  NcclColumns columns{.reduces = words[3] != "none", .bytes = bytes};
  if (says_root) columns.root = small_integer_in(words[4], 0);
  const auto count = integer_in(words[1], 0, std::int64_t{1} << 58);
  columns.counted = count.value_or(0) * size_of(type);
  return columns;
}

std::optional<NcclDevice> nccl_device(const std::vector<std::string_view>& words) {
  const std::optional<int> rank = small_integer_in(words[2], 0, highest_nccl_rank);
  if (!rank) return std::nullopt;
  NcclDevice device{*rank, "", ""};
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "on" && i + 1 < words.size()) device.host = words[i + 1];
    if (words[i - 1].starts_with('[') && words[i - 1].ends_with(']')) {
      device.name = fmt::format(
          "{}", fmt::join(words.begin() + static_cast<std::ptrdiff_t>(i), words.end(), " "));
      break;
    }
  }
  return device;
}

}  // namespace collbench
