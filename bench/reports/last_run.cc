#include "bench/reports/last_run.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/records/record_json.h"
#include "bench/records/report.h"
#include "bench/verdicts/compare.h"
#include "bench/verdicts/verdict.h"

namespace collbench {
namespace {

constexpr std::size_t most_changes = 3;
constexpr double noted_change = 0.05;

bool differs(const Record& before, const Record& after) {
  const Figures then = figures(before);
  const Figures now = figures(after);
  if (before.measurement.exact || after.measurement.exact) {
    return exact_figures_differ(then.time_us, now.time_us);
  }
  const bool apart = then.latency.interval_low_ns > now.latency.interval_high_ns ||
                     now.latency.interval_low_ns > then.latency.interval_high_ns;
  return apart && std::abs(std::log(now.time_us / then.time_us)) > std::log1p(noted_change);
}

}  // namespace

LastRun::LastRun(RecordFile file, std::string name)
    : file_(std::move(file)), name_(std::move(name)) {
  for (const Record& record : file_.records) {
    if (figures(record).valid) earlier_[to_json(record.point)] = &record;
  }
}

void LastRun::begin(const Environment& environment) {
  mismatches_ = machine_mismatches(file_.environment, environment);
  const std::string before = value_of(file_.environment, "git_revision", "");
  if (before != value_of(environment, "git_revision", "")) revision_ = before;
}

void LastRun::add(const Record& record, const Figures& shown) {
  const auto before = earlier_.find(to_json(record.point));
  if (before == earlier_.end() || !shown.valid) return;
  const bool few = std::isnan(shown.latency.interval_low_ns) ||
                   std::isnan(figures(*before->second).latency.interval_low_ns);
  if (few && !record.measurement.exact && !before->second->measurement.exact) {
    ++few_;
    return;
  }
  ++common_;
  if (!differs(*before->second, record)) return;
  changes_.push_back({record.point, figures(*before->second).time_us, shown.time_us});
}

std::vector<std::string> LastRun::lines() const {
  if (common_ + few_ == 0) return {};
  const std::string started = file_.records.front().started;  // "2026-11-23T23:20:08Z"
  std::string which = "the run in " + name_;
  if (started.size() >= 16) {
    which = fmt::format("the run of {} {} UTC in {}", started.substr(0, 10), started.substr(11, 5),
                        name_);
  }
  if (!revision_.empty()) which += ", revision " + revision_;
  const bool exact = file_.records.front().measurement.exact.has_value();
  if (!mismatches_.empty() && !exact) {
    return {fmt::format("not compared with {}: {}", which, mismatches_.front())};
  }
  const std::string too_few = fmt::format("{} of too few iterations to compare", few_);
  if (common_ == 0) return {fmt::format("since {}: {}", which, too_few)};
  std::vector<std::string> lines = {fmt::format("since {}: {} of {} cases {}", which,
                                                common_ - static_cast<int>(changes_.size()),
                                                common_, exact ? "equal" : "as fast")};
  if (few_ > 0) lines.front() += ", " + too_few;
  std::vector<Change> largest = changes_;
  std::ranges::stable_sort(largest, std::ranges::greater(), [](const Change& change) {
    return std::abs(std::log(change.after_us / change.before_us));
  });
  if (largest.size() > most_changes) largest.resize(most_changes);
  for (const Change& change : largest) {
    const Case& point = change.point;
    const std::string place =
        point.simulated.topology.empty() ? point.backend : point.simulated.topology;
    lines.push_back(fmt::format("  {} {} on {}, {} workers: {} -> {} ({})", to_string(point.bytes),
                                point.algorithm, place, point.workers,
                                time_text(Seconds{change.before_us / 1e6}),
                                time_text(Seconds{change.after_us / 1e6}),
                                percent_text(change.after_us / change.before_us)));
  }
  if (!largest.empty() && !exact) {
    lines.emplace_back("  one run each: `collbench ab` tells a change from noise");
  }
  return lines;
}

}  // namespace collbench
