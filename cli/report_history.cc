#include "cli/report_history.h"

#include <filesystem>

#include <fmt/format.h>

#include "bench/verdicts/history.h"
#include "core/error.h"

namespace collbench {
namespace {

HistorySeries series_of(const StoredSeries& stored) {
  HistorySeries series{stored.name, {}, {}};
  const bool exact = !stored.points.empty() && stored.points.front().exact;
  const double scale = exact ? 1 / stored.points.front().value : 1;
  for (const StoredPoint& point : stored.points) {
    series.points.push_back({point.job.revision, point.job.when, point.value * scale,
                             point.low * scale, point.high * scale});
  }
  for (const ChangePoint& change : stored.changes) {
    series.changes.push_back({change.at, percent_text(change.after / change.before)});
  }
  return series;
}

}  // namespace

std::vector<HistorySeries> read_history(const std::string& path) {
  // Opening makes a file that is not there; a report only reads.
  if (!std::filesystem::exists(path)) throw Unavailable(fmt::format("cannot read '{}'", path));
  const History history(path);
  std::vector<HistorySeries> all;
  for (const std::string& name : history.cases()) {
    all.push_back(series_of(history.series(name, ChangeRule{})));
  }
  return all;
}

}  // namespace collbench
