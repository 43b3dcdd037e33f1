#include "bench/foreign/foreign_tables.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/foreign/foreign_readers.h"
#include "bench/foreign/launcher_tags.h"
#include "bench/foreign/nccl_rows.h"
#include "bench/records/record_file.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "core/suggest.h"

namespace collbench {
namespace {

std::string json_format(std::string_view text) {
  const std::string_view head = text.substr(0, 65536);
  if (mentions(head, "\"schema_version\"") || mentions(head, "\"environment\"")) return "collbench";
  if (mentions(text, "\"benchmarks\"") && mentions(text, "\"real_time\"")) {
    return "google-benchmark";
  }
  if (mentions(text, "\"results\"") && mentions(text, "\"out_of_place\"")) return "nccl-tests json";
  if (mentions(text, "\"busBw\"")) return "rccl-tests json";
  return {};
}

/// The first line that is neither empty nor a comment.
std::string_view heading(std::string_view text) {
  for (const TextLine& line : lines_of(text)) {
    if (!line.text.empty() && line.text.front() != '#') return line.text;
  }
  return {};
}

/// Throws InvalidArgument for groups or shares that so many ranks do not have.
Collective collective_of(const MeasuredTime& time) {
  constexpr int most_ranks = 1 << 20;  // a list of more is no text that anyone wrote
  const int ranks = time.scale.ranks;
  require(time.groups.empty() || ranks <= most_ranks, fmt::format("groups of {} ranks", ranks));
  return with_counts({time.collective, time.root}, time.counts,
                     group_size(parse_groups(time.groups, ranks), ranks));
}

void apply(const TableHints& hints, const std::string& file, MeasuredTable& table) {
  // Tables often count hosts where several share a domain, or one host as many, and pasted ones
  // lack lines of ranks: what is given holds.
  std::set<int> stated_ranks;
  std::set<int> other_ranks;
  std::set<int> other_nodes;
  const auto replace = [](int& own, int hint, std::set<int>& replaced) {
    if (hint <= 0 || own == hint) return;
    if (own > 0) replaced.insert(own);
    own = hint;
  };
  for (MeasuredTime& time : table.times) {
    if (time.scale.ranks > 0) stated_ranks.insert(time.scale.ranks);
    replace(time.scale.ranks, hints.ranks, other_ranks);
    replace(time.scale.nodes, hints.nodes, other_nodes);
    if (time.scale.nodes != 1) time.scale.cores = 0;
    const Scale scale = time.scale;
    require(scale.ranks > 0, fmt::format("{}: how many ranks is not said in it; add it: "
                                         "{},ranks=RANKS,nodes=NODES",
                                         file, file));
    require(scale.nodes == 0 || (scale.nodes <= scale.ranks && scale.ranks % scale.nodes == 0),
            fmt::format("{}: {} ranks are not spread evenly over {} nodes", file, scale.ranks,
                        scale.nodes));
    at_place(file, [&] { return collective_of(time); });
    if (!hints.system.empty()) time.system = hints.system;
    if (!hints.library.empty()) time.library = hints.library;
    if (!hints.algorithm.empty()) time.algorithm = hints.algorithm;
    if (hints.gpus_per_process > 0) time.gpus_per_process = hints.gpus_per_process;
  }
  // Rows of several scales are not all of one.
  require(other_ranks.empty() || stated_ranks.size() == 1,
          fmt::format("{}: {} ranks are stated, {} are given", file, fmt::join(stated_ranks, ", "),
                      hints.ranks));
  const auto note = [&](const std::set<int>& replaced, int hint, const char* what) {
    if (replaced.empty()) return;
    table.notes.push_back(fmt::format("{}: {} {} are stated; taken as {}, which was given", file,
                                      fmt::join(replaced, ", "), what, hint));
  };
  note(other_ranks, hints.ranks, "ranks");
  note(other_nodes, hints.nodes, "nodes");
}

/// Splits "job.txt,ranks=16,nodes=2" into the path and its hints.
TableHints split_hints(std::string& path) {
  TableHints hints;
  const std::size_t equals = path.find('=');
  if (equals == path.npos || names_a_file(path)) return hints;
  const std::size_t comma = path.rfind(',', equals);
  if (comma == path.npos) return hints;
  const std::string all = path.substr(comma + 1);
  path.resize(comma);
  for (const std::string& part : split_at(all, ',')) {
    const std::string key = part.substr(0, part.find('='));
    const std::string value = part.find('=') == part.npos ? "" : part.substr(key.size() + 1);
    const std::string place = fmt::format("'{}'", part);
    const std::map<std::string, std::string*> texts = {
        {"system", &hints.system}, {"library", &hints.library}, {"algorithm", &hints.algorithm}};
    const std::map<std::string, int*> counts = {{"ranks", &hints.ranks},
                                                {"nodes", &hints.nodes},
                                                {"gpus_per_process", &hints.gpus_per_process}};
    if (const auto text = texts.find(key); text != texts.end()) {
      *text->second = value;
    } else if (const auto count = counts.find(key); count != counts.end()) {
      *count->second = static_cast<int>(table_integer(value, key, place));
    } else {
      const std::vector<std::string> known = {"ranks",  "nodes",   "gpus_per_process",
                                              "system", "library", "algorithm"};
      require_known(fmt::format("{} behind '{}'", place, path), key, known);
    }
  }
  return hints;
}

bool may_hold_table(const std::filesystem::path& path) {
  constexpr std::array<std::string_view, 6> endings = {".csv", ".txt",  ".out",
                                                       ".log", ".json", ".jsonl"};
  return std::find(endings.begin(), endings.end(), path.extension().string()) != endings.end();
}

}  // namespace

std::string foreign_format(std::string_view text) {
  const std::string_view start = trimmed(text.substr(0, 4096));
  if (start.empty()) return {};
  if (start.front() == '{' || start.front() == '[') return json_format(text);
  const std::string_view first = heading(text);
  const bool csv = mentions(first, ",") && first.find_first_of("0123456789") != 0;
  const bool has_time =
      mentions(first, "_us") || mentions(first, ",time,algbw,");  // or rccl-tests' own
  if (csv && (mentions(first, "bytes") || mentions(first, "size")) && has_time) {
    return mentions(first, "tasks_per_node") ? "pico" : "csv";
  }
  if (mentions(text, "busbw") && mentions(text, "algbw")) return "nccl-tests";
  if (mentions(text, "# OSU") || mentions(text, "Avg Latency(us)")) return "osu";
  if (mentions(text, "t_avg[usec]")) return "imb";
  if (csv) return "csv";
  const std::vector<TextLine> lines = lines_of(text);
  const bool has_row =
      std::ranges::any_of(lines, [](const TextLine& line) { return is_nccl_row(line.text); });
  return has_row ? "nccl-tests" : "";
}

MeasuredTable read_foreign(std::string_view text, const std::string& file,
                           const TableHints& hints) {
  // A log may have been written through a terminal.
  const std::string plain = without_launcher_tags(without_terminal_codes(text));
  static const std::map<std::string_view, ReadTable*> readers = {
      {"nccl-tests", read_nccl_text},
      {"nccl-tests json",
       [](std::string_view json, const std::string& name, const TableHints& wanted) {
         return read_nccl_json(json, name, wanted.collective);
       }},
      {"rccl-tests json",
       [](std::string_view json, const std::string& name, const TableHints& wanted) {
         return read_rccl_json(json, name, wanted.collective);
       }},
      {"google-benchmark", read_google_benchmark},
      {"osu", read_mpi_benchmarks},
      {"imb", read_mpi_benchmarks},
      {"csv", read_csv},
      {"pico", read_csv},
      {"collbench",
       [](std::string_view records, const std::string& name, const TableHints&) {
         return to_measurements(records_from_json(std::string(records)), name);
       }},
  };
  const auto reader = readers.find(foreign_format(plain));
  require(reader != readers.end(), fmt::format("{}: no table of nccl-tests, rccl-tests, OSU, IMB, "
                                               "Google Benchmark or collbench, and no CSV",
                                               file));
  MeasuredTable table = reader->second(plain, file, hints);
  apply(hints, file, table);
  const std::string other = plain == text ? "" : other_table_writer(plain);
  if (!other.empty()) {
    table.notes.push_back(fmt::format("{}: left out: lines that begin with '{}' hold a table, too",
                                      file, printable(other)));
  }
  return table;
}

std::vector<MeasuredTable> read_tables(const std::string& path, std::vector<std::string>& skipped,
                                       CollectiveKind kind) {
  std::string file = path;
  TableHints hints = split_hints(file);
  hints.collective = kind;
  std::error_code unseen;  // reading it says why
  if (!std::filesystem::is_directory(file, unseen)) {
    return {read_foreign(read_file(file), file, hints)};
  }
  std::vector<MeasuredTable> tables;
  for (const std::string& each : files_below(file, skipped)) {
    if (!may_hold_table(each)) continue;
    try {
      tables.push_back(read_foreign(read_file(each), each, hints));
    } catch (const InvalidArgument& e) {
      skipped.push_back(e.what());
    }
  }
  return tables;
}

}  // namespace collbench
