#include "heuristics/diagnosis/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/quantile.h"
#include "heuristics/diagnosis/weighing.h"

namespace collbench {
namespace {

/// What right rows say of one size.
struct SpreadOfSize {
  Seconds mean{0};
  Seconds least{0};
  Seconds most{0};
};

using TimesBySize = std::map<std::int64_t, SpreadOfSize>;

constexpr Bytes large{16 << 20};  // from here on a table shows faults of bandwidth

/// A place that was disturbed counts less than the one that was not.
TimesBySize times_of(std::span<const MeasuredTime> rows) {
  TimesBySize times;
  for (const MeasuredTime& row : rows) {
    if (row.is_wrong()) continue;
    const SpreadOfSize own{row.time, row.mean ? row.low : row.time, row.mean ? row.high : row.time};
    const auto [at, is_new] = times.try_emplace(row.bytes.count, own);
    if (is_new) continue;
    at->second.mean = std::min(at->second.mean, own.mean);
    at->second.least = std::min(at->second.least, own.least);
    at->second.most = std::min(at->second.most, own.most);
  }
  return times;
}

/// Iterations that are now and then late: their least is undisturbed, and their mean lies above it
/// by as long at every size. A spread in proportion to the time is noise.
struct LateIterations {
  Seconds delay{0};
  Seconds most{0};  // the latest iteration of all sizes
};

std::optional<LateIterations> lateness_of(const TimesBySize& times) {
  constexpr double notable = 0.3;  // of the least time, at the small half of the sizes
  std::vector<double> delays;
  std::vector<double> shares;
  LateIterations found;
  for (const auto& [bytes, time] : times) {
    if (time.most <= 1.5 * time.least) continue;
    delays.push_back((time.mean - time.least).count());
    if (2 * shares.size() < times.size()) shares.push_back((time.mean - time.least) / time.least);
    found.most = std::max(found.most, time.most - time.least);
  }
  if (times.size() < 3 || 10 * delays.size() < 8 * times.size()) return {};
  if (quantile(shares, 0.5) < notable) return {};
  found.delay = Seconds{quantile(delays, 0.5)};
  const double low = quantile(delays, 0.2);
  const double high = quantile(delays, 0.8);
  if (low <= 0 || high > 3 * low) return {};
  return found;
}

/// Which sizes lose and how much, in words: of the first and the last size, and the worst between.
std::string seen_in(const Diagnosis& diagnosis, std::span<const Seconds> measured) {
  const std::vector<JudgedSize>& sizes = diagnosis.sizes;
  std::size_t worst = 0;
  const auto ratio = [&](std::size_t i) { return measured[i] / sizes[i].expected.time; };
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    if (ratio(i) > ratio(worst)) worst = i;
  }
  std::string text = fmt::format(
      "busbw {:.0f} of {:.0f} GB/s at the largest sizes ({:.2f})",
      diagnosis.busbw.bytes_per_second / 1e9, diagnosis.expected_busbw.bytes_per_second / 1e9,
      diagnosis.busbw.bytes_per_second / diagnosis.expected_busbw.bytes_per_second);
  text += fmt::format("; {} in place of {} at {}", to_string(measured.front()),
                      to_string(sizes.front().expected.time), to_string(sizes.front().bytes));
  if (worst != 0) {
    text += fmt::format("; {:.1f} times the expected at {}", ratio(worst),
                        to_string(sizes[worst].bytes));
  }
  return text;
}

class Judge {
 public:
  Judge(const DiagnosisCase& given, const ModelError& error)
      : given_(given), error_(error), times_(times_of(given.rows)), sizes_(sizes_of(given.rows)) {
    require(!sizes_.empty(), fmt::format("{}: no right row to diagnose", given.table));
    require(!given.suspicions.empty() && given.suspicions.front().times.size() == sizes_.size(),
            fmt::format("{}: the suspicions are of other sizes than the rows", given.table));
    for (const Seconds time : given.suspicions.front().times) {
      require(time.count() > 0 && std::isfinite(time.count()),
              fmt::format("{}: what a size of it should take on {} is not known", given.table,
                          given.machine));
    }
    late_ = lateness_of(times_);
    for (const auto& [bytes, time] : times_) {
      measured_.push_back(late_ ? time.least : time.mean);
      means_.push_back(time.mean);
    }
  }

  Diagnosis result() {
    const MeasuredTime& row = given_.rows.front();
    Diagnosis found;
    found.table = given_.table;
    found.machine = given_.machine;
    found.method = fmt::format("{} {}", row.library, full_name(row.algorithm, row.protocol));
    found.scale = row.scale;
    const std::vector<Weighed> weighed = weigh(given_.suspicions, sizes_, measured_, error_);
    const auto healthy = std::find_if(weighed.begin(), weighed.end(), [](const Weighed& each) {
      return each.suspicion->cause == nullptr;
    });
    add_sizes(*healthy->suspicion, found);
    found.floors = floors_of(given_.machine, row.scale);
    if (found.floors.empty()) found.floors = floors_of(given_.hardware, row.scale);
    weigh_causes(by_cause(weighed), found);
    add_lateness(found);
    doubt_health(found);
    add_scatter(found);
    add_wrong_rows(found);
    add_impossible(found);
    note_rings(*healthy->suspicion, found);
    add_limits(found);
    return found;
  }

 private:
  /// What is expected is the likeliest of what would be no fault.
  void add_sizes(const Suspicion& healthy, Diagnosis& found) const {
    std::vector<double> reached;
    std::vector<double> wanted;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const Seconds time = healthy.times[i];
      const Deviation at = deviation_of(healthy, i, sizes_[i], measured_[i]);
      JudgedSize size{sizes_[i], measured_[i], means_[i], {}, {}, "as expected"};
      size.expected = {time, time * error_quantile(error_, at, 0.1),
                       time * error_quantile(error_, at, 0.9), ""};
      if (i < healthy.played.size()) size.played = healthy.played[i];
      if (size.measured > size.expected.high) size.verdict = "slow";
      if (size.measured < size.expected.low) size.verdict = "fast";
      if (sizes_.size() - i <= 3) {
        reached.push_back(
            bus_bandwidth(size.bytes, size.measured, found.scale.ranks).bytes_per_second);
        wanted.push_back(bus_bandwidth(size.bytes, time, found.scale.ranks).bytes_per_second);
      }
      found.sizes.push_back(std::move(size));
    }
    found.busbw = {quantile(reached, 0.5)};
    found.expected_busbw = {quantile(wanted, 0.5)};
  }

  void weigh_causes(const std::vector<WeighedCause>& causes, Diagnosis& found) {
    double of_faults = 0;
    for (const WeighedCause& each : causes)
      of_faults += is_fault(each.cause) ? each.probability : 0;
    found.healthy = of_faults < 0.5;
    found.sure = std::min(1.0, found.healthy ? 1 - of_faults : of_faults);
    const auto of_verdict = [&](const WeighedCause& each) {
      return each.cause != nullptr && each.cause->fault != found.healthy;
    };
    double likeliest = 0;
    for (const WeighedCause& each : causes) {
      if (of_verdict(each) || found.healthy) likeliest = std::max(likeliest, each.probability);
    }
    const double odds = found.healthy ? 5 : told_from;
    const auto is_likely = [&](const WeighedCause& each) {
      return of_verdict(each) && odds * each.probability >= likeliest;
    };
    const bool alone =
        !found.healthy && std::count_if(causes.begin(), causes.end(), is_likely) == 1;
    const std::set<const Cause*> near = alone ? near_by_rate() : std::set<const Cause*>{};
    for (const WeighedCause& each : causes) {
      const bool is_near = of_verdict(each) && near.count(each.cause) > 0;
      if (!is_likely(each) && !is_near) continue;
      found.causes.push_back(
          {each.cause,
           fmt::format("{}; fits best: {}", seen_in(found, measured_), each.best->words),
           std::min(1.0, each.probability)});
      best_.push_back(each.best);
      if (!found.healthy) found.cause_group.emplace_back(each.cause->name);
    }
  }

  /// Causes that are not told apart where the latency of the system may be its own: a cause that
  /// changes the latency, too, then fits no better for what the model misses of it, and is no fact.
  /// None where it is known what the system took.
  std::set<const Cause*> near_by_rate() const {
    if (given_.error) return {};
    const std::vector<WeighedCause> causes =
        by_cause(weigh(given_.suspicions, sizes_, measured_, with_own_latency(error_)));
    double likeliest = 0;
    for (const WeighedCause& each : causes) {
      if (is_fault(each.cause)) likeliest = std::max(likeliest, each.probability);
    }
    std::set<const Cause*> near;
    for (const WeighedCause& each : causes) {
      if (told_from * each.probability >= likeliest) near.insert(each.cause);
    }
    return near;
  }

  /// Late iterations are read from the table, not concluded from the form of the curve.
  void add_lateness(Diagnosis& found) const {
    if (!late_) return;
    const bool rest_is_well = found.healthy;
    FoundCause late{&cause("straggler"),
                    fmt::format("the fastest iteration of each size is {}, the mean is {} above it "
                                "at every size, the slowest {}",
                                rest_is_well ? "as expected" : "slow, too", to_string(late_->delay),
                                to_string(late_->most)),
                    0.98};
    if (rest_is_well) found.causes.clear();
    found.causes.insert(found.causes.begin(), std::move(late));
    found.cause_group = {"straggler"};
    found.healthy = false;
    found.sure = 0.98;
  }

  /// Large sizes that are slower than nine in ten healthy systems are, whatever is played on them,
  /// are no sign of health only because no known fault leaves such a table.
  void doubt_health(Diagnosis& found) const {
    const std::size_t last = std::min<std::size_t>(3, sizes_.size());
    if (!found.healthy || sizes_.back() < large) return;
    for (const Suspicion& each : given_.suspicions) {
      if (is_fault(each.cause)) continue;
      for (std::size_t i = sizes_.size() - last; i < sizes_.size(); ++i) {
        const Deviation at = deviation_of(each, i, sizes_[i], measured_[i]);
        if (measured_[i] <= error_quantile(error_, at, 0.9) * each.times[i]) return;
      }
    }
    found.untold = fmt::format(
        "at the largest sizes {:.3g} of {:.3g} GB/s is less than nine of ten healthy systems "
        "reach, and no known fault leaves such a table; a table of this system when it was well "
        "(--healthy) tells",
        found.busbw.bytes_per_second / 1e9, found.expected_busbw.bytes_per_second / 1e9);
    found.causes.clear();  // what is no fault explains nothing then
  }

  /// Rings or what else is healthy and not chosen by the library, where that is what is found.
  void note_rings(const Suspicion& healthy, Diagnosis& found) const {
    const Suspicion& usual = given_.suspicions.front();
    const bool is_found = found.healthy && found.untold.empty() && found.causes.empty();
    if (!is_found || &healthy == &usual) return;
    found.notes.push_back(fmt::format(
        "the table fits {}: not a fault, but not what the library would choose: it expects "
        "{} at {}",
        healthy.words, to_string(usual.times.back()), to_string(sizes_.back())));
  }

  /// The size at which two suspicions are furthest apart, and how far.
  std::pair<Bytes, double> apart(const Suspicion& a, const Suspicion& b) const {
    std::pair<Bytes, double> most{sizes_.front(), 0};
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const double ratio = std::exp(std::abs(std::log(a.times[i] / b.times[i])));
      if (ratio - 1 > most.second) most = {sizes_[i], ratio - 1};
    }
    return most;
  }

  /// Both places take the same time on a quiet system: a median apart by a third means that what is
  /// measured changes from run to run.
  void add_scatter(Diagnosis& found) const {
    constexpr double notable = 0.3;
    std::map<std::int64_t, Seconds> out_of_place;
    std::vector<double> apart;
    for (const MeasuredTime& row : given_.rows) {
      if (!row.in_place && !row.is_wrong()) out_of_place[row.bytes.count] = row.time;
    }
    for (const MeasuredTime& row : given_.rows) {
      const auto other = out_of_place.find(row.bytes.count);
      if (!row.in_place || row.is_wrong() || other == out_of_place.end()) continue;
      apart.push_back(std::abs(std::log(row.time / other->second)));
    }
    if (apart.size() < 3 || quantile(apart, 0.5) < notable) return;
    found.notes.push_back(fmt::format(
        "out-of-place and in-place times differ by a factor of {:.1f} in the median: the system is "
        "not quiet, or messages take several ways; measure again, with -n 100",
        std::exp(quantile(apart, 0.5))));
  }

  void add_wrong_rows(Diagnosis& found) const {
    std::string sizes;
    for (const MeasuredTime& row : given_.rows) {
      if (!row.is_wrong()) continue;
      const std::string size = to_string(row.bytes);
      if (found.wrong_rows++ == 0) sizes = size;
      if (found.wrong_rows == 2) sizes += " and others";
    }
    if (found.wrong_rows == 0) return;
    found.notes.push_back(
        fmt::format("{} of {} rows have wrong results ({}) and do not count: no bytes that arrive "
                    "damaged are healthy, whatever their rate",
                    found.wrong_rows, given_.rows.size(), sizes));
  }

  /// What is far faster than the machine can be is not of it, however healthy.
  void add_impossible(Diagnosis& found) const {
    constexpr double beyond = 1.5;
    constexpr double far = 2;  // of the interval's lower end
    const std::ptrdiff_t last = std::min<std::ptrdiff_t>(3, std::ssize(found.sizes));
    const double ratio = found.busbw.bytes_per_second / found.expected_busbw.bytes_per_second;
    if (found.sizes.back().verdict != "fast" || ratio < beyond) return;
    const std::string text = fmt::format(
        "the largest sizes are {:.1f} times as fast as {} should be: is it another machine, or "
        "does the table count other ranks or bytes?",
        ratio, found.machine);
    const bool is_far =
        sizes_.back() >= large &&
        std::all_of(found.sizes.end() - last, found.sizes.end(), [&](const JudgedSize& size) {
          return far * size.measured < size.expected.low;
        });
    if (!found.healthy || !is_far) return found.notes.push_back(text);
    found.untold = text;
    found.causes.clear();
  }

  void add_limits(Diagnosis& found) const {
    constexpr Bytes small{64 << 10};
    if (sizes_.back() < large) {
      found.notes.push_back(fmt::format(
          "the table ends at {}{}: faults of bandwidth show from some MiB on, so it cannot tell "
          "that "
          "there is none (nccl-tests: -e 8G)",
          to_string(sizes_.back()), found.wrong_rows > 0 ? " but for wrong results" : ""));
    }
    if (sizes_.front() > small) {
      found.notes.push_back(
          fmt::format("the table begins at {}: latency cannot be told from it (nccl-tests: -b 8)",
                      to_string(sizes_.front())));
    }
    if (!found.healthy && !late_ && best_.size() > 1) found.undecided = undecided(found.causes);
  }

  /// Why the table cannot tell causes apart, and what could.
  std::string undecided(const std::vector<FoundCause>& causes) const {
    constexpr double alike = 0.1;
    const auto [size, difference] = apart(*best_[0], *best_[1]);
    std::string because;
    if (curve_of(causes[0].cause->name) == curve_of(causes[1].cause->name)) {
      because = "each of the first two takes a share of the network's rate and nothing else";
    } else if (difference < alike) {
      because = fmt::format("the times of the first two are alike within {:.0f} % at its sizes",
                            100 * difference);
    } else {
      because = fmt::format(
          "they fit within the errors that the model has on healthy systems; the first two differ "
          "most at {}, by {:.0f} %",
          to_string(size), 100 * difference);
    }
    std::string names;
    for (const FoundCause& each : causes) {
      names +=
          fmt::format("{}{} ({})", names.empty() ? "" : " or ", each.cause->name, how_sure(each));
    }
    const char* const other = ", or a table of this system when it was well (--healthy)";
    return fmt::format("cannot be told from this table: {}, because {}; the checks tell{}", names,
                       because, given_.error ? "" : other);
  }

  const DiagnosisCase& given_;
  const ModelError error_;
  TimesBySize times_;
  std::vector<Bytes> sizes_;
  std::vector<Seconds> measured_;
  std::vector<Seconds> means_;
  std::optional<LateIterations> late_;
  std::vector<const Suspicion*> best_;  // of each cause that was found
};

}  // namespace

std::vector<Bytes> sizes_of(std::span<const MeasuredTime> rows) {
  std::vector<Bytes> sizes;
  for (const auto& [bytes, times] : times_of(rows)) sizes.push_back({bytes});
  return sizes;
}

Diagnosis diagnose(const DiagnosisCase& given, const ModelError& error) {
  const ModelError of_library = given.is_unlike_fitted ? of_unlike_system(error) : error;
  Diagnosis found = Judge(given, given.error.value_or(of_library)).result();
  if (given.most_busbw.bytes_per_second > 0) doubt_beyond_links(found, given.most_busbw);
  return found;
}

const char* verdict_of(const Diagnosis& found) {
  if (!found.untold.empty()) return "undecided";
  return found.healthy ? "healthy" : "unhealthy";
}

}  // namespace collbench
