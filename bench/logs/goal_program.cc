// GOAL programs as LogGOPSim and ATLAHS read them: text, and the binary form of txt2bin.
//
// Collectives are already taken apart into messages there, so that what can be said is what each
// rank sends and computes. The binary form is packed, in the byte order of its machine: a magic
// number, then for each rank where its nodes are.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>

#include "bench/logs/log_readers.h"
#include "bench/logs/rank_graph.h"
#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

/// `text` without comments.
std::string without_comments(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("//")) {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (rest.starts_with("/*")) {
      const std::size_t end = text.find("*/", at + 2);
      at = end == text.npos ? text.size() : end + 1;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

class GoalReader {
 public:
  GoalReader(const std::string& file, JobLog& job) : file_(file), job_(job) {}

  void take(std::string_view line) {
    const std::vector<std::string_view> words = split_at_blanks(line);
    if (words.empty()) return;
    if (words[0] == "num_ranks" && words.size() >= 2) {
      said_ = small_integer_in(words[1], 0, 1 << 24).value_or(0);
      return;
    }
    if (words[0] == "rank" && words.size() >= 2) {
      finish();
      rank_ = small_integer_in(words[1], 0, 1 << 24).value_or(-1);
    } else if (words[0] == "}") {
      finish();
    } else if (rank_ >= 0 && words.size() >= 3) {
      take_operation(words);
    }
  }

  void finish() {
    if (rank_ >= 0) {
      add_rank_graph(nodes_, rank_, file_, job_);
      programs_.insert(rank_);
    }
    rank_ = -1;
    nodes_.clear();
    labels_.clear();
  }
  bool is_open() const { return rank_ >= 0; }
  /// A program that says another number of ranks than it has is of another run, or lacks some.
  void compare_with_said() const {
    const auto has = static_cast<int>(programs_.size());
    if (said_ <= 0 || (said_ == has && *programs_.rbegin() == said_ - 1)) return;
    job_.note_once(fmt::format("{}: says {} ranks and has programs of {}", file_, said_, has));
  }

 private:
  void take_operation(const std::vector<std::string_view>& words) {
    if (words[1] == "requires" || words[1] == "irequires") {
      const auto one = labels_.find(words[0]);
      const auto other = labels_.find(words[2]);
      if (one != labels_.end() && other != labels_.end()) {
        nodes_[one->second].needs.push_back(other->second);
        return;
      }
    } else if (words[0].ends_with(':')) {
      const bool sends = words[1] == "send";
      std::string_view amount = words[2];
      if (amount.ends_with('b')) amount.remove_suffix(1);
      const auto value = integer_in(amount);
      if (value && (sends || words[1] == "recv" || words[1] == "calc")) {
        labels_.emplace(std::string(words[0].substr(0, words[0].size() - 1)), nodes_.size());
        nodes_.push_back(
            {.id = nodes_.size(), .computes = words[1] == "calc", .bytes = sends ? *value : 0});
        return;
      }
    }
    ++job_.left_out["GOAL lines that are not operations"];
  }

  const std::string& file_;
  JobLog& job_;
  int said_ = 0;            // ranks
  std::set<int> programs_;  // of these there are
  int rank_ = -1;
  std::vector<GraphNode> nodes_;
  std::map<std::string, std::size_t, std::less<>> labels_;
};

template <typename Number>
Number number_in_place(std::string_view bytes, std::uint64_t at, const std::string& file) {
  require(at <= bytes.size() && bytes.size() - at >= sizeof(Number),
          fmt::format("{}: cut short at byte {}, where it has {}", file, at, bytes.size()));
  Number value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

void read_goal_text(std::string_view text, const std::string& file, JobLog& job) {
  GoalReader reader(file, job);
  std::string plain = without_comments(text);
  std::replace(plain.begin(), plain.end(), '\r', ' ');
  for (const std::string& line : split_at(plain, '\n')) reader.take(line);
  if (reader.is_open()) ++job.left_out["ends of GOAL programs that were cut short"];
  reader.finish();
  reader.compare_with_said();
}

void read_goal_binary(std::string_view bytes, const std::string& file, JobLog& job) {
  constexpr std::uint64_t base = 8;     // behind the magic number; offsets count from here
  constexpr std::uint64_t header = 14;  // that, ranks, largest cpu and nic
  constexpr std::uint64_t node_bytes = 39;
  const auto ranks = number_in_place<std::uint32_t>(bytes, base, file);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::uint64_t at = base + number_in_place<std::uint64_t>(bytes, header + 16ULL * rank, file);
    const auto count = number_in_place<std::uint32_t>(bytes, at, file);
    const auto roots = number_in_place<std::uint32_t>(bytes, at + 4, file);
    at += 8 + 4ULL * roots;
    require(at <= bytes.size() && count <= (bytes.size() - at) / node_bytes,
            fmt::format("{}: rank {} has {} operations, which is more than the file holds", file,
                        rank, count));
    std::vector<GraphNode> nodes(count);
    for (std::uint32_t i = 0; i < count; ++i, at += node_bytes) {
      // How many it needs, its kind, peer and size; what follows it stands behind the nodes.
      const auto kind = number_in_place<std::int8_t>(bytes, at + 4, file);
      const auto size = number_in_place<std::uint64_t>(bytes, at + 9, file);
      nodes[i].id = i;
      nodes[i].computes = kind == 3;
      if (kind == 1) nodes[i].bytes = static_cast<std::int64_t>(size & ((1ULL << 50) - 1));
    }
    add_rank_graph(nodes, static_cast<int>(rank), file, job);
  }
}

}  // namespace collbench
