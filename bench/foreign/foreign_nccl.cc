// nccl-tests' text: "# Rank 0 Group 0 Pid 5 on host device 0 [..] name" lines, then rows
//   size count type redop [root] | time algbw busbw #wrong | time algbw busbw #wrong
// of which the second half may be missing, a half may be N/A, and older versions have no root. With
// -I a half goes on with i_min i_max and others, which the heading names; with -S a row ends with
// the time of day; with -C the times are those of launches, and algbw is of the true ones. Without
// lines of the ranks the ratio of bus bandwidth and algorithm bandwidth, 2 (n - 1) / n for an
// all-reduce, says how many there are, if its digits leave one number. A root of -1 says that a
// collective has none: rows with another one are of a broadcast or reduce.
#include <algorithm>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/foreign/benchmark_command.h"
#include "bench/foreign/foreign_readers.h"
#include "bench/foreign/foreign_tables.h"
#include "bench/foreign/left_out_rows.h"
#include "bench/foreign/nccl_rows.h"
#include "bench/foreign/ranks_of_test.h"
#include "bench/foreign/row_order.h"
#include "bench/foreign/row_pieces.h"
#include "bench/foreign/test_conditions.h"
#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr double least_digits = 50;  // of the last one, so that rounding is 1 %
constexpr std::string_view built_without_mpi =
    "so tests that know nothing of each other ran at once, as nccl-tests does where it was built "
    "without MPI=1; each has its own ranks, which are counted";
constexpr std::string_view mixed_rows =
    "as if several tests wrote at once: their rows are taken as those of one";

class NcclText {
 public:
  /// Without a collective, rows of all are taken.
  NcclText(const std::string& file, std::optional<CollectiveKind> kind)
      : file_(file), takes_all_(!kind), wanted_(kind.value_or(CollectiveKind::all_reduce)) {
    table_.name = file;
    row_.collective = wanted_;
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
                        takes_all_ ? "" : fmt::format(" of {}", to_string(wanted_)), why,
                        table_.notes.empty() ? "" : "; ", fmt::join(table_.notes, "; ")));
    return std::move(table_);
  }

 private:
  void read_line(std::string_view line, int number) {
    if (line.empty()) return;
    auto words = split_at_blanks(line);
    if (is_bare_comment(words)) words.insert(words.begin(), "#");
    drop_time_stamp(words);
    if (words.front().front() == '#') {
      read_comment(words);
    } else if (begins_as_nccl_row(words)) {
      read_row(words, fmt::format("{}:{}", file_, number));
    }
  }

  void add_notes() {
    const auto add = [&](bool is_so, const std::string& note) {
      if (is_so) table_.notes.push_back(fmt::format("{}: {}", file_, note));
    };
    for (const std::string& note : left_out_.notes(wanted_)) add(true, note);
    add(untold_ && !table_.times.empty(),
        "no line names the test: its rows are taken as those of an all-gather, as which those of "
        "an all-to-all look");
    add(pieces_.lost() > 0,
        fmt::format("left out: {} rows that NCCL's own output broke", pieces_.lost()));
    add(half_.has_launch_time,
        "its times are those of launches (-C 1): size / algbw is taken instead");
    if (takes_all_) return;
    for (const std::string& note : conditions_.notes()) add(true, note);
  }

  void read_comment(const std::vector<std::string_view>& words) {
    if (words.size() > 1 && words[1] == "nThread") begin_test();
    if (words.size() > 8 && words[1] == "Rank") read_device(words);
    half_.read(words);
    conditions_.read(words);
    if (words.size() > 5 && words[1] == "collbench") begin_own(words);
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      const bool is_count =
          words[i] == "nGpus" && words[i + 1].find_first_not_of(digits) == std::string_view::npos;
      if (words[i] == "nThread") threads_ = small_integer_in(words[i + 1], 1).value_or(1);
      if (is_count) row_.gpus_per_process = std::max(1, small_integer_in(words[i + 1]).value_or(1));
    }
    for (const std::string_view word : words) {
      if (word.substr(0, 5) == "RCCL:") row_.library = "rccl";
    }
    if (words.size() > 4 && words[1] == "Collective") {
      name_test(words.back());
      if (words[3] == "concluded:") collective_.clear();
    }
  }

  /// "# Collective test starting: all_gather_perf"
  void name_test(std::string_view test) {
    const std::string ran = "the test that ran was " + std::string(test);
    const bool is_new = std::ranges::find(table_.notes, ran) == table_.notes.end();
    if (collective_of_test(test) != wanted_ && is_new) table_.notes.push_back(ran);
    if (takes_all_ && parted_ < table_.times.size()) end_part();
    collective_ = test.substr(0, test.find("_perf"));
  }

  /// Where the rows are not of an all-reduce, the columns tell; in any case what names the test.
  bool is_wanted(MeasuredTime& row, const std::vector<std::string_view>& words,
                 std::size_t first_half) {
    if (takes_all_ || is_own_) return true;
    if (is_plain()) return collective_.empty() || collective_of_test(collective_) == wanted_;
    const NcclColumns columns = nccl_columns(words, first_half == 5, row.bytes, row.type);
    const bool is_wanted =
        (collective_.empty() ? columns.collective() : collective_of_test(collective_)) == wanted_;
    if (!is_wanted) return false;
    if (has_shares(wanted_) && columns.shares() > 1) by_rows_.add_shares(columns.shares());
    untold_ |= wanted_ == CollectiveKind::all_gather && collective_.empty();
    if (has_root(wanted_)) row.root = columns.root.value_or(0);
    return true;
  }

  /// Behind rows, those of any collective, another test begins. Before them it is one that runs
  /// beside the last, or again what ended without a row: rows that are there twice tell.
  void begin_test() {
    if (!order_.empty()) return end_part();
    devices_twice_ |= !devices_.empty();
    devices_ = {};
  }

  /// "# Rank 0 Group 0 Pid 5 on host device 0 [0x18] NVIDIA H100 80GB HBM3"
  void read_device(const std::vector<std::string_view>& words) {
    const std::optional<NcclDevice> device = nccl_device(words);
    if (!device) return;
    if (table_.hardware.empty()) table_.hardware = device->name;
    devices_twice_ |= !devices_.add(device->rank, device->host);
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

  void read_row(const std::vector<std::string_view>& words, const std::string& place) {
    MeasuredTime row = row_;
    row.bytes = Bytes{table_integer(words[0], "the size", place)};
    rows_seen_ = true;
    // The columns behind the operator are the root, where there is one, and the halves.
    std::size_t at = 4 + (words.size() - 4) % half_.width;
    if (at > 5 || (at == 4 && has_fifth_)) {
      ++left_out_.cut;
      return;
    }
    has_fifth_ = at == 5;
    order_.add(fmt::format("{}", fmt::join(words.begin() + 2, words.begin() + at, " ")),
               row.bytes.count);
    const bool reduces = words[3] != "none";
    if (!reduces && is_plain() && !takes_all_) {
      ++left_out_.without_operator;
      return;
    }
    if (row.bytes.count == 0 || !knows_names(row, words)) return;
    if (!is_wanted(row, words, at)) {
      ++left_out_.of_others;
      return;
    }
    if (is_plain() && !takes_all_ && !note_root(row, words, at)) return;
    if (is_own_ && has_root(row.collective)) {
      row.root = static_cast<int>(table_integer(words[4], "the root", place));
    }
    for (bool in_place : {false, true}) {
      if (at + half_.width > words.size()) break;
      if (words[at] != "N/A") read_half(row, {words.begin() + at, half_.width}, in_place, place);
      at += half_.width;
    }
  }

  void read_half(const MeasuredTime& row, std::span<const std::string_view> cells, bool in_place,
                 const std::string& place) {
    double us = table_number(cells[0], "the time", place);
    if (half_.has_launch_time) {
      const double algbw = table_number(cells[1], "algbw", place);
      if (algbw < least_digits * last_digit(cells[1])) {
        ++left_out_.coarse;
        return;
      }
      us = static_cast<double>(row.bytes.count) / (1e3 * algbw);
    }
    MeasuredTime half = timed(row, us, in_place, place);
    const std::string_view wrong = cells[3];
    if (is_plain()) by_rows_.add(cells[1], cells[2]);
    if (wrong != "N/A") half.wrong = half_.wrong_elements(table_number(wrong, half_.wrong, place));
    if (half_.least > 0 && half_.most > 0) {
      half.low = Seconds{table_number(cells[half_.least], "i_min", place) * 1e-6};
      half.high = Seconds{table_number(cells[half_.most], "i_max", place) * 1e-6};
    }
    table_.times.push_back(std::move(half));
  }

  /// Types and operators of nccl-tests that are none of ours are left out: int8, mulsum.
  bool knows_names(MeasuredTime& row, const std::vector<std::string_view>& words) {
    try {
      read_names(row, words[2], words[3] == "none" ? to_string(row.op) : words[3], "");
      return true;
    } catch (const InvalidArgument&) {
      ++left_out_.unknown[fmt::format("{} {}", words[2], words[3])];
      return false;
    }
  }

  /// Whether it is of a collective without a root, as far as it says. An all-reduce's size is that
  /// of what it counts; what has parts of ranks counts a part.
  bool note_root(const MeasuredTime& row, const std::vector<std::string_view>& words,
                 std::size_t first_half) {
    const bool says_root = first_half == 5;
    const NcclColumns columns = nccl_columns(words, says_root, row.bytes, row.type);
    surely_all_reduce_ =
        surely_all_reduce_ && says_root && words[4] == "-1" && columns.shares() == 1;
    left_out_.with_root += columns.root ? 1 : 0;
    return !columns.root;
  }

  /// Rows whose busbw is that of another collective, and not of an all-reduce.
  void leave_out_others(int ranks) {
    const bool is_told = takes_all_ || wanted_ != CollectiveKind::all_reduce;
    if (is_told || ranks < 2 || by_rows_.fits(2 * (ranks - 1.0) / ranks)) return;
    const bool is_half = by_rows_.fits((ranks - 1.0) / ranks);
    if (!is_half && !by_rows_.fits(1)) return;
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
    const int by_rows = takes_all_ ? 0 : by_rows_.ranks(surely_all_reduce_);
    if (by_rows > 0 && !by_rows_.fits_some_test_of(named.ranks)) {
      table_.notes.push_back(fmt::format(
          "{}: its lines name {} ranks, but {} of {}, which are taken; on how many nodes is not "
          "said then (nodes=2 behind the file's name)",
          file_, devices_.named(),
          by_rows_.count_shares() ? "size and count are those"
                                  : "busbw and algbw are those of an all-reduce",
          by_rows));
      return {by_rows};
    }
    if (devices_.named() < named.ranks) {
      table_.notes.push_back(fmt::format("{}: its lines name {} of {} ranks{}", file_,
                                         devices_.named(), named.ranks,
                                         named.nodes > 0 ? "" : " and not all of their nodes"));
    }
    return named;
  }

  /// Of what the command asks for, if the rows allow it, or else of the rows.
  Scale scale_without_devices() {
    Scale scale = command_.scale().value_or(Scale{});
    const double ranks = 1.0 * scale.ranks * threads_ * row_.gpus_per_process;
    scale.ranks = ranks <= highest_nccl_rank ? static_cast<int>(ranks) : 0;
    if (by_rows_.fits_ranks(scale.ranks) || (has_root(wanted_) && scale.ranks >= 2)) {
      table_.notes.push_back(
          fmt::format("{}: {} ranks, by the command above it", file_, scale.ranks));
      return scale;
    }
    scale = {by_rows_.ranks(surely_all_reduce_)};
    if (scale.ranks > 0) {
      table_.notes.push_back(fmt::format(
          "{}: {} ranks, by {}; it does not state them", file_, scale.ranks,
          by_rows_.count_shares() ? "size and count" : "busbw and algbw of an all-reduce"));
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
    by_rows_ = {};
    surely_all_reduce_ = true;
    if (parted_ < table_.times.size()) ++runs_;
    const std::string run = run_name();
    for (; parted_ < table_.times.size(); ++parted_) {
      table_.times[parted_].scale = scale;
      table_.times[parted_].library = row_.library;
      table_.times[parted_].batch = run;
    }
    if (devices_twice_ && order_.repeats()) {
      table_.notes.push_back(
          fmt::format("{}: its ranks are there twice, {}", file_, built_without_mpi));
    } else if (order_.alternates()) {
      table_.notes.push_back(fmt::format("{}: its sizes go back and forth, {}", file_, mixed_rows));
    }
    table_.hosts.insert(table_.hosts.end(), devices_.hosts().begin(), devices_.hosts().end());
    devices_ = {};
    order_ = {};
    has_fifth_ = devices_twice_ = false;
  }

  const std::string& file_;
  bool takes_all_;  // collectives, not only the one that is wanted
  CollectiveKind wanted_;
  std::string collective_;  // that the tables from here on are of; empty: not said
  MeasuredTable table_;
  MeasuredTime row_ = mean_of("nccl");
  std::size_t parted_ = 0;  // rows that have their scale
  int runs_ = 0;            // that have rows
  bool is_own_ = false;     // a table of ours, whose parts are other cases
  LeftOutRows left_out_;
  bool untold_ = false;         // rows that may be of an all-to-all were taken
  NamedRanks devices_;          // of the test at hand
  bool has_fifth_ = false;      // its rows have a root
  bool devices_twice_ = false;  // ranks were named again before its rows
  RowOrder order_;              // of its rows, those left out included
  bool rows_seen_ = false;      // in the whole text
  RanksByRows by_rows_;
  bool surely_all_reduce_ = true;  // by roots and counts of the test at hand
  TestConditions conditions_;
  RowPieces pieces_;
  BenchmarkCommand command_;
  int threads_ = 1;
  NcclHalf half_;
};

}  // namespace

MeasuredTable read_nccl_text(std::string_view text, const std::string& file,
                             const TableHints& hints) {
  return NcclText(file, hints.collective).read(text);
}

MeasuredTable read_nccl_tables(std::string_view text, const std::string& file) {
  return NcclText(file, std::nullopt).read(text);
}

}  // namespace collbench
