#include "bench/foreign/named_times.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "bench/foreign/foreign_readers.h"
#include "bench/foreign/foreign_tables.h"
#include "bench/foreign/launcher_tags.h"
#include "bench/foreign/mpi_benchmarks.h"
#include "bench/records/csv_cells.h"
#include "core/error.h"
#include "core/json.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "core/suggest.h"

namespace collbench {
namespace {

using TimesColumns = std::vector<std::string>;
using TimesJson = nlohmann::json;

constexpr double longest_ns = 1e18;  // 30 years: a larger figure is no time

double checked_ns(double ns, const std::string& name, const std::string& place) {
  require(ns > 0 && ns < longest_ns,
          fmt::format("{}: the time of '{}' is {} ns; it must be above 0 and below 1e18", place,
                      printable(name), ns));
  return ns;
}

/// Of readers that make measurements: the sizes and what else tells the rows of a table apart.
void add_rows(const MeasuredTable& table, const std::string& title, std::vector<NamedTimes>& all) {
  for (const MeasuredTime& row : table.times) {
    if (row.is_wrong()) {
      throw WrongResult(fmt::format("{}: {} elements of {} are wrong", table.name, row.wrong,
                                    to_string(row.bytes)));
    }
    all.push_back({fmt::format("{}{}{}/{}/{}/{}{}", title, row.batch.empty() ? "" : " ", row.batch,
                               row.bytes.count, to_string(row.type), to_string(row.op),
                               row.in_place ? "/in-place" : ""),
                   {row.time.count() * 1e9},
                   row.bytes});
  }
}

std::vector<NamedTimes> read_nccl_times(std::string_view text, const TimesColumns&,
                                        const std::string& place) {
  const std::string format = foreign_format(text);
  std::vector<NamedTimes> all;
  if (format == "nccl-tests json") {
    add_rows(read_nccl_json(text, place, {}), "nccl", all);
  } else if (format == "rccl-tests json") {
    add_rows(read_rccl_json(text, place, {}), "rccl", all);
  } else {
    require(format == "nccl-tests", place + ": no table of nccl-tests or rccl-tests in it");
    add_rows(read_nccl_tables(text, place), "nccl", all);
  }
  return all;
}

std::vector<NamedTimes> read_mpi_times(std::string_view text, const TimesColumns&,
                                       const std::string& place) {
  std::vector<std::string> notes;
  std::vector<NamedTimes> all;
  for (const MpiBenchmark& test : mpi_benchmarks_in(text, place, notes)) {
    for (const MeasuredTime& row : test.times) {
      if (row.is_wrong()) {
        throw WrongResult(fmt::format("{}: the result of {} at {} is wrong", place, test.title,
                                      to_string(row.bytes)));
      }
      all.push_back({fmt::format("{}{}{}/{}", test.title, test.elements.empty() ? "" : ", ",
                                 test.elements, row.bytes.count),
                     {row.time.count() * 1e9},
                     row.bytes});
    }
  }
  require(!all.empty(),
          fmt::format("{}: no table of the OSU or Intel MPI Benchmarks with latencies by size in "
                      "it{}{}",
                      place, notes.empty() ? "" : "; ", fmt::join(notes, "; ")));
  return all;
}

std::vector<NamedTimes> read_gbench_json(std::string_view text, const std::string& place) {
  std::vector<NamedTimes> all;
  read_json<TimesJson>(text, place, [&](const TimesJson& document) {
    for (const TimesJson& entry : document.at("benchmarks")) {
      if (entry.value("run_type", std::string("iteration")) != "iteration") continue;
      if (entry.value("skipped", false)) continue;
      const std::string name = entry.value("run_name", entry.at("name").get<std::string>());
      require(!entry.value("error_occurred", false),
              fmt::format("{}: '{}' failed: {}", place, name,
                          entry.value("error_message", std::string("it does not say why"))));
      const auto unit = ns_of_unit(entry.value("time_unit", std::string("ns")));
      require(unit.has_value(), fmt::format("{}: time_unit must be ns, us, ms or s", place));
      all.push_back({name, {entry.at("real_time").get<double>() * *unit}});
    }
  });
  return all;
}

/// "BM_copy_mean" is of the repetitions of BM_copy if that, or another such, is there; else it is
/// what a benchmark is called.
bool is_aggregate(std::string_view name, const std::set<std::string, std::less<>>& names) {
  constexpr std::array<std::string_view, 4> endings = {"_mean", "_median", "_stddev", "_cv"};
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
    if (!name.ends_with(ending)) return false;
    const std::string base(name.substr(0, name.size() - ending.size()));
    return names.contains(base) || names.contains(base + (ending == "_mean" ? "_median" : "_mean"));
  });
}

/// A name, which may hold blanks, and behind it the time.
std::optional<NamedTimes> gbench_row(std::string_view line) {
  const auto words = split_at_blanks(line);
  for (std::size_t i = 1; i + 5 <= words.size(); ++i) {
    const auto time = number_in(words[i], 0);
    const auto unit = ns_of_unit(words[i + 1]);
    if (!time || !unit || !number_in(words[i + 2]) || !ns_of_unit(words[i + 3])) continue;
    const auto length = static_cast<std::size_t>(words[i].data() - line.data());
    return NamedTimes{std::string(trimmed(line.substr(0, length))), {*time * *unit}};
  }
  return std::nullopt;
}

/// The table on the console: "BM_copy/8    12.3 ns    12.1 ns   5600000 [counters]".
std::vector<NamedTimes> read_gbench_console(std::string_view text, const std::string& place) {
  std::vector<NamedTimes> all;
  std::set<std::string, std::less<>> names;
  for (const TextLine& line : lines_of(text)) {
    require(line.text.find("ERROR OCCURRED") == line.text.npos,
            fmt::format("{}:{}: {}", place, line.number, printable(line.text)));
    if (auto row = gbench_row(line.text)) {
      names.insert(row->name);
      all.push_back(*std::move(row));
    }
  }
  std::erase_if(all, [&](const NamedTimes& one) { return is_aggregate(one.name, names); });
  return all;
}

std::vector<NamedTimes> read_gbench_times(std::string_view text, const TimesColumns&,
                                          const std::string& place) {
  return trimmed(text).starts_with('{') ? read_gbench_json(text, place)
                                        : read_gbench_console(text, place);
}

std::vector<NamedTimes> read_hyperfine_times(std::string_view text, const TimesColumns&,
                                             const std::string& place) {
  std::vector<NamedTimes> all;
  read_json<TimesJson>(text, place, [&](const TimesJson& document) {
    for (const TimesJson& result : document.at("results")) {
      NamedTimes& one = all.emplace_back();
      one.name = result.at("command").get<std::string>();
      // A scan may give one name to all of its commands.
      const TimesJson parameters = result.value("parameters", TimesJson::object());
      for (const auto& [key, value] : parameters.items()) {
        one.name +=
            fmt::format(" {}={}", key, value.is_string() ? value.get<std::string>() : value.dump());
      }
      const TimesJson codes = result.value("exit_codes", TimesJson::array());
      const auto failed = std::count_if(codes.begin(), codes.end(), [](const TimesJson& code) {
        return code.is_null() || code != 0;
      });
      require(failed == 0,
              fmt::format("{}: {} of {} runs of '{}' failed, whose times are no times of it; where "
                          "that is as it should be, let the command end with '|| true'",
                          place, failed, codes.size(), printable(one.name)));
      if (result.contains("times")) {
        for (const TimesJson& time : result["times"]) one.ns.push_back(time.get<double>() * 1e9);
      } else {
        one.ns.push_back(result.at("mean").get<double>() * 1e9);
      }
    }
  });
  return all;
}

/// The first line with all the columns is the heading; what stands before it is passed over.
std::vector<NamedTimes> read_csv_times(std::string_view text, const TimesColumns& columns,
                                       const std::string& place) {
  std::vector<NamedTimes> all;
  std::vector<std::size_t> places;
  std::size_t width = 0;
  for (const TextLine& line : lines_of(text)) {
    if (line.text.empty() || line.text.front() == '#') continue;
    const std::string at = fmt::format("{}:{}", place, line.number);
    // What stands before the heading need not be CSV.
    if (places.empty() && std::count(line.text.begin(), line.text.end(), '"') % 2 != 0) continue;
    const std::vector<std::string> cells = csv_cells(line.text, at);
    if (places.empty()) {
      for (const std::string& column : columns) {
        const auto found = std::find(cells.begin(), cells.end(), column);
        if (found != cells.end()) places.push_back(static_cast<std::size_t>(found - cells.begin()));
      }
      if (places.size() < columns.size()) places.clear();
      width = cells.size();
      continue;
    }
    require(cells.size() == width,
            fmt::format("{}: {} cells where the heading has {}", at, cells.size(), width));
    const std::string unit = places.size() > 2 ? cells[places[2]] : "s";
    const auto ns = ns_of_unit(unit);
    require(ns.has_value(),
            fmt::format("{}: the unit is '{}'; it must be ns, us, ms or s", at, printable(unit)));
    all.push_back({cells[places[0]], {table_number(cells[places[1]], "the time", at) * *ns}});
  }
  require(!places.empty(),
          fmt::format("{}: no heading with the columns {} in it", place, fmt::join(columns, ", ")));
  return all;
}

constexpr std::array<TimesFormat, 6> times_rows = {{
    {"nccl-tests", "mean", false, true, read_nccl_times},
    {"osu", "mean", false, true, read_mpi_times},
    {"imb", "mean", false, true, read_mpi_times},
    {"gbench", "mean", false, false, read_gbench_times},
    {"hyperfine", "", false, false, read_hyperfine_times},
    {"csv", "", true, false, read_csv_times},
}};

}  // namespace

TimesRequest parse_times_request(const std::string& label, const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  TimesRequest request;
  request.format = &find_row(label + " format", name, times_rows);
  if (name.size() < text.size()) {
    require(request.format->takes_columns,
            fmt::format("{}: '{}': only csv takes columns", label, text));
    request.columns = parse_list(label, text.substr(name.size() + 1));
  }
  const std::size_t count = request.columns.size();
  require(!request.format->takes_columns || count == 2 || count == 3,
          fmt::format("{}: '{}' needs columns of names and times, and may have one of units: "
                      "csv:case,time,unit",
                      label, text));
  return request;
}

std::vector<NamedTimes> read_named_times(const TimesRequest& request, std::string_view text,
                                         const std::string& place) {
  const std::string plain = without_launcher_tags(without_terminal_codes(text));
  std::vector<NamedTimes> joined;
  std::map<std::string, std::size_t> seen;
  for (NamedTimes& one : request.format->read(plain, request.columns, place)) {
    one.name = printable(trimmed(one.name));
    require(!one.name.empty(), place + ": a case without a name");
    const auto [found, is_new] = seen.try_emplace(one.name, joined.size());
    if (is_new) joined.push_back({one.name, {}, one.bytes});
    for (const double ns : one.ns) {
      joined[found->second].ns.push_back(checked_ns(ns, one.name, place));
    }
  }
  std::erase_if(joined, [](const NamedTimes& one) { return one.ns.empty(); });
  require(!joined.empty(),
          fmt::format("{}: no time in it that {} would print", place, request.format->name));
  return joined;
}

}  // namespace collbench
