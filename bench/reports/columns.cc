#include "bench/reports/columns.h"

#include <algorithm>
#include <cassert>
#include <set>

#include <fmt/format.h>

#include "bench/records/report.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

std::string algorithm_text(const Row& row) {
  const bool chosen = row.record.point.algorithm == "auto";
  return chosen ? "auto: " + row.record.algorithm_chosen : row.record.point.algorithm;
}

double bound_us(const Row& row) {
  return row.record.bound ? row.record.bound->time.count() * 1e6 : 0;
}

double bound_percent(const Row& row) {
  return row.figures.median_us > 0 ? 100 * bound_us(row) / row.figures.median_us : 0;
}

std::string wrong_text(const Row& row) {
  const Measurement& measured = row.record.measurement;
  if (measured.wrong < 0) return "-";
  return measured.replicas_identical ? std::to_string(measured.wrong) : "differ";
}

/// What a simulation knows; nothing of a real record.
const Exact& exact_of(const Row& row) {
  static const Exact none;
  return row.record.measurement.exact ? *row.record.measurement.exact : none;
}

/// A property of a simulated case; a dash for a real one.
std::string simulated_text(const Row& row, const std::string& text) {
  return row.record.point.simulated.topology.empty() || text.empty() ? "-" : text;
}

/// What a number shows, and a dash if there is none.
std::string or_dash(double value, const std::string& text) { return value > 0 ? text : "-"; }

const Column catalogue[] = {
    {"algorithm", "algorithm", "", 9, true, false, algorithm_text},
    {"backend", "backend", "", 7, true, false,
     [](const Row& row) { return backend_text(row.record.point); }},
    {"workers", "workers", "", 7, false, false,
     [](const Row& row) { return std::to_string(row.record.point.workers); },
     [](const Row& row) { return static_cast<double>(row.record.point.workers); }},
    {"place", "place", "", 5, true, false,
     [](const Row& row) { return std::string(row.record.point.in_place ? "in" : "out"); }},
    {"type", "type", "", 4, true, false,
     [](const Row& row) { return std::string(to_string(row.record.point.type)); }},
    {"op", "op", "", 4, true, false,
     [](const Row& row) { return std::string(to_string(row.record.point.op)); }},
    {"buffers", "buffers", "", 8, true, false,
     [](const Row& row) { return std::string(to_string(row.record.point.buffers)); }},
    {"size", "size", "", 9, false, false,
     [](const Row& row) { return to_string(row.record.point.bytes); },
     [](const Row& row) { return static_cast<double>(row.record.point.bytes.count); }},
    {"count", "count", "", 10, false, false,
     [](const Row& row) { return std::to_string(element_count(row.record.point)); },
     [](const Row& row) { return static_cast<double>(element_count(row.record.point)); }},
    {"n", "n", "", 5, false, true,
     [](const Row& row) { return std::to_string(row.figures.latency.n); },
     [](const Row& row) { return static_cast<double>(row.figures.latency.n); }},
    {"min", "min", "(us)", 9, false, true,
     [](const Row& row) { return significant(row.figures.latency.min_ns / 1e3); },
     [](const Row& row) { return row.figures.latency.min_ns; }},
    {"p25", "p25", "(us)", 9, false, true,
     [](const Row& row) { return significant(row.figures.latency.p25_ns / 1e3); },
     [](const Row& row) { return row.figures.latency.p25_ns; }},
    {"p50", "p50", "(us)", 9, false, true,
     [](const Row& row) { return significant(row.figures.median_us); },
     [](const Row& row) { return row.figures.median_us; }},
    {"ci", "+-95%", "(%)", 5, false, true,
     [](const Row& row) { return fmt::format("{:.1f}", row.figures.interval_percent); },
     [](const Row& row) { return row.figures.interval_percent; }},
    {"p75", "p75", "(us)", 9, false, true,
     [](const Row& row) { return significant(row.figures.latency.p75_ns / 1e3); },
     [](const Row& row) { return row.figures.latency.p75_ns; }},
    {"p95", "p95", "(us)", 9, false, true,
     [](const Row& row) { return significant(row.figures.p95_us); },
     [](const Row& row) { return row.figures.p95_us; }},
    {"p99", "p99", "(us)", 9, false, true,
     [](const Row& row) { return significant(row.figures.latency.p99_ns / 1e3); },
     [](const Row& row) { return row.figures.latency.p99_ns; }},
    {"algbw", "algbw", "(GB/s)", 8, false, true,
     [](const Row& row) { return significant(row.figures.algbw_GBps); },
     [](const Row& row) { return row.figures.algbw_GBps; }},
    {"busbw", "busbw", "(GB/s)", 8, false, true,
     [](const Row& row) { return significant(row.figures.busbw_GBps); },
     [](const Row& row) { return row.figures.busbw_GBps; }},
    {"bound", "bound", "(us)", 9, false, true,
     [](const Row& row) { return or_dash(bound_us(row), significant(bound_us(row))); }, bound_us},
    {"of-bound", "bound", "(%)", 5, false, true,
     [](const Row& row) {
       return or_dash(bound_percent(row), fmt::format("{:.0f}", bound_percent(row)));
     },
     bound_percent},
    {"topology", "topology", "", 8, true, false,
     [](const Row& row) { return simulated_text(row, row.record.point.simulated.topology); }},
    {"collective", "collective", "", 14, true, false,
     [](const Row& row) { return simulated_text(row, row.record.point.simulated.collective); }},
    {"mapping", "mapping", "", 9, true, false,
     [](const Row& row) { return simulated_text(row, row.record.point.simulated.mapping); }},
    {"posting", "posting", "", 10, true, false,
     [](const Row& row) { return simulated_text(row, row.record.point.simulated.posting); }},
    {"protocol", "protocol", "", 8, true, false,
     [](const Row& row) { return simulated_text(row, row.record.point.simulated.protocol); }},
    {"time", "time", "(us)", 9, false, true,
     [](const Row& row) { return significant(exact_of(row).time.count() * 1e6); },
     [](const Row& row) { return exact_of(row).time.count(); }},
    {"rounds", "rounds", "", 7, false, true,
     [](const Row& row) { return std::to_string(exact_of(row).rounds); },
     [](const Row& row) { return static_cast<double>(exact_of(row).rounds); }},
    {"messages", "messages", "", 10, false, true,
     [](const Row& row) { return std::to_string(exact_of(row).messages); },
     [](const Row& row) { return static_cast<double>(exact_of(row).messages); }},
    {"engine", "engine", "", 8, true, true,
     [](const Row& row) { return simulated_text(row, exact_of(row).engine); }},
    {"wrong", "wrong", "", 5, false, true, wrong_text,
     [](const Row& row) { return static_cast<double>(row.record.measurement.wrong); }},
};

constexpr std::string_view usual_figures[] = {"size",  "count", "p50",   "ci",       "p95",
                                              "algbw", "busbw", "bound", "of-bound", "wrong"};

constexpr std::string_view simulated_figures[] = {"size",  "count",  "time",     "algbw",
                                                  "busbw", "rounds", "messages", "engine"};

const Column& column_called(std::string_view name) {
  const auto found = std::find_if(std::begin(catalogue), std::end(catalogue),
                                  [&](const Column& column) { return column.name == name; });
  assert(found != std::end(catalogue));
  return *found;
}

template <typename Get>
std::size_t different(const std::vector<Case>& cases, Get get) {
  std::set<decltype(get(cases.front()))> values;
  for (const Case& point : cases) values.insert(get(point));
  return values.size();
}

bool is_auto(const Case& point) { return point.algorithm == "auto"; }
bool is_simulated(const Case& point) { return !point.simulated.topology.empty(); }

/// The columns of how cases are simulated that vary over them.
void add_varying(const std::vector<Case>& cases, std::vector<std::string>& names) {
  const auto add = [&](const char* name, std::string Simulated::*property) {
    if (different(cases, [&](const Case& c) { return c.simulated.*property; }) > 1) {
      names.emplace_back(name);
    }
  };
  add("topology", &Simulated::topology);
  add("collective", &Simulated::collective);
  add("mapping", &Simulated::mapping);
  add("posting", &Simulated::posting);
  add("protocol", &Simulated::protocol);
}

std::vector<std::string> usual_columns(const std::vector<Case>& cases) {
  std::vector<std::string> names;
  const bool chooses = std::any_of(cases.begin(), cases.end(), is_auto);
  if (chooses || different(cases, [](const Case& c) { return c.algorithm; }) > 1) {
    names.emplace_back("algorithm");
  }
  if (different(cases, backend_text) > 1) names.emplace_back("backend");
  if (different(cases, [](const Case& c) { return c.workers; }) > 1) names.emplace_back("workers");
  if (different(cases, [](const Case& c) { return c.in_place; }) > 1) names.emplace_back("place");
  add_varying(cases, names);
  if (std::all_of(cases.begin(), cases.end(), is_simulated)) {
    names.insert(names.end(), std::begin(simulated_figures), std::end(simulated_figures));
  } else {
    names.insert(names.end(), std::begin(usual_figures), std::end(usual_figures));
  }
  return names;
}

/// Cells of these are as wide as the cases make them, and rows come one by one.
std::size_t widest_cell(const Column& column, const std::vector<Case>& cases) {
  std::size_t width = column.width;
  for (const Case& point : cases) {
    if (column.name == "algorithm") {
      constexpr std::size_t with_choice = 22;  // "auto: " and most names
      width = std::max(width, is_auto(point) ? with_choice : point.algorithm.size());
    }
    if (column.name == "topology") width = std::max(width, point.simulated.topology.size());
    if (column.name == "backend") width = std::max(width, backend_text(point).size());
  }
  return width;
}

bool stands_before(const Column& column, const Row& a, const Row& b) {
  return column.value != nullptr ? column.value(a) < column.value(b)
                                 : column.text(a) < column.text(b);
}

}  // namespace

std::string backend_text(const Case& point) {
  if (point.private_buffers) return point.backend + "-private";
  if (point.isolate) return point.backend + "-processes";
  const Backend* const row = backend_named(point.backend);
  const bool is_usual =
      row == nullptr || row->usual_transport.empty() || row->usual_transport == point.transport;
  return is_usual ? point.backend : point.backend + "-" + point.transport;
}

std::vector<std::string> column_names() {
  std::vector<std::string> names;
  for (const Column& column : catalogue) names.emplace_back(column.name);
  return names;
}

std::vector<Column> table_columns(const std::vector<std::string>& names,
                                  const std::vector<Case>& cases, bool unicode) {
  std::vector<Column> columns;
  for (const std::string& name : names.empty() ? usual_columns(cases) : names) {
    Column& column = columns.emplace_back(column_called(name));
    column.width = widest_cell(column, cases);
    if (unicode && column.unit == "(us)") column.unit = "(µs)";
    if (unicode && column.name == "ci") column.heading = "±95%";
  }
  return columns;
}

std::string cell_text(const Column& column, const Row& row) {
  return column.figure && !row.figures.valid ? "-" : column.text(row);
}

void sort_records(std::vector<Record>& records, const std::vector<std::string>& keys) {
  std::vector<std::pair<Row, std::size_t>> order;
  for (std::size_t i = 0; i < records.size(); ++i) {
    order.push_back({Row{records[i], figures(records[i])}, i});
  }
  const auto before = [&](const auto& a, const auto& b) {
    if (a.first.figures.valid != b.first.figures.valid) return a.first.figures.valid;
    for (const std::string& key : keys) {
      const bool descending = key.starts_with('-');
      const Column& column = column_called(std::string_view(key).substr(descending ? 1 : 0));
      const Row& first = descending ? b.first : a.first;
      const Row& second = descending ? a.first : b.first;
      if (stands_before(column, first, second)) return true;
      if (stands_before(column, second, first)) return false;
    }
    return a.second < b.second;
  };
  // Rows refer to records and cannot be assigned, so places are sorted.
  std::vector<std::size_t> places(order.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::sort(places.begin(), places.end(),
            [&](std::size_t a, std::size_t b) { return before(order[a], order[b]); });
  std::vector<Record> sorted;
  for (const std::size_t place : places) sorted.push_back(std::move(records[place]));
  records = std::move(sorted);
}

}  // namespace collbench
