// The status that NCCL's RAS gives, as JSON or as the text for people: how many collectives each
// rank has issued. Source of the text's form: NVIDIA/nccl 2.30, src/ras/client_support.cc.
#include <optional>
#include <set>

#include <fmt/format.h>

#include "bench/logs/log_json.h"
#include "bench/logs/log_readers.h"
#include "core/error.h"
#include "core/json.h"
#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

using nlohmann::json;

constexpr std::int64_t most_ras_ranks = 1 << 20;

void take_communicator(const json& status, JobLog& job) {
  const std::int64_t size = integer_at(status, "size", 0);
  if (size < 1 || size > most_ras_ranks) {
    ++job.left_out["communicators of RAS without a size"];
    return;
  }
  const int communicator = job.communicator(text_at(status, "hash"), "", static_cast<int>(size));
  std::set<int> listed;
  for (const json& rank : status.value("ranks", json::array())) {
    const std::int64_t number = integer_at(rank, "rank");
    const json counts = rank.is_object() ? rank.value("collective_counts", json::object()) : json();
    if (number < 0 || number >= size || !counts.is_object()) {
      ++job.left_out["ranks of RAS without number or counts"];
      continue;
    }
    listed.insert(static_cast<int>(number));
    for (const auto& [name, count] : counts.items()) {
      if (!count.is_number_integer()) continue;
      job.issued.push_back(
          {communicator, static_cast<int>(number), logged_kind(name), count.get<std::int64_t>()});
    }
  }
  for (const json& missing : status.value("missing_ranks", json::array())) {
    const std::int64_t rank = missing.is_object()           ? integer_at(missing, "rank")
                              : missing.is_number_integer() ? missing.get<std::int64_t>()
                                                            : -1;
    if (rank < 0 || rank >= size) continue;
    job.missing_ranks.push_back(static_cast<int>(rank));
    listed.insert(static_cast<int>(rank));
  }
  // Where only their number is said, they are those that are not listed.
  const auto absent = size - static_cast<std::int64_t>(listed.size());
  if (absent == 0 || integer_at(status, "missing_ranks_count", 0) < absent) return;
  for (int rank = 0; rank < size; ++rank) {
    if (!listed.contains(rank)) job.missing_ranks.push_back(rank);
  }
}

/// The whole number at the begin of `text`, which is moved behind it; none if there is none.
std::optional<std::int64_t> take_number(std::string_view& text) {
  text = trimmed(text);
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  const auto number = small_integer_in(text.substr(0, digits), 0, 1 << 30);
  text.remove_prefix(digits);
  if (!number) return {};
  return *number;
}

/// Whether `text` begins with `start`, which is then removed.
bool take_word(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

/// The text names a rank where few have its count, and else only how many have it.
class RasText {
 public:
  explicit RasText(JobLog& job) : job_(job) {}

  void take_line(std::string_view line) {
    std::string_view rest = line;
    if (rest.empty()) return end_absent();
    if (rest == "INCOMPLETE") return begin_absent("does not answer");
    if (rest == "DEAD") return begin_absent("is dead");
    if (take_word(rest, "#")) return begin_communicator(rest);
    if (!fate_.empty()) return take_absent(trimmed(rest));
    if (rest.starts_with("  Rank ")) return take_rank(rest.substr(7));
    if (take_word(rest, "  Communicator ranks have different ")) return begin_counts(rest);
    if (take_word(rest, "  Missing communicator data from ")) return begin_missing(rest);
    if (rest.starts_with("  The missing rank")) {
      for (const int rank : ranks_in_text(rest)) add_missing(rank);
      return;
    }
    if (take_group(rest)) return;
    const auto ranks = take_number(rest);
    if (!ranks || communicator_ < 0) return;
    if (rest.starts_with(" ranks have not launched")) begin_same(*ranks, 0);
    if (!take_word(rest, " ranks have launched up to operation ")) return;
    if (const auto count = take_number(rest)) begin_same(*ranks, *count);
  }

  /// Whether it said that data of some ranks is missing.
  bool is_incomplete() const { return is_incomplete_; }

  void end() {
    end_absent();
    end_counts();
  }

 private:
  /// Ranks of which only their number is said are those that nothing names.
  void end_counts() {
    end_same();
    if (unlisted_ > 0) job_.left_out["missing ranks that RAS does not name"] += unlisted_;
    unlisted_ = 0;
    const auto named = static_cast<std::int64_t>(counted_.size());
    if (unnamed_.size() == 1 && unnamed_[0].ranks + named == size_) {
      for (int rank = 0; rank < size_; ++rank) {
        if (!counted_.contains(rank)) add(rank, unnamed_[0].count);
      }
    } else {
      for (const SameCount& same : unnamed_) {
        job_.left_out["ranks whose counts RAS gives without their numbers"] += same.ranks;
      }
    }
    unnamed_.clear();
    counted_.clear();
    kind_.reset();
  }

  struct SameCount {
    std::int64_t ranks = 0;
    std::int64_t count = 0;
  };

  /// "    0         1         2         4         8         8   RUNNING  MISMATCH".
  bool take_group(std::string_view line) {
    std::vector<std::int64_t> numbers;
    while (const auto number = take_number(line)) {
      if (take_word(line, "-")) take_number(line);  // "4-8" ranks on a node
      numbers.push_back(*number);
    }
    if (numbers.size() != 6 || trimmed(line).empty()) return false;
    if (numbers[4] < 1 || numbers[4] > most_ras_ranks) return false;
    sizes_[numbers[0]] = numbers[4];
    return true;
  }
  /// "0-0 (52a6ce56a4f91e2f) MISMATCH", of a group.
  void begin_communicator(std::string_view text) {
    end();
    missing_ = false;
    communicator_ = -1;
    const auto group = take_number(text);
    const std::size_t open = text.find('(');
    const std::size_t close = text.find(')');
    if (!group || !sizes_.contains(*group) || open > close || close == text.npos) {
      ++job_.left_out["communicators of RAS without a size"];
      return;
    }
    size_ = sizes_[*group];
    const std::string hash(text.substr(open + 1, close - open - 1));
    communicator_ = job_.communicator("0x" + hash, "", static_cast<int>(size_));
  }
  /// Of processes of the job: their number, then those that RAS lists, if they are few.
  void begin_absent(std::string_view fate) {
    end();
    communicator_ = -1;
    fate_ = fate;
  }
  void take_absent(std::string_view text) {
    is_incomplete_ = true;
    if (take_word(text, "Process ")) {
      job_.absent.push_back(fmt::format("process {} {}", printable(text), fate_));
      --unlisted_;
    } else {
      take_word(text, "Missing communicator data from ");
      if (const auto count = take_number(text)) unlisted_ += *count;
    }
  }
  void end_absent() {
    if (unlisted_ > 0 && !fate_.empty()) {
      job_.absent.push_back(fmt::format("each of {} job processes {}", unlisted_, fate_));
    }
    if (!fate_.empty()) unlisted_ = 0;
    fate_ = {};
  }

  void begin_missing(std::string_view text) {
    is_incomplete_ = missing_ = true;
    unlisted_ = take_number(text).value_or(0);
  }
  void add_missing(int rank) {
    if (rank >= size_ || communicator_ < 0) return;
    job_.missing_ranks.push_back(rank);
    --unlisted_;
  }

  void begin_counts(std::string_view text) {
    end_counts();
    const std::size_t end = text.find(" operation counts");
    if (end != text.npos) kind_ = logged_kind(text.substr(0, end));
  }
  void begin_same(std::int64_t ranks, std::int64_t count) {
    end_same();
    if (kind_) same_ = {ranks, count};
  }
  void end_same() {
    if (same_.ranks > 0) unnamed_.push_back(same_);
    same_ = {};
  }
  /// "2 has launched up to operation 1207 -- GPU ..", or "2 -- GPU .." of the count above it.
  void take_rank(std::string_view text) {
    const auto rank = take_number(text);
    if (!rank || *rank >= size_ || communicator_ < 0) return;
    const bool of_count_above = text.starts_with(" --");
    if (missing_ && !kind_) {
      add_missing(static_cast<int>(*rank));
    } else if (kind_ && of_count_above && same_.ranks > 0) {
      add(static_cast<int>(*rank), same_.count);
      --same_.ranks;
    } else if (kind_ && text.starts_with(" has not launched")) {
      add(static_cast<int>(*rank), 0);
    } else if (kind_ && take_word(text, " has launched up to operation ")) {
      if (const auto count = take_number(text)) add(static_cast<int>(*rank), *count);
    }
  }
  void add(int rank, std::int64_t count) {
    if (!counted_.insert(rank).second) return;
    job_.issued.push_back({communicator_, rank, *kind_, count});
  }

  JobLog& job_;
  std::map<std::int64_t, std::int64_t> sizes_;  // ranks of a communicator by group
  int communicator_ = -1;
  std::int64_t size_ = 0;
  bool missing_ = false;
  bool is_incomplete_ = false;
  std::string_view fate_;      // of the processes that come
  std::int64_t unlisted_ = 0;  // processes or ranks that were counted and not listed yet
  std::optional<LoggedKind> kind_;
  SameCount same_;  // the count above; its ranks are those that are not named yet
  std::vector<SameCount> unnamed_;
  std::set<int> counted_;
};

}  // namespace

void read_nccl_ras_text(std::string_view text, const std::string& file, JobLog& job) {
  RasText status(job);
  const std::size_t begin = text.find("Communicators...");
  require(begin != text.npos, file + ": a status of NCCL's RAS has 'Communicators...'");
  bool warned = false;
  for_each_line(text.substr(begin), [&](std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    status.take_line(line);
    warned = warned || line == "Warnings";
  });
  status.end();
  if (!warned) ++job.left_out["ends of RAS texts that were cut short"];
  if (job.issued.empty() && !status.is_incomplete()) {
    job.note_once("RAS counts as many collectives on all ranks of each communicator");
  }
}

void read_nccl_ras(std::string_view text, const std::string& file, JobLog& job) {
  const json status = log_json(text, file, job);
  const auto communicators = status.is_object() ? status.find("communicators") : status.end();
  require(communicators != status.end() && communicators->is_array(),
          file + ": a status of NCCL's RAS has 'communicators'");
  for (const json& communicator : *communicators) take_communicator(communicator, job);
}

}  // namespace collbench
