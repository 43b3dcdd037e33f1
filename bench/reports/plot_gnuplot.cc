// Bus bandwidth and time against size on logarithmic axes, the middle half of the samples as a
// band, the bound dotted. An algorithm has one colour everywhere; dashes and points show its back
// ends.
#include <algorithm>
#include <map>
#include <ostream>

#include <fmt/format.h>

#include "bench/records/report.h"
#include "bench/reports/columns.h"
#include "bench/reports/contenders.h"
#include "bench/reports/formats.h"
#include "bench/reports/gnuplot.h"
#include "bench/reports/text.h"
#include "core/error.h"

namespace collbench {
namespace {

// Rows of plots; the choices with the most records are shown.
constexpr std::size_t most_plot_rows = 4;

struct Series {
  std::string name;
  std::string backend;
  std::string_view colour;
  std::size_t mark = 0;  // of points
  std::size_t dash = 0;  // of lines
  std::vector<const Record*> points;
};

struct PlotRow {
  std::string title;
  std::vector<Series> series;
  std::size_t points = 0;
};

std::string row_title(const Case& point, const SettingNames& names) {
  std::string title =
      fmt::format("{} workers, {} {}", point.workers, to_string(point.type), to_string(point.op));
  if (!point.simulated.topology.empty()) title += ", " + point.simulated.topology;
  if (!point.in_place) title += ", out of place";
  return title + names.beside_title(point);
}

/// Names series and gives them their looks, the same in every plot of a picture.
class SeriesLooks {
 public:
  explicit SeriesLooks(const std::vector<Record>& records) {
    std::vector<Case> cases;
    for (const Record& record : records) {
      cases.push_back(record.point);
      const std::string backend = backend_text(record.point);
      if (std::ranges::find(backends_, backend) == backends_.end()) backends_.push_back(backend);
    }
    with_backend_ = backends_differ(cases);
    places_ = algorithm_places(cases);
  }

  Series empty_series(const Case& point) const {
    const std::string backend = backend_text(point);
    const std::size_t place = places_.at(point.algorithm);
    const std::size_t lap = place / chart_colours;
    const auto at =
        static_cast<std::size_t>(std::ranges::find(backends_, backend) - backends_.begin());
    return {.name = contender_name(point, with_backend_),
            .backend = backend,
            .colour = chart_colour(place),
            .mark = with_backend_ ? at + lap : place + lap,
            .dash = with_backend_ ? at : lap,
            .points = {}};
  }

 private:
  std::vector<std::string> backends_;
  bool with_backend_ = false;
  std::map<std::string, std::size_t> places_;
};

/// "on shm" where all of a row are there; else the series say where they are.
void add_backend(PlotRow& row) {
  const std::string& backend = row.series.front().backend;
  const bool is_one = std::ranges::all_of(
      row.series, [&](const Series& series) { return series.backend == backend; });
  if (is_one) row.title += " on " + backend;
}

std::vector<PlotRow> rows_of(const std::vector<Record>& records) {
  std::vector<PlotRow> rows;
  std::map<std::string, std::size_t> places;
  const SeriesLooks looks(records);
  std::vector<Case> cases;
  for (const Record& record : records) cases.push_back(record.point);
  const SettingNames names(cases);
  for (const Record& record : records) {
    const Figures shown = figures(record);
    if (!shown.valid || shown.busbw_GBps <= 0 || record.point.bytes.count <= 0) continue;
    const auto [found, is_new] = places.try_emplace(contest_setting(record.point), rows.size());
    if (is_new) rows.push_back({row_title(record.point, names), {}, 0});
    PlotRow& row = rows[found->second];
    Series fresh = looks.empty_series(record.point);
    auto series = std::ranges::find(row.series, fresh.name, &Series::name);
    if (series == row.series.end()) series = row.series.insert(series, std::move(fresh));
    series->points.push_back(&record);
    ++row.points;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const PlotRow& a, const PlotRow& b) { return a.points > b.points; });
  if (rows.size() > most_plot_rows) rows.resize(most_plot_rows);
  for (PlotRow& row : rows) add_backend(row);
  return rows;
}

/// size, busbw, its quartiles, time, its quartiles, bound of busbw, bound of time.
void write_data(std::ostream& out, std::size_t row, std::size_t number, const Series& series) {
  std::vector<const Record*> points = series.points;
  std::stable_sort(points.begin(), points.end(), [](const Record* a, const Record* b) {
    return a->point.bytes.count < b->point.bytes.count;
  });
  out << fmt::format("$s{}_{} << EOD\n", row, number);
  for (const Record* record : points) {
    const Figures shown = figures(*record);
    const Summary& latency = shown.latency;
    const bool exact = record->measurement.exact.has_value();
    const bool one = exact || latency.n == 0;  // a figure without a spread
    const double us = shown.time_us;
    const double p25 = one ? us : latency.p25_ns / 1e3;
    const double p75 = one ? us : latency.p75_ns / 1e3;
    const double work = shown.busbw_GBps * us;
    const double bound = record->bound ? record->bound->time.count() * 1e6 : 0;
    out << fmt::format("{} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {:.9g} {} {}\n",
                       record->point.bytes.count, shown.busbw_GBps, work / p75, work / p25, us, p25,
                       p75, bound > 0 ? fmt::format("{:.9g}", work / bound) : "NaN",
                       bound > 0 ? fmt::format("{:.9g}", bound) : "NaN");
  }
  out << "EOD\n";
}

// The dots are of bounds.
constexpr std::string_view plot_dashes[] = {"1", "2", "4", "5", "(2,3)", "(14,4)"};
constexpr std::size_t first_mark = 4;
constexpr std::size_t plot_marks = 10;

/// The bound of each back end once: what limits one says nothing of another.
void write_bounds(std::ostream& out, std::size_t number, const PlotRow& row, bool bandwidth) {
  std::vector<std::string> drawn;
  for (std::size_t i = 0; i < row.series.size(); ++i) {
    const Series& series = row.series[i];
    const auto points = std::ranges::count_if(
        series.points, [](const Record* record) { return record->bound.has_value(); });
    if (points < 2 || std::ranges::find(drawn, series.backend) != drawn.end()) continue;
    drawn.push_back(series.backend);
    out << fmt::format(
        "  $s{}_{} using 1:{} with lines dt 3 lw 2 lc rgb '#555555' title {} noenhanced, \\\n",
        number, i, bandwidth ? 8 : 9, gnuplot_quoted("bound of " + series.backend));
  }
  out << "  NaN notitle\n";
}

void write_plot(std::ostream& out, std::size_t number, const PlotRow& row, bool bandwidth,
                bool bands) {
  const int value = bandwidth ? 2 : 5;
  out << fmt::format("set title {} noenhanced\nset ylabel {}\nplot \\\n", gnuplot_quoted(row.title),
                     bandwidth ? "'busbw (GB/s)'" : "'time (us)'");
  for (std::size_t i = 0; i < row.series.size(); ++i) {
    const Series& series = row.series[i];
    if (bands) {
      out << fmt::format(
          "  $s{}_{} using 1:{}:{} with filledcurves fc rgb '{}' fs transparent solid 0.2 noborder "
          "notitle, \\\n",
          number, i, value + 1, value + 2, series.colour);
    }
    out << fmt::format(
        "  $s{}_{} using 1:{} with linespoints lc rgb '{}' lw 2 dt {} pt {} title {} noenhanced, "
        "\\\n",
        number, i, value, series.colour, plot_dashes[series.dash % std::size(plot_dashes)],
        first_mark + series.mark % plot_marks, gnuplot_quoted(series.name));
  }
  write_bounds(out, number, row, bandwidth);
}

}  // namespace

void write_gnuplot(std::ostream& out, const std::vector<Record>& records, const std::string& path) {
  const std::vector<PlotRow> rows = rows_of(records);
  require(!rows.empty(), "nothing to plot: no record has figures");
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < rows[row].series.size(); ++i) {
      write_data(out, row, i, rows[row].series[i]);
    }
  }
  set_terminal(out, path, static_cast<double>(rows.size()));
  out << "set datafile missing 'NaN'\nset logscale x 2\nset logscale y 10\n"
         "set format x '%.0b%B'\nset xlabel 'bytes per worker'\nset grid\n"
         "set key outside bottom center horizontal\n"
      << fmt::format("set multiplot layout {},2\n", rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (const bool bandwidth : {true, false}) {
      write_plot(out, row, rows[row], bandwidth, path != "-");
    }
  }
  out << "unset multiplot\n" << std::flush;
}

}  // namespace collbench
