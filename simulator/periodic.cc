#include "simulator/periodic.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <deque>
#include <limits>
#include <utility>

#include "simulator/fair_share.h"

namespace collbench {
namespace {

constexpr int shortest_run = 8;  // rounds among which a period is worth looking for

// A program with rounds left out. Rounds are numbered as they are played.
class ShortProgram final : public Program {
 public:
  explicit ShortProgram(Program& whole) : whole_(whole) {}

  int positions() const override { return whole_.positions(); }
  int rounds() const override { return whole_.rounds() - skipped(); }
  const std::vector<double>& capacities() const override { return whole_.capacities(); }
  const std::vector<LinkPath>& paths() const override { return whole_.paths(); }
  void turn(int position, int round, Turn& out) override {
    whole_.turn(position, original(round), out);
  }
  Seconds start(int position) const override { return whole_.start(position); }
  std::int64_t pattern(int round) const override { return whole_.pattern(original(round)); }

  /// Leaves out `rounds` rounds before the one now numbered `before`. Nothing after an earlier skip
  /// may be left out again.
  void skip(int before, int rounds) { skips_.push_back({before - rounds, skipped() + rounds}); }
  int skipped() const { return skips_.empty() ? 0 : skips_.back().total; }

 private:
  struct Skip {
    int first;  // round as played from which on
    int total;  // so many are missing
  };
  int original(int round) const {
    for (auto skip = skips_.rbegin(); skip != skips_.rend(); ++skip) {
      if (round >= skip->first) return round + skip->total;
    }
    return round;
  }

  Program& whole_;
  std::vector<Skip> skips_;
};

bool equal_turns(const Turn& a, const Turn& b) {
  const auto equal = [](const Flow& x, const Flow& y) {
    return x.to == y.to && x.path == y.path && x.wire_bytes == y.wire_bytes &&
           x.latency == y.latency && x.cap == y.cap && x.bytes == y.bytes;
  };
  return a.arrivals == b.arrivals && a.reduction == b.reduction &&
         std::equal(a.sends.begin(), a.sends.end(), b.sends.begin(), b.sends.end(), equal);
}

bool equal_rounds(Program& program, int one, int other) {
  Turn a;
  Turn b;
  for (int p = 0; p < program.positions(); ++p) {
    program.turn(p, one, a);
    program.turn(p, other, b);
    if (!equal_turns(a, b)) return false;
  }
  return true;
}

struct RoundRange {
  int begin;
  int end;
  int length() const { return end - begin; }
};

// Runs of rounds with equal turns that are long enough to look for a period.
std::vector<RoundRange> long_runs(Program& program) {
  std::vector<RoundRange> runs;
  for (int begin = 0; begin < program.rounds();) {
    int end = begin + 1;
    while (end < program.rounds() && program.pattern(end) == program.pattern(begin)) ++end;
    const bool joins = !runs.empty() && runs.back().end == begin && end - begin >= shortest_run &&
                       runs.back().length() >= shortest_run &&
                       equal_rounds(program, runs.back().begin, begin);
    if (joins) {
      runs.back().end = end;
    } else {
      runs.push_back({begin, end});
    }
    begin = end;
  }
  std::erase_if(runs, [](const RoundRange& run) { return run.length() < shortest_run; });
  return runs;
}

// Times at which all positions enter one round.
struct EntryTimes {
  std::vector<double> times;
  int entered = 0;
};

// How far times in round `round` may differ and still be called the same: some roundings of the
// simulated time, which add up from round to round. It must be small, because a difference is
// multiplied by the periods that are left out.
double rounding(double time, int round) {
  return time * std::numeric_limits<double>::epsilon() * (4 + round / 32.0);
}

// Whether `later` is `row` moved by one time for all; `shift` becomes that time.
bool is_shifted(const EntryTimes& row, const EntryTimes& later, double slack, double& shift) {
  shift = later.times[0] - row.times[0];
  for (std::size_t p = 1; p < row.times.size(); ++p) {
    if (std::abs(later.times[p] - row.times[p] - shift) > slack) return false;
  }
  return true;
}

class PeriodWatch final : public RoundWatch {
 public:
  PeriodWatch(ShortProgram& program, std::vector<RoundRange> runs, bool link_use)
      : program_(program), runs_(std::move(runs)), link_use_(link_use) {
    if (!runs_.empty()) begin_run();
  }

  void begins(const FairShare& links) override { links_ = &links; }

  bool enters(int position, int round, Seconds time) override {
    farthest_ = std::max(farthest_, round);
    if (next_run_ == runs_.size()) return true;
    if (round >= end_) end_run();
    if (next_run_ == runs_.size() || round < begin_) return true;
    const auto index = static_cast<std::size_t>(round - first_row_);
    while (rows_.size() <= index) rows_.push_back(new_row());
    rows_[index].times[position] = time.count();
    if (++rows_[index].entered == program_.positions()) complete(round, time);
    return true;
  }

  Seconds skipped_time() const { return skipped_time_; }
  /// By link; empty if nothing was skipped or the use of links was not requested.
  const std::vector<Seconds>& skipped_busy() const { return skipped_busy_; }

 private:
  struct Snapshot {
    std::vector<EntryTimes> rows;  // the last is of round `round`
    int round = 0;
    std::vector<LinkUse> links;
  };

  void begin_run() {
    begin_ = runs_[next_run_].begin - program_.skipped();
    end_ = runs_[next_run_].end - program_.skipped();
    first_row_ = begin_;
    snapshot_.rows.clear();
    span_ = 1;
  }

  // A position is beyond the run: no period of it can be skipped any more.
  void end_run() {
    while (!rows_.empty()) drop_row();
    if (++next_run_ < runs_.size()) begin_run();
  }

  EntryTimes new_row() {
    EntryTimes row;
    if (!spare_.empty()) {
      row = std::move(spare_.back());
      spare_.pop_back();
    }
    row.times.resize(static_cast<std::size_t>(program_.positions()));
    row.entered = 0;
    return row;
  }

  void drop_row() {
    spare_.push_back(std::move(rows_.front()));
    rows_.pop_front();
    ++first_row_;
  }

  const EntryTimes& row(int round) const {
    return rows_[static_cast<std::size_t>(round - first_row_)];
  }

  // A flow of round s has arrived when all positions are in round s + 1, so none in flight is older
  // than the farthest position is ahead; twice that covers the lives of all of them.
  int window_at(int round) const { return 2 * (farthest_ - round) + 4; }

  // All positions have entered `round`. Snapshots are renewed when the time since the last has
  // doubled (Brent 1980), so that a period is found whatever precedes it.
  void complete(int round, Seconds now) {
    if (snapshot_.rows.empty()) {
      if (round - first_row_ + 1 >= window_at(round)) take_snapshot(round, window_at(round), now);
      return;
    }
    const int period = round - snapshot_.round;
    if (repeats(round)) {
      skip(round, period, now);
      return;
    }
    if (period == span_) {
      span_ *= 2;
      take_snapshot(round, std::min(window_at(round), round - first_row_ + 1), now);
    }
    const int kept = std::max(window_at(round), static_cast<int>(snapshot_.rows.size()));
    while (first_row_ <= round - kept) drop_row();
  }

  void take_snapshot(int round, int window, Seconds now) {
    snapshot_.rows.clear();
    for (int t = round - window + 1; t <= round; ++t) snapshot_.rows.push_back(row(t));
    snapshot_.round = round;
    if (link_use_) snapshot_.links = links_->link_use(now.count());
  }

  bool repeats(int round) const {
    double shift = 0;
    const auto window = static_cast<int>(snapshot_.rows.size());
    if (window < window_at(round) || round - window + 1 < first_row_) return false;
    const double slack = rounding(row(round).times[0], round);
    if (!is_shifted(snapshot_.rows.back(), row(round), slack, shift)) return false;
    for (int i = 0; i + 1 < window; ++i) {
      double other = 0;
      const EntryTimes& later = row(round - window + 1 + i);
      if (!is_shifted(snapshot_.rows[i], later, slack, other)) return false;
      if (std::abs(other - shift) > slack) return false;
    }
    return true;
  }

  void skip(int round, int period, Seconds now) {
    const int periods = (end_ - farthest_ - 1) / period;
    if (periods > 0) {
      const double shift = row(round).times[0] - snapshot_.rows.back().times[0];
      program_.skip(end_, periods * period);
      skipped_time_ += periods * Seconds{shift};
      if (link_use_) add_busy(links_->link_use(now.count()), periods);
    }
    end_run();
  }

  void add_busy(const std::vector<LinkUse>& links, int periods) {
    skipped_busy_.resize(links.size(), Seconds{0});
    for (std::size_t l = 0; l < links.size(); ++l) {
      skipped_busy_[l] += periods * (links[l].busy - snapshot_.links[l].busy);
    }
  }

  ShortProgram& program_;
  std::vector<RoundRange> runs_;  // as numbered in the whole program
  bool link_use_;
  const FairShare* links_ = nullptr;
  std::size_t next_run_ = 0;  // the one that is watched
  int begin_ = 0;             // its rounds as played
  int end_ = 0;
  int farthest_ = 0;  // round that anybody has entered
  int first_row_ = 0;
  std::deque<EntryTimes> rows_;
  std::vector<EntryTimes> spare_;
  Snapshot snapshot_;
  int span_ = 1;  // rounds until the snapshot is renewed
  Seconds skipped_time_{0};
  std::vector<Seconds> skipped_busy_;
};

}  // namespace

FlowReport play_periodic(Program& program, FlowOptions options) {
  assert(options.watch == nullptr && !options.round_end);
  ShortProgram shortened(program);
  PeriodWatch watch(shortened, long_runs(program), options.link_use);
  options.watch = &watch;
  FlowReport report = play(shortened, options);
  for (Seconds& end : report.end) end += watch.skipped_time();
  for (std::size_t l = 0; l < watch.skipped_busy().size(); ++l) {
    report.links[l].busy += watch.skipped_busy()[l];
  }
  return report;
}

}  // namespace collbench
