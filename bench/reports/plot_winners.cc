// The map of winners: for each size and number of workers the fastest contender by its colour, its
// name, and how far the next one is behind.
#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include <fmt/format.h>

#include "bench/records/report.h"
#include "bench/reports/contenders.h"
#include "bench/reports/formats.h"
#include "bench/reports/gnuplot.h"
#include "bench/reports/standings.h"
#include "core/error.h"

namespace collbench {
namespace {

struct WinnerCell {
  int workers = 0;
  std::int64_t bytes = 0;
  Contest contest;
  std::string open;  // why none is known to be the fastest; empty if one is
};

/// Simulated times are exact, and equal on every machine.
std::string why_open(const Contest& contest, bool machines_differ) {
  if (!contest[0].point.simulated.topology.empty()) return "";
  if (machines_differ) return "not comparable";
  return overlap(contest[0], contest[1]) ? "tie" : "";
}

/// A contest without `auto` where two others compete: what it chose is one of those.
Contest without_auto(const Contest& contest) {
  Contest others;
  std::ranges::copy_if(contest, std::back_inserter(others),
                       [](const ContenderTime& time) { return time.point.algorithm != "auto"; });
  return others.size() >= 2 ? others : contest;
}

std::string map_title(const Case& point, const SettingNames& names) {
  std::string title = fmt::format("the fastest, {} {}", to_string(point.type), to_string(point.op));
  if (!point.simulated.topology.empty()) title += ", " + point.simulated.topology;
  if (!point.in_place) title += ", out of place";
  return title + names.beside_title(point) + "; beneath, how far the next is behind";
}

/// All that the cells of a map have in common.
std::string map_key(Case point) {
  point.workers = 0;
  return contest_setting(point);
}

/// The cells of the setting (workers aside) that has most of them.
std::vector<WinnerCell> richest_map(const Standings& standings, bool machines_differ) {
  std::map<std::string, std::vector<WinnerCell>> maps;
  for (const auto& [setting, sizes] : standings.contests()) {
    for (const auto& [bytes, contest] : sizes) {
      const Case& point = contest.front().point;
      const Contest rivals = without_auto(contest);
      maps[map_key(point)].push_back(
          {point.workers, bytes, rivals, why_open(rivals, machines_differ)});
    }
  }
  const auto richest =
      std::ranges::max_element(maps, {}, [](const auto& one) { return one.second.size(); });
  return richest == maps.end() ? std::vector<WinnerCell>{} : richest->second;
}

template <typename Value>
std::size_t place_in(const std::set<Value>& values, Value value) {
  return static_cast<std::size_t>(std::distance(values.begin(), values.find(value)));
}

void write_cell(std::ostream& out, std::size_t x, std::size_t y, const WinnerCell& cell,
                const std::string& name, std::string_view colour, std::string_view font) {
  const double behind = cell.contest[1].median_ns / cell.contest[0].median_ns;
  const std::string margin = !cell.open.empty() ? cell.open
                             : behind >= 2      ? fmt::format("{:.1f}x", behind)
                                                : fmt::format("+{:.0f} %", 100 * (behind - 1));
  const auto left = static_cast<double>(x);
  const auto low = static_cast<double>(y);
  out << fmt::format(
      "set object rectangle from {},{} to {},{} fc rgb '{}' fs solid {} border rgb '#ffffff'\n",
      left - 0.48, low - 0.48, left + 0.48, low + 0.48, colour, cell.open.empty() ? 0.75 : 0.3);
  // The back end has a line of its own, so that names stay within their cells.
  const std::size_t at = name.find('@');
  const std::string lines[] = {name.substr(0, at), at == std::string::npos ? "" : name.substr(at),
                               margin};
  double height = low + 0.22;
  for (const std::string& line : lines) {
    if (!line.empty()) {
      out << fmt::format("set label {} at {},{:.2f} center noenhanced{}\n", gnuplot_quoted(line),
                         left, height, font);
    }
    height -= 0.22;
  }
}

template <typename Value, typename Text>
void write_tics(std::ostream& out, char axis, const std::set<Value>& values, Text text) {
  out << "set " << axis << "tics (";
  std::size_t place = 0;
  for (const Value& value : values) {
    out << (place > 0 ? ", " : "") << gnuplot_quoted(text(value)) << ' ' << place;
    ++place;
  }
  out << fmt::format(") scale 0\nset {}range [-0.6:{}.6]\n", axis, values.size() - 1);
}

}  // namespace

void write_winner_map(std::ostream& out, const std::vector<Record>& records,
                      const std::string& path, bool machines_differ) {
  Standings standings;
  std::vector<Case> cases;
  for (const Record& record : records) {
    standings.add(record, figures(record));
    cases.push_back(record.point);
  }
  const std::vector<WinnerCell> cells = richest_map(standings, machines_differ);
  require(!cells.empty(), "no map of winners: no two contenders have figures in the same case");
  const std::map<std::string, std::size_t> places = algorithm_places(cases);
  std::set<std::int64_t> sizes;
  std::set<int> workers;
  for (const WinnerCell& cell : cells) {
    sizes.insert(cell.bytes);
    workers.insert(cell.workers);
  }
  set_terminal(out, path, 0.4 + 0.2 * static_cast<double>(workers.size()));
  const Case& any = cells.front().contest.front().point;
  out << "set title " << gnuplot_quoted(map_title(any, SettingNames(cases)))
      << " noenhanced\nset xlabel 'bytes per worker'\nset ylabel 'workers'\nunset key\n"
         "set border 0\n";
  write_tics(out, 'x', sizes, [](std::int64_t bytes) { return to_string(Bytes{bytes}); });
  write_tics(out, 'y', workers, [](int count) { return std::to_string(count); });
  for (const WinnerCell& cell : cells) {
    const Case& winner = cell.contest.front().point;
    write_cell(out, place_in(sizes, cell.bytes), place_in(workers, cell.workers), cell,
               contender_name(winner, standings.with_backend()),
               chart_colour(places.at(winner.algorithm)), sizes.size() > 7 ? " font ',8'" : "");
  }
  out << "plot NaN notitle\n" << std::flush;
}

}  // namespace collbench
