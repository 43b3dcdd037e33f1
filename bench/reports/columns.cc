#include "bench/reports/columns.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <span>

#include <fmt/format.h>

#include "bench/records/report.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

/// Of a schedule for the network that the case is simulated on, its name does not say which again.
std::string algorithm_text(const Row& row) {
  const Case& point = row.record.point;
  std::string chosen = row.record.algorithm_chosen;
  if (point.algorithm != "auto" || chosen == "auto") return point.algorithm;
  const std::string own_network = ":topo=" + point.simulated.topology;
  const std::size_t at = point.simulated.topology.empty() ? chosen.npos : chosen.find(own_network);
  if (at != chosen.npos) chosen.erase(at, own_network.size());
  return "auto: " + chosen;
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

/// What a number shows, and a dash if there is none.
std::string or_dash(double value, const std::string& text) { return value > 0 ? text : "-"; }

/// What tells cases apart.
std::vector<Column> columns_of_cases() {
  using enum ColumnKind;
  using C = const Case&;
  using R = const Row&;
  return {
      {"algorithm", "algorithm", "", 9, varying, [](C c) { return c.algorithm; }, nullptr,
       algorithm_text},
      {"backend", "backend", "", 7, varying, backend_text},
      {"collective", "collective", "", 14, varying,
       [](C c) { return std::string(to_string(c.collective)); }},
      {"workers", "workers", "", 7, varying, [](C c) { return std::to_string(c.workers); },
       [](R r) { return static_cast<double>(r.record.point.workers); }},
      {"place", "place", "", 5, varying,
       [](C c) { return std::string(c.in_place ? "in" : "out"); }},
      {"type", "type", "", 4, varying, [](C c) { return std::string(to_string(c.type)); }},
      {"op", "op", "", 4, varying, [](C c) { return std::string(to_string(c.op)); }},
      {"root", "root", "", 4, varying,
       [](C c) { return has_root(c.collective) ? std::to_string(c.root) : ""; }},
      {"groups", "groups", "", 6, varying, [](C c) { return c.groups; }},
      {"counts", "counts", "", 6, varying, [](C c) { return c.counts; }},
      {"checksum", "checksum", "", 8, varying,
       [](C c) { return std::string(c.checksum ? "yes" : ""); }},
      {"inject", "inject", "", 6, varying, [](C c) { return c.inject; }},
      {"devices", "devices", "", 7, varying, [](C c) { return c.devices; }},
      {"buffers", "buffers", "", 8, varying, [](C c) { return std::string(to_string(c.buffers)); }},
      {"size", "size", "", 9, property, [](C c) { return to_string(c.bytes); },
       [](R r) { return static_cast<double>(r.record.point.bytes.count); }},
      {"count", "count", "", 10, property, [](C c) { return std::to_string(element_count(c)); },
       [](R r) { return static_cast<double>(element_count(r.record.point)); }},
      {"topology", "topology", "", 8, simulated, [](C c) { return c.simulated.topology; }},
      {"mapping", "mapping", "", 9, simulated, [](C c) { return c.simulated.mapping; }},
      {"posting", "posting", "", 10, simulated, [](C c) { return c.simulated.posting; }},
      {"protocol", "protocol", "", 8, simulated, [](C c) { return c.simulated.protocol; }},
      {"stragglers", "stragglers", "", 10, simulated, [](C c) { return c.simulated.stragglers; }},
      {"slow-hosts", "slow hosts", "", 10, simulated, [](C c) { return c.simulated.slow_hosts; }},
      {"jitter", "jitter", "", 6, simulated,
       [](C c) {
         const Simulated& s = c.simulated;
         const bool has = s.jitter.count() > 0;
         return has ? fmt::format("{} (seed {})", to_string(s.jitter), s.seed) : "";
       }},
      {"chunks", "chunks", "", 6, simulated,
       [](C c) { return std::string(c.simulated.equal_chunks ? "equal" : ""); }},
      {"asked-engine", "asked engine", "", 12, simulated, [](C c) { return c.simulated.engine; }},
  };
}

/// What was measured or simulated of them.
std::vector<Column> columns_of_figures() {
  using enum ColumnKind;
  using R = const Row&;
  return {
      {"n", "n", "", 5, figure, nullptr,
       [](R r) { return static_cast<double>(r.figures.latency.n); },
       [](R r) { return or_dash(r.figures.latency.n, std::to_string(r.figures.latency.n)); }},
      {"min", "min", "(us)", 9, figure, nullptr,
       [](R r) { return r.figures.latency.min_ns / 1e3; }},
      {"p25", "p25", "(us)", 9, figure, nullptr,
       [](R r) { return r.figures.latency.p25_ns / 1e3; }},
      {"p50", "p50", "(us)", 9, figure, nullptr, [](R r) { return r.figures.median_us; }},
      {"ci", "+-95%", "(%)", 5, figure, nullptr, [](R r) { return r.figures.interval_percent; },
       [](R r) {
         const double percent = r.figures.interval_percent;
         return std::isnan(percent) ? "-" : fmt::format("{:.1f}", percent);
       }},
      {"p75", "p75", "(us)", 9, figure, nullptr,
       [](R r) { return r.figures.latency.p75_ns / 1e3; }},
      {"p95", "p95", "(us)", 9, figure, nullptr, [](R r) { return r.figures.p95_us; }},
      {"p99", "p99", "(us)", 9, figure, nullptr,
       [](R r) { return r.figures.latency.p99_ns / 1e3; }},
      {"algbw", "algbw", "(GB/s)", 8, figure, nullptr, [](R r) { return r.figures.algbw_GBps; }},
      {"busbw", "busbw", "(GB/s)", 8, figure, nullptr, [](R r) { return r.figures.busbw_GBps; }},
      {"bound", "bound", "(us)", 9, figure, nullptr, bound_us,
       [](R r) { return or_dash(bound_us(r), significant(bound_us(r))); }},
      {"of-bound", "bound", "(%)", 5, figure, nullptr, bound_percent,
       [](R r) { return or_dash(bound_percent(r), fmt::format("{:.0f}", bound_percent(r))); }},
      {"time", "time", "(us)", 9, figure, nullptr, [](R r) { return r.figures.time_us; }},
      {"rounds", "rounds", "", 7, figure, nullptr,
       [](R r) { return static_cast<double>(exact_of(r).rounds); },
       [](R r) { return std::to_string(exact_of(r).rounds); }},
      {"messages", "messages", "", 10, figure, nullptr,
       [](R r) { return static_cast<double>(exact_of(r).messages); },
       [](R r) { return std::to_string(exact_of(r).messages); }},
      {"engine", "engine", "", 8, figure, nullptr, nullptr, [](R r) { return exact_of(r).engine; }},
      {"wrong", "wrong", "", 5, figure, nullptr,
       [](R r) { return static_cast<double>(r.record.measurement.wrong); }, wrong_text},
  };
}

std::span<const Column> catalogue() {
  static const std::vector<Column> columns = [] {
    std::vector<Column> all = columns_of_cases();
    std::ranges::move(columns_of_figures(), std::back_inserter(all));
    return all;
  }();
  return columns;
}

constexpr std::string_view usual_figures[] = {"size",  "count", "p50",   "ci",       "p95",
                                              "algbw", "busbw", "bound", "of-bound", "wrong"};

constexpr std::string_view simulated_figures[] = {"size",  "count",  "time",     "algbw",
                                                  "busbw", "rounds", "messages", "engine"};

constexpr std::string_view stated_figures[] = {"size", "count", "time", "algbw", "busbw", "wrong"};

const Column& column_called(std::string_view name) {
  const auto found = std::ranges::find(catalogue(), name, &Column::name);
  assert(found != catalogue().end());
  return *found;
}

bool is_auto(const Case& point) { return point.algorithm == "auto"; }
bool is_simulated(const Case& point) { return !point.simulated.topology.empty(); }
bool is_stated(const Case& point) { return !point.statistic.empty(); }

std::vector<std::string> usual_columns(const std::vector<Case>& cases) {
  std::vector<std::string> names;
  const bool chooses = std::any_of(cases.begin(), cases.end(), is_auto);
  for (const Column& column : catalogue()) {
    if (column.kind != ColumnKind::varying && column.kind != ColumnKind::simulated) continue;
    const bool differ = std::any_of(cases.begin(), cases.end(), [&](const Case& point) {
      return column.words(point) != column.words(cases.front());
    });
    if (differ || (chooses && column.name == "algorithm")) names.emplace_back(column.name);
  }
  if (std::all_of(cases.begin(), cases.end(), is_simulated)) {
    names.insert(names.end(), std::begin(simulated_figures), std::end(simulated_figures));
  } else if (std::ranges::all_of(cases, is_stated)) {
    names.insert(names.end(), std::begin(stated_figures), std::end(stated_figures));
  } else {
    if (std::ranges::any_of(cases, is_stated)) names.emplace_back("time");
    names.insert(names.end(), std::begin(usual_figures), std::end(usual_figures));
  }
  return names;
}

/// Words are as wide as the cases make them; rows come one by one.
std::size_t widest_cell(const Column& column, const std::vector<Case>& cases) {
  constexpr std::size_t with_choice = 22;  // "auto: " and most names
  std::size_t width = column.width;
  if (column.words == nullptr) return width;
  for (const Case& point : cases) {
    const bool chosen = column.name == "algorithm" && is_auto(point);
    width = std::max(width, chosen ? with_choice : column.words(point).size());
  }
  return width;
}

std::string own_text(const Column& column, const Row& row) {
  if (column.text != nullptr) return column.text(row);
  if (column.words != nullptr) return column.words(row.record.point);
  assert(column.value != nullptr);
  return significant(column.value(row));
}

/// Whether a column has no figure of a row.
bool has_no_figure(const Column& column, const Row& row) {
  return column.value != nullptr && std::isnan(column.value(row));
}

bool stands_before(const Column& column, const Row& a, const Row& b) {
  return column.value != nullptr ? column.value(a) < column.value(b)
                                 : own_text(column, a) < own_text(column, b);
}

}  // namespace

std::string backend_text(const Case& point) {
  if (point.private_buffers) return point.backend + "-private";
  if (point.isolate) return point.backend + "-processes";
  const Backend* const row = backend_named(point.backend);
  const bool is_usual = row == nullptr || row->transports.empty() || point.transport.empty() ||
                        row->transports.front() == point.transport;
  return is_usual ? point.backend : point.backend + "-" + point.transport;
}

std::vector<std::string> column_names() {
  std::vector<std::string> names;
  for (const Column& column : catalogue()) names.emplace_back(column.name);
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

void fit_columns(std::vector<Column>& columns, std::size_t most) {
  constexpr std::string_view dispensable[] = {"count",  "bound",    "algbw",    "p95",
                                              "rounds", "messages", "of-bound", "ci"};
  for (const std::string_view name : dispensable) {
    std::size_t width = columns.size() * 2;  // gaps
    for (const Column& column : columns) width += column.width;
    if (width <= most) return;
    std::erase_if(columns, [&](const Column& column) { return column.name == name; });
  }
}

std::string cell_text(const Column& column, const Row& row) {
  const bool known = column.kind == ColumnKind::figure      ? row.figures.valid
                     : column.kind == ColumnKind::simulated ? is_simulated(row.record.point)
                                                            : true;
  const std::string text = known ? own_text(column, row) : "";
  return text.empty() ? "-" : text;
}

void sort_records(std::vector<Record>& records, const std::vector<std::string>& keys) {
  std::vector<std::pair<Record, Figures>> order;
  for (Record& record : records) {
    const Figures shown = figures(record);
    order.emplace_back(std::move(record), shown);
  }
  std::ranges::stable_sort(order, [&](const auto& a, const auto& b) {
    if (a.second.valid != b.second.valid) return a.second.valid;
    for (const std::string& key : keys) {
      const bool descending = key.starts_with('-');
      const Column& column = column_called(std::string_view(key).substr(descending ? 1 : 0));
      const Row first{descending ? b.first : a.first, descending ? b.second : a.second};
      const Row second{descending ? a.first : b.first, descending ? a.second : b.second};
      // What has no figure comes last, whatever the direction.
      const bool is_last = has_no_figure(column, Row{a.first, a.second});
      if (is_last != has_no_figure(column, Row{b.first, b.second})) return !is_last;
      if (is_last) continue;
      if (stands_before(column, first, second)) return true;
      if (stands_before(column, second, first)) return false;
    }
    return false;
  });
  std::ranges::transform(order, records.begin(), [](auto& one) { return std::move(one.first); });
}

}  // namespace collbench
