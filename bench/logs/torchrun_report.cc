#include "bench/logs/torchrun_report.h"

#include <fmt/format.h>

#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {

void TorchrunReport::take(std::string_view line) {
  if (line.starts_with("Root Cause (first observed failure)")) {
    rank_ = -1;
    is_in_it_ = true;
  }
  const std::size_t colon = is_in_it_ ? line.find(": ") : line.npos;
  if (colon == line.npos) return;
  const std::string_view key = trimmed(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 2));
  const std::string_view number = value.substr(0, value.find(' '));
  if (key == "host") host_ = printable(value);
  if (key == "rank") rank_ = small_integer_in(number, 0, 1 << 20).value_or(-1);
  if (key != "exitcode") return;
  is_in_it_ = false;
  const auto code = small_integer_in(number, -255);
  if (rank_ < 0 || !code) return;
  constexpr int aborted = -6;  // by its watchdog: it waited for others
  constexpr int told_to_end = -15;
  const std::string how =
      *code < 0 ? fmt::format("by signal {}", -*code) : fmt::format("with exit code {}", *code);
  job_.note_once(fmt::format("torchrun: the first to fail was rank {}{}, {}", rank_,
                             host_.empty() ? "" : " on " + host_, how));
  if (*code == aborted) return;
  ended_ = fmt::format("{}, rank {} first", how, rank_);
  if (*code < 0 && *code != told_to_end) job_.missing_ranks.push_back(rank_);
}

}  // namespace collbench
