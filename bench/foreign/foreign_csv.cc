// CSV tables: ours, those that others made of nccl-tests and OSU output, pico's, hand-made ones.
//
// Columns are known by their names; others are passed over. Lines "# key: value" before the heading
// say what holds for all rows: ranks (or gpus), nodes, system, library, algorithm, source, and the
// tool's command line, whose -g tells how many GPUs a process drives.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/foreign/foreign_readers.h"
#include "bench/records/csv_cells.h"
#include "bench/records/report.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

using Cells = std::vector<std::string>;

/// The same quantity under the names that tables give it.
const std::map<std::string, std::vector<std::string>>& names() {
  static const std::map<std::string, std::vector<std::string>> all = {
      {"bytes", {"bytes", "size_bytes", "size", "message_size", "vector_bytes"}},
      {"time", {"median_us", "oop_time_us", "time_us", "avg_us", "latency_us", "mean_us"}},
      {"in_place_time", {"ip_time_us"}},
      {"stated_time", {"time_us"}},
      {"statistic", {"statistic"}},
      {"low", {"p10_us", "p25_us", "min_us"}},
      {"high", {"p90_us", "p75_us", "max_us"}},
      {"batch", {"timestamp", "batch", "job"}},
      {"gpus_per_process", {"gpus_per_process", "nGpus", "gpusPerRank"}},
      {"samples", {"n", "n_iter", "iterations", "samples"}},
      {"ranks", {"ranks", "gpus", "workers", "world_size"}},
      {"nodes", {"nodes", "n_nodes"}},
      {"per_node", {"tasks_per_node", "ranks_per_node", "ranksPerNode"}},
      {"cores", {"cores"}},
      {"system", {"system", "machine"}},
      {"topology", {"topology"}},
      {"mapping", {"mapping"}},
      {"posting", {"posting"}},
      {"jitter_us", {"jitter_us"}},
      {"stragglers", {"stragglers"}},
      {"slow hosts", {"slow_hosts"}},
      {"equal chunks", {"equal_chunks"}},
      {"seed", {"seed"}},
      {"library", {"library", "backend"}},
      {"algorithm", {"algorithm", "algo"}},
      {"protocol", {"protocol", "proto"}},
      {"type", {"dtype", "type"}},
      {"op", {"redop", "op"}},
      {"in_place", {"in_place", "inplace"}},
      {"wrong", {"oop_wrong_or_error", "wrong", "#wrong"}},
      {"in_place_wrong", {"ip_wrong_or_error"}},
      {"replicas_identical", {"replicas_identical"}},
      {"transport", {"transport"}},
      {"isolate", {"isolate"}},
      {"private_buffers", {"private_buffers"}},
      {"buffers", {"buffers"}},
      {"checksum", {"checksum"}},
      {"inject", {"inject"}},
      {"collective", {"collective"}},
      {"root", {"root"}},
      {"groups", {"groups"}},
      {"counts", {"counts"}},
      {"skipped", {"skipped"}},
      {"sample", {"sample"}},
  };
  return all;
}

constexpr int most_of_product = 1 << 30;

/// "8" or a grid "2x2x2".
int product(const std::string& text, const std::string& what, const std::string& place) {
  std::int64_t all = 1;
  std::string_view rest = text;
  while (true) {
    const std::size_t x = rest.find('x');
    all *= table_integer(rest.substr(0, x), what, place);
    require(all <= most_of_product,
            fmt::format("{}: {} is '{}', which is too many", place, what, text));
    if (x == rest.npos) return static_cast<int>(all);
    rest.remove_prefix(x + 1);
  }
}

/// "all_reduce", "AllReduce", "all_reduce_perf", "bcast"; none of another name.
std::optional<CollectiveKind> collective_named(std::string_view text) {
  const std::string letters = letters_of(text);
  if (letters == "bcast") return CollectiveKind::broadcast;
  for (const std::string_view name : collective_names()) {
    const std::string own = letters_of(name);
    if (letters == own || letters == own + "perf") return parse_collective(name);
  }
  return {};
}

class CsvReader {
 public:
  explicit CsvReader(const std::string& file) : file_(file) { table_.name = file; }

  MeasuredTable read(std::string_view text) {
    for (const TextLine& line : lines_of(text)) {
      place_ = fmt::format("{}:{}", file_, line.number);
      if (line.text.empty()) continue;
      if (line.text.front() == '#') {
        read_comment(line.text.substr(1));
      } else if (columns_.empty()) {
        read_heading(csv_cells(line.text, place_));
      } else {
        read_row(csv_cells(line.text, place_));
      }
    }
    require(!columns_.empty(), fmt::format("{}: no heading in it", file_));
    for (const auto& [name, rows] : others_) {
      table_.notes.push_back(
          fmt::format("{}: left out: {} of '{}', which is no collective known here", file_,
                      counted(rows, "row"), name));
    }
    if (without_time_ > 0) {
      table_.notes.push_back(
          fmt::format("{}: left out: {} without a time", file_, counted(without_time_, "row")));
    }
    require(!table_.times.empty(), table_.notes.empty()
                                       ? fmt::format("{}: a heading without rows", file_)
                                       : fmt::format("{}", fmt::join(table_.notes, "; ")));
    return std::move(table_);
  }

 private:
  void read_comment(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == text.npos) return;
    const std::string key(trimmed(text.substr(0, colon)));
    const std::string value(trimmed(text.substr(colon + 1)));
    if (key == "source" || key == "Source") {
      table_.source = value;
    } else if (key == "hardware") {
      table_.hardware = value;
    } else if (key == "gpus" || key == "ranks" || key == "nodes" || key == "cores") {
      // "1 physical (2 as NCCL sees it)" is no number and states nothing.
      if (value.find_first_not_of("0123456789") != value.npos || value.empty()) return;
      stated_[key == "gpus" ? "ranks" : key] = value;
    } else if (key == "nccl version") {
      stated_.emplace("library", "nccl");
    } else if (key == "tool" && value.find("OSU") != value.npos) {
      stated_.emplace("library", value.find("mpi-cpu") != value.npos ? "mpi-cpu" : "mpi");
    } else if (key == "tool") {
      read_command(value);
    } else if (names().count(key) > 0) {
      stated_[key] = value;
    }
  }

  /// "mpirun all_reduce_perf -b 8 -g 8": the GPUs that a process drives.
  void read_command(std::string_view command) {
    const auto words = split_at_blanks(command);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      std::string_view count = words[i + 1];
      count = count.substr(0, count.find(','));
      if ((words[i] != "-g" && words[i] != "--ngpus") || count.empty()) continue;
      if (count.find_first_not_of("0123456789") != count.npos) continue;
      stated_.emplace("gpus_per_process", std::string(count));
    }
  }

  void read_heading(const Cells& cells) {
    for (const auto& [what, spellings] : names()) {
      for (const std::string& spelling : spellings) {
        const auto found = std::find(cells.begin(), cells.end(), spelling);
        if (found == cells.end()) continue;
        columns_[what] = static_cast<std::size_t>(found - cells.begin());
        if (what == "time")
          mean_ = spelling == "avg_us" || spelling == "mean_us" || spelling == "oop_time_us";
        break;
      }
    }
    width_ = cells.size();
    read_rccl_heading(cells);
    for (const char* needed : {"bytes", "time"}) {
      require(columns_.count(needed) > 0,
              fmt::format("{}: no column for {}; it may be called {}", place_, needed,
                          fmt::join(names().at(needed), ", ")));
    }
    require(columns_.count("sample") == 0,
            fmt::format("{}: a row for every sample; write the table without raw samples", place_));
  }

  /// rccl-tests' -Z csv: "numCycle,collective,..,time,algbw,busbw,#wrong", in microseconds.
  /// Elsewhere a time without its unit is none.
  void read_rccl_heading(const Cells& cells) {
    const auto time = std::find(cells.begin(), cells.end(), "time");
    if (time == cells.end() || cells.front() != "numCycle") return;
    columns_["time"] = static_cast<std::size_t>(time - cells.begin());
    mean_ = true;
    is_rccl_ = true;
    stated_.emplace("library", "rccl");
  }

  std::string cell(const Cells& cells, const char* what) const {
    const auto found = columns_.find(what);
    if (found != columns_.end() && !cells[found->second].empty()) return cells[found->second];
    const auto stated = stated_.find(what);
    return stated == stated_.end() ? std::string() : stated->second;
  }

  void read_scale(const Cells& cells, MeasuredTime& row) const {
    const auto count = [&](const char* what) {
      const std::string text = cell(cells, what);
      return text.empty() ? 0 : product(text, what, place_);
    };
    row.scale = {count("ranks"), count("nodes"),
                 at_place(place_, [&] { return parse_grid_shape(cell(cells, "nodes")); }),
                 count("cores")};
    const int each = count("per_node");
    const std::int64_t on_nodes = std::int64_t{row.scale.nodes} * each;
    if (row.scale.ranks == 0 && on_nodes <= most_of_product) {
      row.scale.ranks = static_cast<int>(on_nodes);
    }
    require(on_nodes == 0 || row.scale.ranks == on_nodes,
            fmt::format("{}: {} ranks, but {} on each of {} nodes", place_, row.scale.ranks, each,
                        row.scale.nodes));
  }

  bool is_true(const Cells& cells, const char* what) const {
    const std::string text = cell(cells, what);
    return text == "1" || text == "true";
  }

  /// With the columns by which our own tables tell apart what is of one back end.
  std::string library_of(const Cells& cells) const {
    Case point;
    point.backend = cell(cells, "library");
    point.transport = cell(cells, "transport");
    point.isolate = is_true(cells, "isolate");
    point.private_buffers = is_true(cells, "private_buffers");
    point.checksum = is_true(cells, "checksum");
    point.inject = cell(cells, "inject");
    return backend_name(point);
  }

  /// False if the row is of something else.
  bool read_collective(const Cells& cells, MeasuredTime& row) {
    if (const std::string name = cell(cells, "collective"); !name.empty()) {
      const std::optional<CollectiveKind> kind = collective_named(name);
      if (!kind) {
        ++others_[name];
        return false;
      }
      row.collective = *kind;
    }
    const std::string root = cell(cells, "root");
    if (has_root(row.collective) && !root.empty()) {
      row.root = static_cast<int>(table_integer(root, "the root", place_));
    }
    row.groups = cell(cells, "groups");
    row.counts = cell(cells, "counts");
    return true;
  }

  void read_method(const Cells& cells, MeasuredTime& row) const {
    row.system = cell(cells, "system");
    if (const std::string topology = cell(cells, "topology"); !topology.empty()) {
      row.system = topology;
      for (const auto& [column, usual] :
           {std::pair{"mapping", "row-major"}, {"posting", "eager"}}) {
        const std::string other = cell(cells, column);
        if (!other.empty() && other != usual) row.system += " " + other;
      }
      for (const auto& [column, usual] : {std::pair{"jitter_us", "0"},
                                          {"stragglers", ""},
                                          {"slow hosts", ""},
                                          {"equal chunks", "false"},
                                          {"seed", "1"}}) {
        const std::string other = cell(cells, column);
        if (!other.empty() && other != usual) row.system += fmt::format(", {} {}", column, other);
      }
    }
    row.library = library_of(cells);
    row.algorithm = cell(cells, "algorithm");
    row.protocol = cell(cells, "protocol");
    row.batch = cell(cells, "batch");
    if (row.algorithm.empty()) row.algorithm = "auto";
    const std::string type = cell(cells, "type");
    const std::string op = cell(cells, "op");
    read_names(row, type.empty() ? to_string(row.type) : type, op.empty() ? to_string(row.op) : op,
               place_);
  }

  void read_row(const Cells& cells) {
    require(cells.size() == width_,
            fmt::format("{}: {} cells where the heading has {}", place_, cells.size(), width_));
    if (!cell(cells, "skipped").empty()) return;
    MeasuredTime row;
    const std::string statistic = cell(cells, "statistic");
    row.mean = statistic.empty() ? mean_ : statistic == "mean";
    const std::string buffers = cell(cells, "buffers");
    if (buffers == "hot" || buffers == "produced" || buffers == "cold") row.buffers = buffers;
    if (const std::string gpus = cell(cells, "gpus_per_process"); !gpus.empty()) {
      row.gpus_per_process = product(gpus, "gpus_per_process", place_);
    }
    read_scale(cells, row);
    // Its ranks are processes.
    if (is_rccl_) {
      const std::int64_t gpus = std::int64_t{row.scale.ranks} * std::max(1, row.gpus_per_process);
      require(gpus <= most_of_product, fmt::format("{}: {} GPUs are too many", place_, gpus));
      row.scale.ranks = static_cast<int>(gpus);
    }
    read_method(cells, row);
    if (!read_collective(cells, row)) return;
    row.bytes = Bytes{table_integer(cell(cells, "bytes"), "the size", place_)};
    if (row.bytes.count == 0) return;
    if (const std::string n = cell(cells, "samples"); !n.empty()) {
      row.samples = static_cast<int>(
          std::min<std::int64_t>(table_integer(n, "the number of samples", place_), 1 << 30));
    }
    // Our own tables have a column for the only figure of another benchmark's row.
    const bool is_stated = cell(cells, "time").empty() && !cell(cells, "stated_time").empty();
    add(cells, row, is_stated ? "stated_time" : "time", is_true(cells, "in_place"));
    if (columns_.count("in_place_time") > 0) add(cells, row, "in_place_time", true);
  }

  /// How many elements were wrong. Of nccl-tests before 2.13 the figure is the largest deviation,
  /// of which 0.01 is allowed for any type; of ranks whose results differ one at least is wrong.
  std::int64_t wrong_elements(const Cells& cells, const char* what) const {
    const std::string text = cell(cells, what);
    if (text.empty() || text == "N/A") return -1;
    const double figure = table_number(text, "the wrong elements", place_);
    const bool differ = cell(cells, "replicas_identical") == "false";
    return std::max<std::int64_t>(figure > 0.01 ? whole_count(figure) : 0, differ ? 1 : 0);
  }

  void add(const Cells& cells, const MeasuredTime& row, const char* what, bool in_place) {
    const std::string text = cell(cells, what);
    const bool is_second = std::string_view(what) == "in_place_time";
    if (text.empty() || text == "N/A") {
      if (!is_second) ++without_time_;
      return;
    }
    MeasuredTime time = timed(row, table_number(text, "the time", place_), in_place, place_);
    const auto bound = [&](const char* name, Seconds otherwise) {
      const std::string value = cell(cells, name);
      if (value.empty() || is_second) return otherwise;
      return Seconds{table_number(value, name, place_) * 1e-6};
    };
    time.low = std::min(bound("low", time.time), time.time);
    time.high = std::max(bound("high", time.time), time.time);
    time.wrong = wrong_elements(cells, is_second ? "in_place_wrong" : "wrong");
    table_.times.push_back(std::move(time));
  }

  const std::string& file_;
  std::string place_;
  MeasuredTable table_;
  std::map<std::string, std::string> stated_;
  std::map<std::string, std::size_t> columns_;
  std::map<std::string, int> others_;  // rows of no known collective
  int without_time_ = 0;
  std::size_t width_ = 0;
  bool mean_ = false;
  bool is_rccl_ = false;  // written by rccl-tests itself
};

}  // namespace

MeasuredTable read_csv(std::string_view text, const std::string& file, const TableHints&) {
  return CsvReader(file).read(text);
}

}  // namespace collbench
