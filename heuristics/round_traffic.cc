// What every round of a schedule sends, and at which stage.
#include <algorithm>
#include <array>
#include <deque>
#include <future>
#include <thread>

#include "algorithms/resolve.h"
#include "heuristics/link_loads.h"
#include "heuristics/round_costs.h"

namespace collbench {
namespace {

constexpr std::int64_t turns_worth_a_thread = 20'000;
constexpr std::size_t most_waiting = 500'000;  // messages; then all ranks are taken to be in step

// Reads what rounds send. One thread's own.
class RoundSender {
 public:
  RoundSender(const CostSetting& setting, RouteTable& table)
      : setting_(setting),
        table_(table),
        reduction_(static_cast<std::size_t>(setting.positions()), 0),
        last_turn_(reduction_.size(), -1) {}

  RouteTable& table() { return table_; }

  // Replaces `out` by what round rounds[index] sends but for what links are busy.
  void read(std::size_t index, StagedRound& out) {
    out.index = index;
    out.table = &table_;
    out.traffic.clear();
    out.routes.clear();
    for (int p = 0; p < setting_.positions(); ++p) visit(p, setting_.rounds[index], out);
    for (CostMessage& message : out.traffic) message.reduction = reduction_[message.to];
  }

 private:
  void visit(int position, int t, StagedRound& out) {
    ++turn_;
    reduction_[position] = 0;
    const Rank r = position % setting_.schedule.ranks();
    const int track_begin = position - r;
    const Schedule& track = setting_.tracks[position / setting_.schedule.ranks()];
    if (t >= track.rounds()) return;
    resolve(track, r, t, round_);
    for (const Op& op : round_.sends()) {
      const double bytes = setting_.bytes(op.chunks);
      if (bytes > 0) send(r, op.peer, track_begin, bytes, out);
    }
    double reduced = 0;
    for (const Receipt& receipt : round_.receipts()) {
      const double bytes = setting_.bytes(receipt.chunks);
      for (int i = 0; i < receipt.additions(); ++i) reduced += bytes;
    }
    // The tracks of a rank share its rate.
    const auto tracks = static_cast<double>(setting_.tracks.size());
    const double rate = setting_.machine.costs.reduction_rate.bytes_per_second;
    reduction_[position] = rate > 0 ? reduced * tracks / rate : 0;
  }

  void send(Rank from, Rank to, int track_begin, double bytes, StagedRound& out) {
    const RouteTable::Route& route = table_.find(from, to);
    out.routes.push_back(route);
    // Member by member: copies of a temporary wait for its parts to be written.
    CostMessage& message = out.traffic.emplace_back();
    message.from = track_begin + from;
    message.to = track_begin + to;
    message.level = route.level;
    message.bytes = bytes;
    message.latency = route.latency;
    message.repeats = last_turn_[message.to] == turn_;
    last_turn_[message.to] = turn_;
  }

  const CostSetting& setting_;
  RouteTable& table_;
  std::vector<double> reduction_;  // by position, seconds
  ResolvedRound round_;
  std::int64_t turn_ = 0;                // positions visited so far
  std::vector<std::int64_t> last_turn_;  // by receiver: of its last sender
};

// At which stage messages are sent: one after those of the messages that their sender has received
// or has sent to the same receiver. A rank that receives nothing in a round is in the next at once,
// so rounds are stages only where every rank receives in each.
class Stages {
 public:
  explicit Stages(int positions) : stage_(static_cast<std::size_t>(positions), 0) {
    last_.resize(stage_.size());
  }

  // Fills round.stages; leaves them empty if all are equal and all ranks in step before and after.
  void pass(StagedRound& round) {
    ++round_;
    round.stages.clear();
    if (in_step_) {
      begin_in_step(round);
      return;
    }
    next_ = stage_;
    for (const CostMessage& message : round.traffic) {
      Last& last = last_of(message);
      if (last.to != message.to) {
        last = {message.to, round_, stage_[message.from]};
      } else if (last.round != round_) {
        last = {message.to, round_, std::max(stage_[message.from], last.stage + 1)};
      }
      round.stages.push_back(last.stage);
      next_[message.to] = std::max(next_[message.to], last.stage + 1);
    }
    stage_.swap(next_);
    in_step_ = std::all_of(stage_.begin(), stage_.end(), [&](int s) { return s == stage_[0]; });
  }

  bool in_step() const { return in_step_; }
  void fall_in_step() {
    const int most = *std::max_element(stage_.begin(), stage_.end());
    std::fill(stage_.begin(), stage_.end(), most + 1);
    in_step_ = true;
  }

 private:
  // The last message to another position; the last to four of them are known.
  struct Last {
    int to = -1;
    int round = -1;
    int stage = 0;
  };
  Last& last_of(const CostMessage& message) {
    return last_[message.from][static_cast<std::size_t>(message.to) % 4];
  }

  void begin_in_step(StagedRound& round) {
    const int stage = stage_.front();
    std::size_t receivers = 0;
    for (const CostMessage& message : round.traffic) {
      if (stage_[message.to] != stage) continue;
      stage_[message.to] = stage + 1;
      ++receivers;
    }
    in_step_ = receivers == stage_.size() || receivers == 0;
    if (in_step_) return;
    round.stages.assign(round.traffic.size(), stage);
    for (const CostMessage& message : round.traffic) last_of(message) = {message.to, round_, stage};
  }

  int round_ = 0;
  bool in_step_ = true;
  std::vector<int> stage_;  // by position
  std::vector<int> next_;
  std::vector<std::array<Last, 4>> last_;
};

using TakeRound = std::function<void(std::size_t index, const RoundTraffic& traffic)>;

// Reads rounds on as many threads as are worth it, or on this one in `space`, keeps them until no
// later round sends at their stages, and lets them be taken in order.
class Rounds {
 public:
  Rounds(const CostSetting& setting, RoundSpace* space)
      : setting_(setting), stages_(setting.positions()), loads_(setting) {
    std::int64_t threads = 1;
    if (space == nullptr) {
      const auto rounds = static_cast<std::int64_t>(setting.rounds.size());
      threads = std::min({rounds * setting.positions() / turns_worth_a_thread, rounds,
                          std::int64_t{std::thread::hardware_concurrency()}});
      space = &own_.emplace_back(setting.machine.topology, setting.placement, false);
    }
    waiting_ = &space->waiting;
    team_.emplace_back(setting, space->table);
    for (std::int64_t i = 1; i < threads; ++i) {
      RoundSpace& own = own_.emplace_back(setting.machine.topology, setting.placement, false);
      team_.emplace_back(setting, own.table);
    }
  }

  void for_each(const TakeRound& take) {
    for (std::size_t first = 0; first < setting_.rounds.size(); first += team_.size()) {
      const std::size_t count = std::min(team_.size(), setting_.rounds.size() - first);
      read(first, count);
      for (std::size_t i = 0; i < count; ++i) arrive(setting_.times(first + i), take);
      if (staged_ > taken_) {
        const auto done = waiting_->begin() + static_cast<std::ptrdiff_t>(taken_);
        std::rotate(waiting_->begin(), done, waiting_->end());
      }
      staged_ -= taken_;
      taken_ = 0;
    }
    let_go(1, take);
  }

  std::pair<LinkId, double> busiest() const { return loads_.busiest(); }

 private:
  // The first of `count` rounds by this thread, the others by one each.
  void read(std::size_t first, std::size_t count) {
    if (staged_ == 0) {
      for (RoundSender& each : team_) each.table().forget();
    }
    if (waiting_->size() < staged_ + count) waiting_->resize(staged_ + count);
    std::vector<std::future<void>> others;
    for (std::size_t i = 1; i < count; ++i) {
      others.push_back(std::async(std::launch::async, [this, first, i] {
        team_[i].read(first + i, (*waiting_)[staged_ + i]);
      }));
    }
    team_[0].read(first, (*waiting_)[staged_]);
    for (std::future<void>& other : others) other.get();
  }

  // The next that was read. One that stands for many begins and ends with all ranks in step.
  void arrive(int times, const TakeRound& take) {
    if (times > 1 && taken_ < staged_) {
      let_go(1, take);
      stages_.fall_in_step();
    }
    StagedRound& round = (*waiting_)[staged_++];
    stages_.pass(round);
    messages_ += round.traffic.size();
    const bool in_step = stages_.in_step();
    if (times == 1 && !in_step && messages_ < most_waiting) return;
    let_go(times, take);
    if (!in_step) stages_.fall_in_step();
  }

  void let_go(int times, const TakeRound& take) {
    const auto rounds = std::span(*waiting_).subspan(taken_, staged_ - taken_);
    loads_.share(rounds, times);
    for (const StagedRound& round : rounds) take(round.index, round.traffic);
    taken_ = staged_;
    messages_ = 0;
  }

  const CostSetting& setting_;
  std::deque<RoundSpace> own_;
  std::vector<RoundSender> team_;
  Stages stages_;
  LinkLoads loads_;
  std::vector<StagedRound>* waiting_;  // in their order
  std::size_t taken_ = 0;              // so many of them are done with
  std::size_t staged_ = 0;             // and so many have their stages; more may have been read
  std::size_t messages_ = 0;           // of those between
};

}  // namespace

std::pair<LinkId, double> for_each_round(const CostSetting& setting, RoundSpace* space,
                                         const TakeRound& take) {
  Rounds rounds(setting, space);
  rounds.for_each(take);
  return rounds.busiest();
}

}  // namespace collbench
