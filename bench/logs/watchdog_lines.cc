#include "bench/logs/watchdog_lines.h"

#include <algorithm>

#include "bench/logs/log_json.h"
#include "bench/logs/log_readers.h"
#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {

std::optional<std::int64_t> number_behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  return integer_in(text.substr(0, text.find_first_not_of("-0123456789")), -1);
}

std::optional<std::int64_t> number_waited_in(std::string_view text) {
  const auto number = number_behind(text, "work: ");
  return number ? number : number_behind(text, "work sequence id: ");
}

std::vector<int> listed_ranks(std::string_view text) {
  const std::size_t open = std::min(text.find('['), text.size());
  return ranks_in_text(text.substr(open, text.find(']', open) - open));
}

WatchedGroup watched_group(std::string_view line) {
  WatchedGroup found;
  if (const auto rank = number_behind(line, "[rank")) found.job_rank = static_cast<int>(*rank);
  const std::size_t group = line.find("[PG ");
  std::string_view inside = line.substr(group == line.npos ? 0 : group + 4);
  if (group != line.npos) {
    inside = inside.substr(0, inside.find(']'));
    const std::size_t guid = inside.find("GUID ");
    const std::string_view id = guid == inside.npos ? inside : inside.substr(guid + 5);
    found.id = printable(id.substr(0, id.find_first_of(" (")));
    const std::size_t open = id.find('(');
    if (open != id.npos) found.name = printable(id.substr(open + 1, id.find(')') - open - 1));
  }
  if (const auto rank = number_behind(inside, "Rank ")) found.rank = static_cast<int>(*rank);
  if (found.rank > most_watched_ranks || found.job_rank > most_watched_ranks) return {};
  if (found.job_rank < 0) found.job_rank = found.rank;
  if (found.rank < 0) found.rank = found.job_rank;  // likely of the group of all
  return found;
}

bool has_watchdog(std::string_view output) {
  for (const std::string_view mark :
       {"Watchdog caught collective operation timeout", "ast enqueued NCCL work: ",
        "PG status: last enqueued work: ", " failed to pass monitoredBarrier in",
        "Root Cause (first observed failure):"}) {
    if (output.find(mark) != output.npos) return true;
  }
  return false;
}

}  // namespace collbench
