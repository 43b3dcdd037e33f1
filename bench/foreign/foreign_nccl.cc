// nccl-tests' text: "# Rank 0 Group 0 Pid 5 on host device 0 [..] name" lines, then rows
//   size count type redop [root] | time algbw busbw #wrong | time algbw busbw #wrong
// of which the second half may be missing, a half may be N/A, and older versions have no root. With
// -I a half goes on with i_min i_max and others, which the heading names. Where a table was pasted
// without lines of its ranks, the ratio of bus bandwidth and algorithm bandwidth, 2 (n - 1) / n for
// an all-reduce, says how many there are, if its digits leave one number. A root of -1 says that a
// collective has none: rows with another one are of a broadcast or reduce.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/foreign/benchmark_command.h"
#include "bench/foreign/foreign_readers.h"
#include "bench/foreign/ranks_of_test.h"
#include "bench/foreign/row_pieces.h"
#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr int highest_rank = (1 << 24) - 1;
constexpr std::string_view built_without_mpi =
    "so tests that know nothing of each other ran at once, as nccl-tests does where it was built "
    "without MPI=1; each has its own ranks, which are counted";

/// "8   2   float   sum ..." with at least one whole half behind it.
bool is_row(const std::vector<std::string_view>& words) {
  if (words.size() < 8) return false;
  const auto is_number = [](std::string_view word) {
    return word.find_first_not_of(digits) == word.npos;
  };
  const auto begins_as_one = [](std::string_view word) { return word.find_first_of(digits) == 0; };
  return is_number(words[0]) && is_number(words[1]) && !begins_as_one(words[2]) &&
         !begins_as_one(words[3]);
}

/// Of tables that went through Markdown, which takes the '#' away.
bool is_bare_comment(const std::vector<std::string_view>& words) {
  return words.front() == "nThread" || words.front() == "size" ||
         (words.front() == "Rank" && words.size() > 2 && words[2] == "Group");
}

class NcclText {
 public:
  NcclText(const std::string& file, bool takes_all) : file_(file), takes_all_(takes_all) {
    table_.name = file;
  }

  MeasuredTable read(std::string_view text) {
    for (const TextLine& line : lines_of(text)) {
      command_.add(line.text);
      read_line(pieces_.next(line.text, devices_.hosts()), line.number);
    }
    read_line(pieces_.next("", devices_.hosts()), 0);
    end_part();
    if (runs_ < 2 && !takes_all_) {
      for (MeasuredTime& row : table_.times) row.batch.clear();
    }
    add_notes();
    const char* const why =
        rows_seen_ ? "" : ": no line begins with a size, a count, a type and an operator";
    require(!table_.times.empty(),
            fmt::format("{}: no row of nccl-tests' table{} in it{}{}{}", file_,
                        takes_all_ ? "" : " of an all-reduce", why,
                        table_.notes.empty() ? "" : "; ", fmt::join(table_.notes, "; ")));
    return std::move(table_);
  }

 private:
  void read_line(std::string_view line, int number) {
    if (line.empty()) return;
    auto words = split_at_blanks(line);
    if (is_bare_comment(words)) words.insert(words.begin(), "#");
    if (words.front().front() == '#') {
      read_comment(words);
    } else if (is_row(words)) {
      read_row(words, fmt::format("{}:{}", file_, number));
    }
  }

  void add_notes() {
    const auto add = [&](bool is_so, const std::string& note) {
      if (is_so) table_.notes.push_back(fmt::format("{}: {}", file_, note));
    };
    add(without_operator_ > 0,
        fmt::format("left out: {} rows without an operator, which are not of an all-reduce",
                    without_operator_));
    add(with_root_ > 0,
        fmt::format("left out: {} rows with a root, which are of a broadcast or reduce",
                    with_root_));
    add(pieces_.lost() > 0,
        fmt::format("left out: {} rows that NCCL's own output broke", pieces_.lost()));
    add(!takes_all_ && graph_launches_ > 0,
        fmt::format("its calls were launched as a CUDA graph (graph: {}): short vectors take some "
                    "microseconds less than is expected of calls one by one",
                    graph_launches_));
  }

  void read_comment(const std::vector<std::string_view>& words) {
    if (words.size() > 1 && words[1] == "nThread") begin_test();
    if (words.size() > 8 && words[1] == "Rank") read_device(words);
    if (words.size() > 8 && words[1] == "size") read_heading(words);
    if (words.size() > 5 && words[1] == "collbench") begin_own(words);
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      const bool is_count =
          words[i] == "nGpus" && words[i + 1].find_first_not_of(digits) == std::string_view::npos;
      if (words[i] == "graph:") graph_launches_ = small_integer_in(words[i + 1]).value_or(0);
      if (words[i] == "nThread") threads_ = small_integer_in(words[i + 1], 1).value_or(1);
      if (is_count) row_.gpus_per_process = std::max(1, small_integer_in(words[i + 1]).value_or(1));
    }
    for (const std::string_view word : words) {
      if (word.substr(0, 5) == "RCCL:") row_.library = "rccl";
    }
    if (words.size() > 2 && words[1] == "Collective") name_test(words.back());
  }

  /// "# Collective test starting: all_gather_perf"
  void name_test(std::string_view test) {
    const std::string ran = "the test that ran was " + std::string(test);
    if (test != "all_reduce_perf" && std::ranges::find(table_.notes, ran) == table_.notes.end()) {
      table_.notes.push_back(ran);
    }
    if (takes_all_ && parted_ < table_.times.size()) end_part();
    collective_ = test.substr(0, test.find("_perf"));
  }

  /// Behind rows, those of any collective, another test begins. Before them it is one that runs
  /// beside the last, or again what ended without a row: rows that are there twice tell.
  void begin_test() {
    if (!sizes_.empty()) return end_part();
    devices_twice_ |= !devices_.empty();
    devices_ = {};
  }

  /// "# Rank 0 Group 0 Pid 5 on host device 0 [0x18] NVIDIA H100 80GB HBM3"
  void read_device(const std::vector<std::string_view>& words) {
    const std::optional<int> rank = small_integer_in(words[2], 0, highest_rank);
    if (!rank) return;
    std::string host;
    std::string name;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const bool before = i + 1 < words.size();
      if (before && words[i] == "on") host = words[i + 1];
      if (words[i - 1].starts_with('[') && words[i - 1].ends_with(']')) {
        for (std::size_t k = i; k < words.size(); ++k) {
          name += (name.empty() ? "" : " ") + std::string(words[k]);
        }
        break;
      }
    }
    if (table_.hardware.empty()) table_.hardware = name;
    devices_twice_ |= !devices_.add(*rank, host);
  }

  void read_heading(const std::vector<std::string_view>& words) {
    const auto first = std::find(words.begin(), words.end(), "time");
    if (first == words.end()) return;
    const auto second = std::find(first + 1, words.end(), "time");
    half_ = std::max<std::size_t>(4, static_cast<std::size_t>(second - first));
    const auto column = [&](std::string_view name) {
      const auto found = std::find(first, second, name);
      return found == second ? 0 : static_cast<std::size_t>(found - first);
    };
    heading_ = column("error") > 0 ? "error" : "#wrong";
    least_ = column("i_min");
    most_ = column("i_max");
  }

  /// "# collbench 1.0: ring on shm, 8 workers, all-gather": our own table (bench/reports/nccl.cc),
  /// which is one of several in a file and has medians.
  void begin_own(const std::vector<std::string_view>& words) {
    end_part();
    is_own_ = true;
    row_ = MeasuredTime();
    row_.algorithm = std::string(words[3]);
    row_.library = std::string(words[5].substr(0, words[5].find(',')));
    for (std::size_t i = 8; i < words.size(); ++i) {
      const std::string word(
          words[i].substr(0, words[i].size() - (words[i].ends_with(',') ? 1 : 0)));
      if (words[i - 1] == "groups") row_.groups = word;
      if (words[i - 1] == "counts") row_.counts = word;
      const auto known = collective_names();
      if (std::ranges::find(known, word) != known.end()) row_.collective = parse_collective(word);
    }
  }

  /// Whether it is left to the ratio of the bandwidths whether the rows are of an all-reduce.
  bool is_plain() const {
    return row_.collective == CollectiveKind::all_reduce && row_.groups.empty();
  }

  /// Before 2.13 the column is the largest deviation, of which 0.01 is allowed for any type; less
  /// than that is no count either, where no heading says what it is.
  std::int64_t wrong_elements(double figure) const {
    if (figure <= 0.01) return 0;
    return heading_ == "error" ? 1 : whole_count(figure);
  }

  void read_row(const std::vector<std::string_view>& words, const std::string& place) {
    MeasuredTime row = row_;
    row.bytes = Bytes{table_integer(words[0], "the size", place)};
    rows_seen_ = true;
    if (!sizes_.insert(row.bytes.count).second) rows_twice_ = true;
    const bool reduces = words[3] != "none";
    if (!reduces && is_plain() && !takes_all_) {
      ++without_operator_;
      return;
    }
    read_names(row, words[2], reduces ? words[3] : to_string(row.op), place);
    // The columns behind the operator are the root, where there is one, and the halves.
    std::size_t at = 4 + (words.size() - 4) % half_;
    if (row.bytes.count == 0) return;
    if (is_plain() && !takes_all_ && !note_root(row, words, at)) return;
    if (has_root(row.collective)) {
      row.root = static_cast<int>(table_integer(words[4], "the root", place));
    }
    for (bool in_place : {false, true}) {
      if (at + half_ > words.size()) break;
      if (words[at] != "N/A") {
        MeasuredTime half = timed(row, table_number(words[at], "the time", place), in_place, place);
        const std::string_view wrong = words[at + 3];
        if (is_plain()) by_ratio_.add(words[at + 1], words[at + 2]);
        if (wrong != "N/A") half.wrong = wrong_elements(table_number(wrong, heading_, place));
        if (least_ > 0 && most_ > 0) {
          half.low = Seconds{table_number(words[at + least_], "i_min", place) * 1e-6};
          half.high = Seconds{table_number(words[at + most_], "i_max", place) * 1e-6};
        }
        table_.times.push_back(std::move(half));
      }
      at += half_;
    }
  }

  /// Whether it is of a collective without a root, as far as it says. An all-reduce's size is that
  /// of what it counts; what has parts of ranks counts a part.
  bool note_root(const MeasuredTime& row, const std::vector<std::string_view>& words,
                 std::size_t first_half) {
    const bool says_root = first_half == 5;
    const auto count = integer_in(words[1], 0, std::int64_t{1} << 62);
    const bool is_whole = count && *count == row.bytes.count / size_of(row.type);
    surely_all_reduce_ = surely_all_reduce_ && says_root && words[4] == "-1" && is_whole;
    const bool has_one = says_root && words[4].find_first_not_of(digits) == words[4].npos;
    with_root_ += has_one ? 1 : 0;
    return !has_one;
  }

  /// Rows whose busbw is that of another collective, and not of an all-reduce.
  void leave_out_others(int ranks) {
    if (takes_all_ || ranks < 2 || by_ratio_.fits(2 * (ranks - 1.0) / ranks)) return;
    const bool is_half = by_ratio_.fits((ranks - 1.0) / ranks);
    if (!is_half && !by_ratio_.fits(1)) return;
    table_.notes.push_back(fmt::format(
        "{}: left out: {} times of {} ranks whose busbw is that of {}, not of an "
        "all-reduce",
        file_, table_.times.size() - parted_, ranks,
        is_half ? "an all-gather, reduce-scatter or all-to-all" : "a broadcast or reduce"));
    table_.times.resize(parted_);
  }

  /// Where lines of ranks are missing, at the end too, the rows know better.
  Scale scale_of_devices() {
    const Scale named = devices_.scale();
    const int by_rows = takes_all_ ? 0 : by_ratio_.ranks(surely_all_reduce_);
    if (by_rows > 0 && !by_ratio_.fits_some_test_of(named.ranks)) {
      table_.notes.push_back(fmt::format(
          "{}: its lines name {} ranks, but busbw and algbw are those of an all-reduce of {}, "
          "which are taken; on how many nodes is not said then (nodes=2 behind the file's name)",
          file_, devices_.named(), by_rows));
      return {by_rows};
    }
    if (devices_.named() < named.ranks) {
      table_.notes.push_back(fmt::format("{}: its lines name {} of {} ranks{}", file_,
                                         devices_.named(), named.ranks,
                                         named.nodes > 0 ? "" : " and not all of their nodes"));
    }
    return named;
  }

  /// Of what the command asks for, if the ratio allows it, or else of the ratio.
  Scale scale_without_devices() {
    const auto fits = [&](const Scale& scale) {
      return scale.ranks >= 2 && by_ratio_.fits(2 * (scale.ranks - 1.0) / scale.ranks);
    };
    Scale scale = command_.scale().value_or(Scale{});
    const double ranks = 1.0 * scale.ranks * threads_ * row_.gpus_per_process;
    scale.ranks = ranks <= highest_rank ? static_cast<int>(ranks) : 0;
    if (fits(scale)) {
      table_.notes.push_back(
          fmt::format("{}: {} ranks, by the command above it", file_, scale.ranks));
      return scale;
    }
    scale = {by_ratio_.ranks(surely_all_reduce_)};
    if (scale.ranks > 0) {
      table_.notes.push_back(
          fmt::format("{}: {} ranks, by busbw and algbw of an all-reduce; it does not state them",
                      file_, scale.ranks));
    }
    return scale;
  }

  /// The name of the run that has just ended. Health checks append those of many hosts to one log.
  std::string run_name() const {
    if (takes_all_ && is_own_) {
      std::string name =
          fmt::format("{} {} {}", row_.algorithm, row_.library, to_string(row_.collective));
      for (const std::string& part : {row_.groups, row_.counts}) {
        if (!part.empty()) name += " " + part;
      }
      return name;
    }
    if (takes_all_ && collective_.empty()) return runs_ < 2 ? "" : fmt::format("table {}", runs_);
    if (takes_all_) return collective_;
    if (is_own_) return "";
    std::string name = fmt::format("run {}", runs_);
    const std::set<std::string>& hosts = devices_.hosts();
    if (!hosts.empty()) name += " on " + *hosts.begin();
    if (hosts.size() > 1) name += fmt::format(" and {} more", hosts.size() - 1);
    return name;
  }

  /// What comments after the rows may have said holds for all rows of a part.
  void end_part() {
    Scale scale;
    if (parted_ < table_.times.size()) {
      scale = devices_.empty() ? scale_without_devices() : scale_of_devices();
    }
    leave_out_others(scale.ranks);
    by_ratio_ = {};
    surely_all_reduce_ = true;
    if (parted_ < table_.times.size()) ++runs_;
    const std::string run = run_name();
    for (; parted_ < table_.times.size(); ++parted_) {
      table_.times[parted_].scale = scale;
      table_.times[parted_].library = row_.library;
      table_.times[parted_].batch = run;
    }
    if (devices_twice_ && rows_twice_) {
      table_.notes.push_back(
          fmt::format("{}: its ranks are there twice, {}", file_, built_without_mpi));
    }
    table_.hosts.insert(table_.hosts.end(), devices_.hosts().begin(), devices_.hosts().end());
    devices_ = {};
    sizes_.clear();
    rows_twice_ = false;
    devices_twice_ = false;
  }

  const std::string& file_;
  bool takes_all_;          // collectives, not only all-reduces
  std::string collective_;  // that the tables from here on are of; empty: not said
  MeasuredTable table_;
  MeasuredTime row_ = mean_of("nccl");
  std::size_t parted_ = 0;    // rows that have their scale
  int runs_ = 0;              // that have rows
  bool is_own_ = false;       // a table of ours, whose parts are other cases
  int without_operator_ = 0;  // rows that were left out
  int with_root_ = 0;
  NamedRanks devices_;            // of the test at hand
  bool devices_twice_ = false;    // ranks were named again before its rows
  std::set<std::int64_t> sizes_;  // of its rows, those left out included
  bool rows_twice_ = false;       // a size is there again
  bool rows_seen_ = false;        // in the whole text
  RanksByRatio by_ratio_;
  bool surely_all_reduce_ = true;  // by roots and counts of the test at hand
  int graph_launches_ = 0;         // at once, in a CUDA graph; 0: one by one
  RowPieces pieces_;
  BenchmarkCommand command_;
  int threads_ = 1;
  std::string heading_ = "#wrong";
  std::size_t half_ = 4;   // columns
  std::size_t least_ = 0;  // of i_min and i_max in a half; 0: not there
  std::size_t most_ = 0;
};

}  // namespace

bool is_nccl_row(std::string_view line) {
  if (line.empty() || digits.find(line.front()) == digits.npos) return false;
  const auto words = split_at_blanks(line);
  const std::size_t of_halves = words.size() - std::min<std::size_t>(4, words.size());
  const bool has_columns = of_halves / 4 >= 1 && of_halves / 4 <= 2 && of_halves % 4 <= 1;
  if (!has_columns || !is_row(words)) return false;
  return std::all_of(words.end() - 4, words.end(), [](std::string_view word) {
    return word == "N/A" || number_in(word, 0).has_value();
  });
}

MeasuredTable read_nccl_text(std::string_view text, const std::string& file) {
  return NcclText(file, false).read(text);
}

MeasuredTable read_nccl_tables(std::string_view text, const std::string& file) {
  return NcclText(file, true).read(text);
}

}  // namespace collbench
