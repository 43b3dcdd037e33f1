// The warnings of Horovod's stall inspector in a job's output: ranks that have not submitted
// tensors which others wait for. Source of the form: horovod/horovod, common/stall_inspector.cc of
// 0.18 to 0.28 ("Missing ranks:" or "Stalled ranks:", then "RANK: [tensor, ...]") and
// common/operations.cc before ("tensor [missing ranks: 1, 3]").
#include <map>

#include <fmt/format.h>

#include "bench/foreign/launcher_tags.h"
#include "bench/logs/log_readers.h"
#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

constexpr std::string_view stall_mark = "and are waiting for remainder of ranks for more than";

class StallReader {
 public:
  void take(std::string_view line) {
    // "3: [tensor]" is a rank of the list, and no tag of srun's.
    if (line.starts_with('[')) line.remove_prefix(launcher_tag(line).size());
    line = trimmed(line);
    if (line.find(stall_mark) != line.npos) ++warning_;
    const std::size_t old = line.find("[missing ranks:");
    if (old != line.npos) {
      const std::string_view ranks = line.substr(old + 15, line.find(']', old) - old - 15);
      const std::string_view tensor = without_logger(line.substr(0, old));
      for (const std::string& rank : split_at(ranks, ',')) add(trimmed(rank), tensor);
    } else if (line.starts_with("Missing ranks:") || line.starts_with("Stalled ranks:")) {
      listing_ = true;
    } else if (listing_) {
      const std::size_t colon = line.ends_with(']') ? line.find(": [") : line.npos;
      std::string_view rank = line.substr(0, colon == line.npos ? 0 : colon);
      if (rank.ends_with('!')) rank.remove_suffix(1);  // the job is shut down for it
      listing_ = add(rank, line.substr(colon == line.npos ? 0 : colon + 3));
    }
  }

  void finish(JobLog& job) const {
    for (const auto& [rank, tensor] : tensors_) {
      job.missing_ranks.push_back(rank);
      job.note_once(fmt::format(
          "Horovod: rank {} has not submitted {}{}", rank, tensor,
          warnings_.at(rank) > 1 ? fmt::format(", in the last of {} warnings", warnings_.at(rank))
                                 : ""));
    }
  }

 private:
  /// Behind "[2019-04-13 13:56:31.861786: W horovod/common/operations.cc:588] Stalled ops:".
  static std::string_view without_logger(std::string_view tensor) {
    const std::size_t logger = tensor.rfind("] ");
    if (logger != tensor.npos) tensor.remove_prefix(logger + 2);
    constexpr std::string_view heading = "Stalled ops:";
    if (tensor.starts_with(heading)) tensor.remove_prefix(heading.size());
    return tensor;
  }

  /// Whether it was a rank.
  bool add(std::string_view text, std::string_view tensors) {
    const auto rank = small_integer_in(text, 0, 1 << 20);
    if (!rank) return false;
    if (const auto known = latest_.find(*rank);
        known == latest_.end() || known->second < warning_) {
      latest_[*rank] = warning_;
      tensors_[*rank] = printable(trimmed(tensors.substr(0, tensors.find_first_of(",]"))));
      ++warnings_[*rank];
    }
    return true;
  }

  bool listing_ = false;
  int warning_ = 0;
  // By rank: the last warning of it, the first tensor of that, and how many there were.
  std::map<int, int> latest_;
  std::map<int, std::string> tensors_;
  std::map<int, int> warnings_;
};

}  // namespace

bool has_horovod_stall(std::string_view output) { return output.find(stall_mark) != output.npos; }

void read_horovod_stall(std::string_view text, const std::string&, JobLog& job) {
  StallReader reader;
  for_each_line(text, [&](std::string_view line) { reader.take(line); });
  reader.finish(job);
}

}  // namespace collbench
