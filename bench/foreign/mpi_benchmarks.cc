// OSU: "# OSU MPI Allreduce Latency Test v7.4", "# Datatype: MPI_CHAR.", a heading
//   # Size  Avg Latency(us) [Min Latency(us) Max Latency(us) Iterations] [Validation]
// and rows. Versions from 7.3 on may add percentiles, which have headings such as "P50 Tail
// Lat(us)".
// IMB: "# Benchmarking Allreduce", "# #processes = 8", a heading
//   #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]
// and rows, once more for every number of processes.
//
// What sizes count: of an all-gather what one rank sends, in both; of OSU's reduce-scatter the
// vector (recvcounts add up to it). IMB's reduce-scatter counted the vector up to 2018, and counts
// the share that a rank gets from 2019 Update 1 on; its Reduce_scatter_block always did. OSU's
// counts a vector, of which it reduces as many elements as make equal shares: nothing of sizes
// below one element a rank. Allgatherv is another call, for which libraries choose by other rules.
// Source: OSU Micro-Benchmarks 7.2, osu_reduce_scatter.c and osu_allgather.c; intel/mpi-benchmarks
// df3db3a and 46e8757, src_c/IMB_reduce_scatter.c and IMB_allgather.c, and README.md.
#include "bench/foreign/mpi_benchmarks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/foreign/benchmark_command.h"
#include "bench/foreign/foreign_readers.h"
#include "bench/foreign/foreign_tables.h"
#include "bench/foreign/nccl_rows.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

using Words = std::vector<std::string_view>;

/// Where each figure stands in a row; -1: the heading does not name it.
struct RowColumns {
  int average = -1;
  int minimum = -1;
  int maximum = -1;
  int iterations = -1;
  int validation = -1;
  int count = 0;
};

/// OSU's headings are of several words; each but the first and the last two ends in "(us)".
RowColumns osu_columns(const Words& heading) {
  RowColumns columns;
  std::string_view of;  // the first word of the heading at hand
  for (const std::string_view word : heading) {
    if (word == "#") continue;
    if (of.empty()) of = word;
    const bool ends =
        word == "Size" || word == "Iterations" || word == "Validation" || word.ends_with("(us)");
    if (!ends) continue;
    if (of == "Min") columns.minimum = columns.count;
    if (of == "Max") columns.maximum = columns.count;
    if (of == "Iterations") columns.iterations = columns.count;
    if (of == "Validation") columns.validation = columns.count;
    ++columns.count;
    of = {};
  }
  if (columns.count >= 2) columns.average = 1;
  return columns;
}

RowColumns imb_columns(const Words& heading) {
  RowColumns columns;
  for (const std::string_view word : heading) {
    if (word == "#repetitions") columns.iterations = columns.count;
    if (word == "t_min[usec]") columns.minimum = columns.count;
    if (word == "t_max[usec]") columns.maximum = columns.count;
    if (word == "t_avg[usec]" || word == "t[usec]") columns.average = columns.count;
    ++columns.count;
  }
  return columns;
}

/// "MPI_FLOAT", "MPI_CHAR.", "MPIX_C_BF16" without what is MPI's.
std::string bare_name(std::string_view name) {
  for (const std::string_view prefix : {"MPI_", "MPIX_C_"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  if (name.ends_with('.')) name.remove_suffix(1);
  return lower_case(name);
}

/// Also of MPI's names that are none of ours.
DataType type_of_mpi(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, DataType>, 11> others = {
      {{"char", DataType::u8},
       {"signed_char", DataType::u8},
       {"unsigned_char", DataType::u8},
       {"int8_t", DataType::u8},
       {"uint8_t", DataType::u8},
       {"unsigned", DataType::i32},
       {"int32_t", DataType::i32},
       {"uint32_t", DataType::i32},
       {"long_long", DataType::i64},
       {"int64_t", DataType::i64},
       {"bf16", DataType::bf16}}};
  const std::string bare = bare_name(name);
  for (const auto& [other, type] : others) {
    if (bare == other) return type;
  }
  return parse_data_type(bare);
}

/// Of "Allreduce", "Reduce_scatter_block", "Bcast"; nothing for calls of no such collective.
std::optional<CollectiveKind> collective_of_call(std::string_view name) {
  const std::string letters = letters_of(name);
  if (letters == "bcast") return CollectiveKind::broadcast;
  if (letters == "reducescatterblock") return CollectiveKind::reduce_scatter;
  return collective_of_test(letters);
}

/// Of the line "# Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part", or "Suite V3.2".
CountedBytes counted_by_reduce_scatter(std::string_view line) {
  constexpr std::string_view name = "MPI Benchmarks ";
  const std::size_t at = line.find(name);
  if (at == line.npos) return CountedBytes::vector;
  const std::string_view version = line.substr(at + name.size());
  const int year =
      small_integer_in(version.substr(0, version.find_first_not_of("0123456789"))).value_or(0);
  const bool is_update = version.find("Update") != version.npos;
  if (year == 2019 && !is_update) return CountedBytes::untold;
  return year >= 2019 ? CountedBytes::share : CountedBytes::vector;
}

/// `row` of a benchmark of the collective, as our own rows are.
void make_ours(MeasuredTime& row, CollectiveKind kind, CountedBytes counted, int ranks,
               const std::string& file) {
  row.collective = kind;
  if (!adds(kind)) row.type = DataType::f32;  // of bytes, whatever the benchmark calls them
  if (has_root(kind)) row.time = std::max(row.time, row.high);
  if (counted == CountedBytes::whole_shares && ranks > 0) {
    row.bytes.count -= row.bytes.count % (std::int64_t{ranks} * size_of(row.type));
  }
  if (counted != CountedBytes::share || ranks == 0) return;
  require(row.bytes.count <= (std::int64_t{1} << 62) / ranks,
          fmt::format("{}: {} ranks of {} bytes each are more than 2^62 bytes", file, ranks,
                      row.bytes.count));
  row.bytes = Bytes{row.bytes.count * ranks};
}

class MpiBenchmarks {
 public:
  MpiBenchmarks(const std::string& file, std::vector<std::string>& notes)
      : file_(file), notes_(notes) {}

  std::vector<MpiBenchmark> read(std::string_view text) {
    for (const TextLine& line : lines_of(text)) {
      if (line.text.empty()) continue;
      const Words words = split_at_blanks(line.text);
      command_.add(line.text);
      if (words[0].front() == '#') {
        read_comment(words, line.text);
      } else if (std::isdigit(static_cast<unsigned char>(words[0].front())) != 0) {
        read_row(words, fmt::format("{}:{}", file_, line.number));
      }
    }
    std::erase_if(all_, [](const MpiBenchmark& test) { return test.times.empty(); });
    return std::move(all_);
  }

 private:
  void read_comment(const Words& words, std::string_view line) {
    const auto is = [&](std::size_t i, std::string_view what) {
      return words.size() > i && words[i] == what;
    };
    if (is(1, "OSU")) begin_osu(line);
    if (line.find("MPI Benchmark") != line.npos) {
      of_reduce_scatter_ = counted_by_reduce_scatter(line);
    }
    if (is(1, "Benchmarking") && words.size() > 2) begin_imb(words[2]);
    if (is(1, "Datatype:") && words.size() > 2) begin_type(words[2]);
    if (is(1, "MPI_Datatype") && is(2, "for") && is(3, "reductions")) {
      read_type(of_imb_, words.back());
      imb_type_ = words.back();
    }
    if (is(1, "MPI_Op")) {
      read_operator(words.back());
      imb_op_ = words.back();
    }
    if (is(1, "#processes") && is(2, "=") && words.size() > 3) {
      of_imb_.scale = {small_integer_in(words[3], 1).value_or(0)};
      if (!all_.empty()) all_.back().title += fmt::format(", {} processes", words[3]);
    }
    // Several groups that measure beside each other.
    if (line.find("groups of") != line.npos) is_of_groups_ = true;
    if (is(0, "#bytes")) columns_ = imb_columns(words);
    const bool is_osu = is(1, "Size") && (is(2, "Avg") || line.find("(us)") != line.npos);
    if (is_osu) begin_rows_of_osu(words);
    // Of rates, or of a barrier, which has no sizes.
    const bool is_other = !is_osu && !is_imb_ && (is(1, "Size") || is(1, "Avg"));
    if (is_other && !all_.empty()) {
      columns_ = {.count = static_cast<int>(words.size())};
      notes_.push_back(
          fmt::format("{}: '{}' holds no latencies by size", file_, all_.back().title));
    }
  }

  /// OSU repeats its table, under one title, for each type.
  void begin_type(std::string_view name) {
    if (name.ends_with('.')) name.remove_suffix(1);
    if (!all_.empty() && !all_.back().times.empty()) {
      MpiBenchmark next = all_.back();
      next.times.clear();
      all_.push_back(std::move(next));
      columns_ = {};
    }
    if (!all_.empty()) all_.back().elements = name;
    read_type(row_, name);
  }

  /// "OSU MPI Allreduce Latency Test" of a line with the version: two versions have the same title.
  void begin_osu(std::string_view line) {
    const std::size_t version = line.find(" v");
    begin(std::string(trimmed(line.substr(1, version == line.npos ? line.npos : version - 1))));
    MpiBenchmark& test = all_.back();
    const std::string& title = test.title;
    const Words words = split_at_blanks(title);  // not "Non-blocking Allreduce"
    if (words.size() > 3 && (words[3] == "Latency" || words[3] == "Persistent")) {
      test.collective = collective_of_call(words[2]);
      if (letters_of(words[2]).ends_with("block")) test.counted = CountedBytes::whole_shares;
    }
    if (test.collective == CollectiveKind::all_gather) test.counted = CountedBytes::share;
    // "OSU NCCL-CUDA Allreduce Latency Test" is of osu_xccl_allreduce.
    row_ = mean_of(title.starts_with("OSU NCCL")   ? "nccl"
                   : title.starts_with("OSU RCCL") ? "rccl"
                                                   : "mpi");
  }

  void begin_rows_of_osu(const Words& words) {
    // Without its title, as in a ticket; only collectives have an average.
    if (all_.empty() || is_imb_) {
      begin("OSU");
      all_.back().collective = CollectiveKind::all_reduce;
      row_ = mean_of("mpi");
    }
    columns_ = osu_columns(words);
    row_.scale = command_.scale().value_or(Scale{});
  }

  void begin_imb(std::string_view benchmark) {
    begin(fmt::format("IMB {}", benchmark));
    MpiBenchmark& test = all_.back();
    test.collective = collective_of_call(benchmark);
    const bool is_block = letters_of(benchmark).ends_with("block");
    if (test.collective == CollectiveKind::all_gather || is_block) {
      test.counted = CountedBytes::share;
    } else if (test.collective == CollectiveKind::reduce_scatter) {
      test.counted = of_reduce_scatter_;
    }
    test.elements = imb_type_ + (imb_op_.empty() ? "" : " " + imb_op_);
    is_imb_ = true;
    row_ = of_imb_;
  }

  void begin(std::string title) {
    all_.emplace_back().title = std::move(title);
    columns_ = {};
    is_imb_ = false;
    is_of_groups_ = false;
  }

  void read_type(MeasuredTime& row, std::string_view name) {
    try {
      row.type = type_of_mpi(name);
    } catch (const InvalidArgument&) {
      notes_.push_back(fmt::format("{}: type {} counts as f32", file_, name));
    }
  }

  void read_operator(std::string_view name) {
    try {
      of_imb_.op = parse_reduce_op(bare_name(name));
    } catch (const InvalidArgument&) {
      notes_.push_back(fmt::format("{}: operator {} counts as sum", file_, name));
    }
  }

  void read_row(const Words& words, const std::string& place) {
    require(columns_.count >= 2 || is_imb_,
            fmt::format("{}: a row before the heading '# Size  Avg Latency(us)'", place));
    require(!all_.empty(),
            fmt::format("{}: a row before a line that says of what, as '# Benchmarking Allreduce'",
                        place));
    if (columns_.average < 0 || is_of_groups_) return;  // of bandwidths only
    const bool is_given_up = std::any_of(words.begin(), words.end(), [](std::string_view word) {
      return word.starts_with("time-out") || word.starts_with("int_overflow") ||
             word.starts_with("out-of-mem");
    });
    if (is_given_up) {
      notes_.push_back(fmt::format("{}: {} bytes have no time, IMB gave up: {}", place, words[0],
                                   words[std::min<std::size_t>(2, words.size() - 1)]));
      return;
    }
    require(static_cast<int>(words.size()) >= columns_.count,
            fmt::format("{}: {} columns where the heading has {}", place, words.size(),
                        columns_.count));
    const auto value = [&](int column, const char* what) {
      return table_number(words[static_cast<std::size_t>(column)], what, place);
    };
    MeasuredTime row = is_imb_ ? of_imb_ : row_;
    row.bytes = Bytes{table_integer(words[0], "the size", place)};
    const double average = value(columns_.average, "the average");
    if (row.bytes.count == 0 && average == 0) return;
    row = timed(row, average, false, place);
    if (columns_.minimum > 0) row.low = Seconds{value(columns_.minimum, "the minimum") * 1e-6};
    if (columns_.maximum > 0) row.high = Seconds{value(columns_.maximum, "the maximum") * 1e-6};
    if (columns_.validation > 0) {
      row.wrong = words[static_cast<std::size_t>(columns_.validation)] == "Pass" ? 0 : 1;
    }
    if (columns_.iterations > 0) {
      const double iterations = value(columns_.iterations, "the iterations");
      require(iterations <= 1e9, fmt::format("{}: the iterations are more than 1e9", place));
      row.samples = static_cast<int>(iterations);
    }
    all_.back().times.push_back(std::move(row));
  }

  const std::string& file_;
  std::vector<std::string>& notes_;
  std::vector<MpiBenchmark> all_;
  BenchmarkCommand command_;
  RowColumns columns_;
  MeasuredTime row_ = mean_of("mpi");     // of OSU's table at hand
  MeasuredTime of_imb_ = mean_of("mpi");  // of all of IMB's
  std::string imb_type_;
  std::string imb_op_;
  CountedBytes of_reduce_scatter_ = CountedBytes::untold;  // by IMB's version
  bool is_imb_ = false;                                    // the table at hand
  bool is_of_groups_ = false;
};

}  // namespace

std::vector<MpiBenchmark> mpi_benchmarks_in(std::string_view text, const std::string& file,
                                            std::vector<std::string>& notes) {
  return MpiBenchmarks(file, notes).read(text);
}

MeasuredTable read_mpi_benchmarks(std::string_view text, const std::string& file,
                                  const TableHints& hints) {
  const CollectiveKind wanted = hints.collective;
  MeasuredTable table;
  table.name = file;
  std::optional<bool> takes_blocks;  // one of two calls, if both are there
  for (MpiBenchmark& test : mpi_benchmarks_in(text, file, table.notes)) {
    const Scale& scale = test.times.front().scale;
    const bool is_block = test.title.find("block") != test.title.npos;
    const bool is_told = test.counted != CountedBytes::untold;
    const bool is_wanted = test.collective == wanted && scale.ranks != 1 &&
                           takes_blocks.value_or(is_block) == is_block;
    if (!is_wanted || !is_told) {
      table.notes.push_back(fmt::format(
          "{}: left out: {} times of '{}'{}", file, test.times.size(), test.title,
          is_wanted ? ", whose sizes count the vector up to IMB 2018 and a rank's share from 2019 "
                      "Update 1 on; a line '# Intel(R) MPI Benchmarks 2021.7' says which"
          : test.title.find("gatherv") != test.title.npos ? ", which is not MPI_Allgather"
                                                          : ""));
      continue;
    }
    takes_blocks = is_block;
    int untouched = 0;
    if (table.source.empty()) table.source = test.title.substr(0, test.title.find(','));
    for (MeasuredTime& row : test.times) {
      if (row.bytes.count == 0) continue;
      const int ranks = hints.ranks > 0 ? hints.ranks : row.scale.ranks;
      if (wanted != CollectiveKind::all_reduce) make_ours(row, wanted, test.counted, ranks, file);
      if (row.bytes.count > 0) {
        table.times.push_back(std::move(row));
      } else {
        ++untouched;
      }
    }
    if (untouched > 0) {
      table.notes.push_back(fmt::format("{}: left out: {} below an element a rank, of '{}'", file,
                                        counted(untouched, "size"), test.title));
    }
  }
  require(!table.times.empty(),
          fmt::format("{}: no row of OSU's or IMB's table of {} in it{}{}", file, to_string(wanted),
                      table.notes.empty() ? "" : "; ", fmt::join(table.notes, "; ")));
  return table;
}

}  // namespace collbench
