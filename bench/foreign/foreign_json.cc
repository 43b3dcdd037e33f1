// JSON of nccl-tests (-J), rccl-tests (-Z json) and Google Benchmark.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/foreign/foreign_readers.h"
#include "bench/foreign/nccl_rows.h"
#include "bench/foreign/test_conditions.h"
#include "core/error.h"
#include "core/json.h"
#include "core/parse.h"

namespace collbench {
namespace {

using SortedJson = nlohmann::json;

/// Runs `read` on the parsed text; what is missing or of another kind is refused with the file.
template <typename Read>
MeasuredTable read_table(std::string_view text, const std::string& file, Read read) {
  MeasuredTable table;
  table.name = file;
  read_json<SortedJson>(text, file, [&](const SortedJson& json) { read(json, table); });
  require(!table.times.empty(),
          fmt::format("{}: no measurement in it{}{}", file, table.notes.empty() ? "" : "; ",
                      fmt::join(table.notes, "; ")));
  return table;
}

/// Numbers that some versions write as text.
double number(const SortedJson& value, const std::string& what, const std::string& place) {
  if (value.is_string()) return table_number(trimmed(value.get<std::string>()), what, place);
  return table_number(fmt::format("{}", value.get<double>()), what, place);
}

/// Without its fraction.
std::int64_t whole_number(const SortedJson& value, const std::string& what,
                          const std::string& place, std::int64_t most) {
  const double read = number(value, what, place);
  require(read <= static_cast<double>(most),
          fmt::format("{}: {} is {}; it must be at most {}", place, what, read, most));
  return static_cast<std::int64_t>(read);
}

/// Type, operator and size. False for a size of 0, which is no measurement.
bool read_vector(MeasuredTime& row, const SortedJson& entry, const std::string& place) {
  row.bytes = Bytes{whole_number(entry.at("size"), "size", place, std::int64_t{1} << 62)};
  const std::string op = entry.at("redop").get<std::string>();
  read_names(row, entry.at("type").get<std::string>(),
             op == "none" ? to_string(row.op) : std::string_view(op), place);
  return row.bytes.count > 0;
}

/// Microseconds. With -C 1 the time is that of launches, and the bandwidth that of the true one.
double time_of_cells(const SortedJson& cells, Bytes bytes, const std::string& place) {
  if (cells.contains("time") || !cells.contains("cpu_time")) {
    return number(cells.at("time"), "time", place);
  }
  const double algbw = number(cells.at("alg_bw"), "alg_bw", place);
  return algbw > 0 ? static_cast<double>(bytes.count) / (1e3 * algbw) : 0;
}

void read_nccl_half(const SortedJson& entry, const MeasuredTime& row, bool in_place,
                    const std::string& place, MeasuredTable& table) {
  const char* half = in_place ? "in_place" : "out_of_place";
  if (!entry.contains(half) || !entry[half].is_object()) return;
  const SortedJson& cells = entry[half];
  MeasuredTime measured = timed(row, time_of_cells(cells, row.bytes, place), in_place, place);
  const std::string each = std::string(half) + "_per_iter";
  if (entry.contains(each) && entry[each].contains("p50_us")) {
    const SortedJson& spread = entry[each];
    measured = timed(row, number(spread["p50_us"], "p50_us", place), in_place, place);
    measured.mean = false;
    measured.low = Seconds{number(spread.at("min_us"), "min_us", place) * 1e-6};
    measured.high = Seconds{number(spread.at("max_us"), "max_us", place) * 1e-6};
  }
  const SortedJson wrong = cells.value("nwrong", SortedJson());  // null with -c 0
  if (!wrong.is_null()) measured.wrong = whole_count(number(wrong, "nwrong", place));
  table.times.push_back(std::move(measured));
}

Scale read_devices(const SortedJson& document, MeasuredTable& table) {
  std::set<std::string> hosts;
  int ranks = 0;
  if (!document.contains("config") || !document["config"].contains("devices")) return {};
  for (const SortedJson& device : document["config"]["devices"]) {
    ++ranks;
    hosts.insert(device.value("hostname", std::string()));
    if (table.hardware.empty()) table.hardware = device.value("device_info", std::string());
  }
  table.hosts.assign(hosts.begin(), hosts.end());
  return {ranks, static_cast<int>(hosts.size())};
}

/// The collective of a row, by the name of the test or by what differs between tests.
std::optional<CollectiveKind> collective_of_entry(const SortedJson& entry, std::string_view test,
                                                  MeasuredTime& row, const std::string& place) {
  NcclColumns columns{.reduces = entry.at("redop") != "none", .bytes = row.bytes};
  if (entry.contains("count")) {
    const auto count = whole_number(entry["count"], "count", place, std::int64_t{1} << 58);
    columns.counted = count * size_of(row.type);
  }
  const std::string root = entry.value("root", std::string("-1"));
  columns.root = small_integer_in(trimmed(root), 0);
  const auto kind = test.empty() ? columns.collective() : collective_of_test(test);
  if (kind && has_root(*kind)) row.root = columns.root.value_or(0);
  return kind;
}

/// What is missing, or of another kind, says nothing.
void add_conditions(const SortedJson& config, const std::string& file, MeasuredTable& table) {
  const auto figure = [&](const char* key) {
    const bool has = config.contains(key) && config[key].is_number_integer();
    constexpr std::int64_t most = 1 << 24;
    return has ? static_cast<int>(
                     std::clamp<std::int64_t>(config[key].get<std::int64_t>(), 0, most))
               : 0;
  };
  TestConditions conditions;
  conditions.graph_launches = figure("graph");
  conditions.grouped = figure("aggregated_iterations");
  const char* const blocking = "blocking_collectives";  // a text in 2.19
  conditions.is_waited_for = config.contains(blocking) && config[blocking] == "true";
  for (const std::string& note : conditions.notes()) {
    table.notes.push_back(fmt::format("{}: {}", file, note));
  }
}

/// The program that wrote it; empty where it does not say.
std::string test_of(const SortedJson& document) {
  const SortedJson args = document.value("args", SortedJson::array());
  const bool says = args.is_array() && !args.empty() && args[0].is_string();
  const std::string test = says ? args[0].get<std::string>() : "";
  return test.ends_with("_perf") ? test.substr(test.rfind('/') + 1) : "";
}

/// A part of a name behind the size. What is known without a key is a type, an operator, the place
/// or a collective, "broadcast:2" with its root; others stay what they usually are.
void read_name_part(const std::string& key, const std::string& value, MeasuredTime& row,
                    const std::string& place) {
  const auto is_one_of = [&](const auto& values) {
    return std::ranges::any_of(values, [&](auto each) { return to_string(each) == key; });
  };
  if (key == "groups") row.groups = value;
  if (key == "counts") row.counts = value;
  if (key == "out-of-place") row.in_place = false;
  if (is_one_of(all_data_types())) row.type = parse_data_type(key);
  if (is_one_of(all_reduce_ops())) row.op = parse_reduce_op(key);
  if (std::ranges::find(collective_names(), key) == collective_names().end()) return;
  row.collective = parse_collective(key);
  if (key != value) row.root = static_cast<int>(table_integer(value, "the root", place));
}

/// Where the parts begin that stand behind the algorithm: names of files have slashes too, but the
/// library is the last before the workers.
std::size_t end_of_algorithm(const std::string& name) {
  const std::size_t workers = name.find("/workers:");
  const std::size_t last =
      workers == name.npos || workers == 0 ? name.npos : name.rfind('/', workers - 1);
  return std::min(last == name.npos ? name.find('/') : last, name.size());
}

/// "ring/shm/workers:8/1048576/f32/sum", as case_name() writes it.
bool read_name(const std::string& name, MeasuredTime& row, const std::string& place) {
  row.algorithm = name.substr(0, end_of_algorithm(name));
  const std::vector<std::string> parts = split_at(name.substr(row.algorithm.size()), '/');
  row.in_place = name.find("/workers:") != name.npos;  // names of ours say where it is not
  bool sized = false;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    const std::size_t colon = part.find(':');
    const std::string key = part.substr(0, colon);
    const std::string value = colon == part.npos ? part : part.substr(colon + 1);
    if (key == "workers" || key == "ranks" || key == "gpus") {
      row.scale.ranks = static_cast<int>(table_integer(value, key, place));
    } else if (key == "nodes") {
      row.scale.nodes = static_cast<int>(table_integer(value, key, place));
    } else if (key == "bytes" ||
               (colon == part.npos && part.find_first_not_of("0123456789") == part.npos)) {
      row.bytes = Bytes{table_integer(value, "bytes", place)};
      sized = true;
    } else if (i == 1) {
      row.library = part;
    } else {
      read_name_part(key, value, row, place);
    }
  }
  return sized;
}

double microseconds_of(const SortedJson& entry, const std::string& place) {
  const auto unit = ns_of_unit(entry.value("time_unit", std::string("ns")));
  require(unit.has_value(), fmt::format("{}: time_unit must be ns, us, ms or s", place));
  return number(entry.at("real_time"), "real_time", place) * (*unit / 1e3);
}

}  // namespace

MeasuredTable read_nccl_json(std::string_view text, const std::string& file,
                             std::optional<CollectiveKind> kind) {
  return read_table(text, file, [&](const SortedJson& document, MeasuredTable& table) {
    MeasuredTime row = mean_of("nccl");
    row.scale = read_devices(document, table);
    if (document.contains("config") && document["config"].contains("ngpus")) {
      const SortedJson& gpus = document["config"]["ngpus"];
      row.gpus_per_process =
          std::max(1, static_cast<int>(whole_number(gpus, "config.ngpus", file, 1 << 24)));
    }
    if (document.contains("config")) add_conditions(document["config"], file, table);
    const std::string test = test_of(document);
    std::int64_t others = 0;
    for (std::size_t i = 0; i < document.at("results").size(); ++i) {
      const SortedJson& entry = document["results"][i];
      const std::string place = fmt::format("{}: results[{}]", file, i);
      if (!read_vector(row, entry, place)) continue;
      const auto found = collective_of_entry(entry, test, row, place);
      if (kind && found != kind) {
        ++others;
        continue;
      }
      row.collective = found.value_or(CollectiveKind::all_reduce);
      for (bool in_place : {false, true}) read_nccl_half(entry, row, in_place, place, table);
    }
    if (others == 0) return;
    table.notes.push_back(fmt::format("{}: left out: {} rows that are not of {}{}", file, others,
                                      to_string(*kind), test.empty() ? "" : ", but of " + test));
  });
}

MeasuredTable read_rccl_json(std::string_view text, const std::string& file,
                             std::optional<CollectiveKind> kind) {
  return read_table(text, file, [&](const SortedJson& document, MeasuredTable& table) {
    for (std::size_t i = 0; i < document.size(); ++i) {
      const SortedJson& entry = document[i];
      const std::string place = fmt::format("{}: [{}]", file, i);
      const auto found = collective_of_test(entry.at("name").get<std::string>());
      if (kind && found != kind) {
        table.notes.push_back(
            fmt::format("{} is {}, no {}", place, json_text(entry["name"]), to_string(*kind)));
        continue;
      }
      MeasuredTime row = mean_of("rccl");
      row.collective = found.value_or(CollectiveKind::all_reduce);
      row.scale = {entry.at("ranks").get<int>(), entry.value("nodes", 0)};
      if (!read_vector(row, entry, place)) continue;
      MeasuredTime time = timed(row, number(entry.at("time"), "time", place),
                                number(entry.at("inPlace"), "inPlace", place) != 0, place);
      if (entry.contains("wrong") && entry["wrong"] != "N/A") {
        time.wrong = whole_count(number(entry["wrong"], "wrong", place));
      }
      table.times.push_back(std::move(time));
    }
  });
}

MeasuredTable read_google_benchmark(std::string_view text, const std::string& file,
                                    const TableHints&) {
  return read_table(text, file, [&](const SortedJson& document, MeasuredTable& table) {
    const SortedJson context = document.value("context", SortedJson::object());
    const bool is_ours = context.contains("collbench_version");  // then the time is a median
    for (std::size_t i = 0; i < document.at("benchmarks").size(); ++i) {
      const SortedJson& entry = document["benchmarks"][i];
      const std::string place = fmt::format("{}: benchmarks[{}]", file, i);
      if (entry.value("run_type", std::string("iteration")) != "iteration") continue;
      const std::string name = entry.value("run_name", entry.at("name").get<std::string>());
      MeasuredTime row;
      row.mean = !is_ours;
      if (entry.value("error_occurred", false) || !read_name(name, row, place)) {
        table.notes.push_back(fmt::format(
            "{}: '{}' left out: {}", place, name,
            entry.value("error_occurred", false)
                ? "it failed"
                : "no part of the name is a size; wanted is algorithm/library/workers:8/1048576"));
        continue;
      }
      const SortedJson iterations = entry.value("iterations", SortedJson(0));
      row.samples = static_cast<int>(std::min(number(iterations, "iterations", place), 1e9));
      table.times.push_back(timed(row, microseconds_of(entry, place), row.in_place, place));
    }
  });
}

}  // namespace collbench
