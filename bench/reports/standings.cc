#include "bench/reports/standings.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "bench/records/report.h"
#include "bench/reports/contenders.h"

namespace collbench {
namespace {

constexpr std::size_t most_lines = 4;

constexpr int fewest_samples = 6;  // the extremes of fewer enclose the median with less than 95 %

/// A range of sizes in which the same contender is the fastest, or not significantly slower.
struct Stretch {
  std::string winner;
  Bytes first;
  Bytes last;
  const Contest* contest = nullptr;  // the last that it won outright, of which figures are given
  std::string setting;
};

double lead(const Stretch& stretch) {
  const Contest& contest = *stretch.contest;
  return contest[1].median_ns / contest[0].median_ns;
}

/// Of the ratio of two medians: relative errors add as squares, as of independent ones.
double relative_error(const ContenderTime& a, const ContenderTime& b) {
  const auto relative = [](const ContenderTime& time) {
    return (time.high_ns - time.low_ns) / 2 / time.median_ns;
  };
  return std::hypot(relative(a), relative(b));
}

/// Of times that scatter so widely an error on both sides says nothing.
bool is_vague(const ContenderTime& a, const ContenderTime& b) {
  return relative_error(a, b) > 1.0 / 3;
}

/// Whether the ratio is printed as one.
bool is_one(const ContenderTime& fast, const ContenderTime& slow) {
  return slow.median_ns / fast.median_ns < 1.005;
}

/// Whether a ratio of one lies within the error of theirs.
bool is_equal(const ContenderTime& fast, const ContenderTime& slow) {
  const double factor = slow.median_ns / fast.median_ns;
  return !is_vague(fast, slow) && factor * (1 - relative_error(fast, slow)) <= 1;
}

/// "7.4 +- 0.3": the ratio of two medians; its ends if it is vague: "8 to 400".
std::string factor_text(const ContenderTime& fast, const ContenderTime& slow, bool unicode) {
  const double factor = slow.median_ns / fast.median_ns;
  const double error = factor * relative_error(fast, slow);
  if (is_vague(fast, slow)) {
    const double least = slow.low_ns / fast.high_ns;
    const double most = slow.high_ns / fast.low_ns;
    return fmt::format("{:.{}f} to {:.{}f}", least, least < 10 ? 1 : 0, most, most < 10 ? 1 : 0);
  }
  const int digits = factor >= 100 || error >= 1 ? 0 : factor >= 10 || error >= 0.1 ? 1 : 2;
  const std::string text = fmt::format("{:.{}f}", factor, digits);
  if (error == 0) return text;
  return fmt::format("{} {} {:.{}f}", text, unicode ? "±" : "+-", error, digits);
}

std::string sentence(const Stretch& stretch, bool with_backend, bool unicode) {
  const Contest& contest = *stretch.contest;
  const ContenderTime& fastest = contest.front();
  const auto name = [&](const ContenderTime& time) {
    return contender_name(time.point, with_backend);
  };
  const auto against = [&](const ContenderTime& other) {
    const std::string factor = factor_text(fastest, other, unicode);
    const bool is_apart = !overlap(fastest, other);
    if (is_apart && !is_one(fastest, other)) {
      return fmt::format("{} times faster than {}", factor, name(other));
    }
    const bool as_fast = is_apart || is_equal(fastest, other);
    return fmt::format("{} {} ({})", as_fast ? "as fast as" : "not told apart from", name(other),
                       factor);
  };
  std::string text = against(contest[1]);
  if (contest.size() > 2) text += ", " + against(contest.back());
  if (fastest.disturbed || contest[1].disturbed || contest.back().disturbed) {
    text += " (disturbed: equal ones may differ as much)";
  }
  if (stretch.first == stretch.last) {
    return fmt::format("at {}{}: {} is {}", to_string(stretch.first), stretch.setting,
                       stretch.winner, text);
  }
  return fmt::format("from {} to {}{}: {} leads, at {} it is {}", to_string(stretch.first),
                     to_string(stretch.last), stretch.setting, stretch.winner,
                     to_string(fastest.point.bytes), text);
}

/// Appends the stretches of one setting.
void add_stretches(const std::map<std::int64_t, Contest>& sizes, const std::string& setting,
                   bool with_backend, std::vector<Stretch>& stretches) {
  const auto name = [&](const ContenderTime& time) {
    return contender_name(time.point, with_backend);
  };
  bool goes_on = false;
  for (const auto& size : sizes) {
    const Contest& contest = size.second;
    const auto wins_still = [&](const ContenderTime& time) {
      return name(time) == stretches.back().winner && overlap(time, contest.front());
    };
    const Bytes bytes{size.first};
    if (!goes_on || std::ranges::none_of(contest, wins_still)) {
      stretches.push_back({name(contest.front()), bytes, bytes, &contest, setting});
    }
    Stretch& stretch = stretches.back();
    stretch.last = bytes;
    if (stretch.winner == name(contest.front())) stretch.contest = &contest;
    goes_on = true;
  }
}

/// One of all records of a contender.
ContenderTime joined_cycles(std::vector<const ContenderTime*> cycles) {
  std::ranges::sort(cycles, {}, &ContenderTime::median_ns);
  ContenderTime all = *cycles[(cycles.size() - 1) / 2];
  all.disturbed = std::ranges::any_of(cycles, [](const auto* one) { return one->disturbed; });
  std::vector<double> medians;
  for (const ContenderTime* cycle : cycles) medians.push_back(cycle->median_ns);
  const Summary between = summary_of(medians);
  if (!std::isnan(between.interval_low_ns)) {
    all.low_ns = between.interval_low_ns;
    all.high_ns = between.interval_high_ns;
    all.few = false;
    return all;
  }
  for (const ContenderTime* cycle : cycles) {
    all.low_ns = std::min(all.low_ns, cycle->low_ns);
    all.high_ns = std::max(all.high_ns, cycle->high_ns);
    all.few |= cycle->few;
  }
  return all;
}

}  // namespace

bool overlap(const ContenderTime& a, const ContenderTime& b) {
  return a.few || b.few || (a.low_ns <= b.high_ns && b.low_ns <= a.high_ns);
}

void Standings::add(const Record& record, const Figures& shown) {
  if (!shown.valid || !is_right(record)) return;
  const Summary& latency = shown.latency;
  const double time_ns = shown.time_us * 1e3;
  const bool stated = record.measurement.exact || latency.n == 0;
  ContenderTime time{record.point,
                     time_ns,
                     latency.interval_low_ns,
                     latency.interval_high_ns,
                     !stated && latency.n < fewest_samples,
                     !record.measurement.warnings.empty()};
  if (stated) time.low_ns = time.high_ns = time_ns;
  if (time.median_ns > 0) times_.push_back(std::move(time));
}

std::vector<Case> Standings::cases() const {
  std::vector<Case> all;
  for (const ContenderTime& time : times_) all.push_back(time.point);
  return all;
}

bool Standings::with_backend() const { return backends_differ(cases()); }

std::map<std::string, std::map<std::int64_t, Contest>> Standings::contests() const {
  const bool named_by_backend = with_backend();
  using Cycles = std::vector<const ContenderTime*>;
  std::map<std::string, std::map<std::int64_t, std::map<std::string, Cycles>>> all;
  for (const ContenderTime& time : times_) {
    all[contest_setting(time.point)][time.point.bytes.count]
       [contender_name(time.point, named_by_backend)]
           .push_back(&time);
  }
  std::map<std::string, std::map<std::int64_t, Contest>> contests;
  for (const auto& [setting, sizes] : all) {
    for (const auto& [bytes, contenders] : sizes) {
      if (contenders.size() < 2) continue;
      Contest& contest = contests[setting][bytes];
      for (const auto& [name, same] : contenders) contest.push_back(joined_cycles(same));
      std::ranges::stable_sort(contest, {}, &ContenderTime::median_ns);
    }
  }
  return contests;
}

std::vector<std::string> Standings::lines(bool unicode) const {
  const bool named_by_backend = with_backend();
  const SettingNames names(cases());
  auto all = contests();
  bool few = false;
  std::vector<Stretch> stretches;
  for (auto& [setting, sizes] : all) {
    const Case point = sizes.begin()->second.front().point;
    few |= std::erase_if(sizes, [](const auto& size) {
             return std::ranges::any_of(size.second, &ContenderTime::few);
           }) > 0;
    add_stretches(sizes, names.text(point), named_by_backend, stretches);
  }
  // Of many, the clearest: small leads change hands from run to run.
  std::vector<const Stretch*> shown;
  for (const Stretch& stretch : stretches) shown.push_back(&stretch);
  if (shown.size() > most_lines) {
    std::ranges::stable_sort(
        shown, [](const Stretch* a, const Stretch* b) { return lead(*a) > lead(*b); });
    shown.resize(most_lines - 1);
    std::ranges::sort(shown);  // as they stood
  }
  std::vector<std::string> lines;
  for (const Stretch* stretch : shown) {
    lines.push_back(sentence(*stretch, named_by_backend, unicode));
  }
  if (shown.size() < stretches.size()) {
    lines.push_back(fmt::format("elsewhere the lead changes by smaller margins, {} times",
                                stretches.size() - shown.size()));
  }
  if (few) {
    lines.push_back(fmt::format("{}fewer than {} iterations do not tell which is the fastest",
                                lines.empty() ? "" : "elsewhere ", fewest_samples));
  }
  return lines;
}

}  // namespace collbench
