#include "tests/simulator/reference_flows.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "algorithms/resolve.h"

namespace collbench {
namespace {

enum class State { unsent, latent, flowing, arrived };

struct Message {
  int from = 0;  // position
  int to = 0;
  int round = 0;
  double left = 0;
  double limit = 0;
  double latency = 0;
  double gap = 0;
  std::vector<LinkId> route;
  State state = State::unsent;
  double begins = 0;
  double rate = 0;
};

struct Position {  // a rank in one track
  int round = -1;
  double entered = 0;
  double last_arrival = 0;
  std::vector<double> reduction;  // seconds, by round
};

constexpr double never = std::numeric_limits<double>::infinity();

class Reference {
 public:
  explicit Reference(const Scenario& scenario) : scenario_(scenario) {
    for (const Schedule& track : scenario.schedule.tracks()) tracks_.push_back(track);
    if (tracks_.empty()) tracks_.push_back(scenario.schedule);
    const int ranks = scenario.schedule.ranks();
    positions_.resize(tracks_.size() * static_cast<std::size_t>(ranks));
    const auto links = scenario.machine.topology.links().size();
    result_.link_bytes.resize(links);
    result_.link_busy.resize(links);
    result_.rank_end.resize(static_cast<std::size_t>(ranks), 0);
    const auto starts = start_times(scenario.disturbance, ranks);
    for (int p = 0; p < static_cast<int>(positions_.size()); ++p) {
      starts_.push_back(starts[p % ranks].count());
      for (int t = 0; t < scenario.schedule.rounds(); ++t) tabulate_turn(p, t);
    }
    for (int p = 0; p < static_cast<int>(positions_.size()); ++p) {
      for (int t = 0; t < scenario.schedule.rounds(); ++t) delay_by_gaps(p, t);
    }
  }

  ReferenceResult run() {
    for (;;) {
      while (react()) {
      }
      share();
      const double next = next_event();
      if (next == never) return result_;
      pass(next);
    }
  }

 private:
  double bytes(Chunks chunks) const {
    const int element = size_of(scenario_.type);
    const Schedule& schedule = scenario_.schedule;
    if (scenario_.equal_chunks) {
      return static_cast<double>(scenario_.count * element) * chunks.count / schedule.chunks();
    }
    const auto at = [&](int chunk) {
      return schedule.partition()(chunk, scenario_.count, element);
    };
    return static_cast<double>((at(chunks.first + chunks.count) - at(chunks.first)) * element);
  }

  void tabulate_turn(int p, int t) {
    ResolvedRound round;
    const int ranks = scenario_.schedule.ranks();
    const Rank r = p % ranks;
    const Schedule& track = tracks_[p / ranks];
    if (t < track.rounds()) resolve(track, r, t, round);
    const Costs& costs = scenario_.machine.costs;
    double reduced = 0;
    for (const Receipt& receipt : round.receipts()) {
      reduced += bytes(receipt.chunks) * receipt.additions();
    }
    for (const Op& op : round.sends()) {
      const double size = bytes(op.chunks);
      if (size == 0) continue;
      Message message;
      message.from = p;
      message.to = p - r + op.peer;
      message.round = t;
      const Topology& topology = scenario_.machine.topology;
      topology.route(scenario_.placement[r], scenario_.placement[op.peer], message.route);
      const RouteSummary summary = summarize(topology, message.route);
      const Protocol* protocol = nullptr;
      for (const Protocol& one : costs.protocols) {
        if (one.name == scenario_.protocol) protocol = &one;
      }
      const MessageCost cost = message_cost(costs, protocol, size, summary.level);
      message.left = size * cost.wire_factor;
      message.limit = cost.cap > 0 ? cost.cap : 1e300;
      message.latency = (summary.latency + cost.latency).count();
      for (const LinkId link : message.route) result_.link_bytes[link] += message.left;
      message.gap = gap(summary.level);
      messages_.push_back(message);
    }
    const double rate = costs.reduction_rate.bytes_per_second;
    const auto sharers = static_cast<double>(tracks_.size());
    positions_[p].reduction.push_back(rate > 0 ? reduced * sharers / rate : 0);
  }

  // From the sorted gaps of what a position sends and receives in a round, its largest left out.
  void delay_by_gaps(int p, int t) {
    const auto busy = [&](bool sending) {
      std::vector<double> gaps;
      for (const Message& m : messages_) {
        if (m.round == t && (sending ? m.from : m.to) == p) gaps.push_back(m.gap);
      }
      std::sort(gaps.begin(), gaps.end());
      if (!gaps.empty()) gaps.pop_back();
      return std::accumulate(gaps.begin(), gaps.end(), 0.0);
    };
    const double sending = busy(true);
    for (Message& m : messages_) {
      if (m.round == t && m.from == p) m.latency += sending;
    }
    positions_[p].reduction[t] += std::max(0.0, busy(false) - sending);
  }

  double gap(int level) const {
    const Costs& costs = scenario_.machine.costs;
    double sum = 0;
    const auto add = [&](const std::vector<Seconds>& gaps) {
      if (!gaps.empty())
        sum += gaps[level < static_cast<int>(gaps.size()) ? level : gaps.size() - 1].count();
    };
    add(costs.message_gap);
    for (const Protocol& one : costs.protocols) {
      if (one.name == scenario_.protocol) add(one.message_gap);
    }
    return sum;
  }

  // Whether messages of earlier rounds between the same two have arrived.
  bool is_next(const Message& message) const {
    return std::none_of(messages_.begin(), messages_.end(), [&](const Message& m) {
      return m.from == message.from && m.to == message.to && m.round < message.round &&
             m.state != State::arrived;
    });
  }

  bool due(double time) const { return time <= now_ + 1e-13 * now_; }

  // One pass over everything that may happen now; whether something did.
  bool react() {
    bool changed = false;
    for (int p = 0; p < static_cast<int>(positions_.size()); ++p) {
      if (!due(leaves(p))) continue;
      Position& position = positions_[p];
      ++position.round;
      position.entered = position.last_arrival = now_;
      if (position.round == scenario_.schedule.rounds()) {
        double& end = result_.rank_end[p % scenario_.schedule.ranks()];
        end = std::max(end, now_ + scenario_.machine.costs.per_collective.count());
      }
      changed = true;
    }
    for (Message& m : messages_) {
      const bool receiver_there =
          scenario_.posting == Posting::eager || positions_[m.to].round >= m.round;
      if (m.state == State::unsent && positions_[m.from].round >= m.round && receiver_there) {
        m.state = State::latent;
        m.begins = now_ + m.latency;
        changed = true;
      }
      if (m.state == State::latent && due(m.begins) && is_next(m)) {
        m.state = State::flowing;
        changed = true;
      }
      if (m.state == State::flowing && m.left <= 0) {
        m.state = State::arrived;
        if (positions_[m.to].round == m.round) positions_[m.to].last_arrival = now_;
        changed = true;
      }
    }
    return changed;
  }

  double leaves(int p) const {
    const Position& position = positions_[p];
    if (position.round < 0) return starts_[p];
    if (position.round == scenario_.schedule.rounds()) return never;
    for (const Message& m : messages_) {
      if (m.to == p && m.round == position.round && m.state != State::arrived) return never;
    }
    return position.last_arrival + position.reduction[position.round];
  }

  // Progressive filling by its definition: all rise by equal steps until something is full.
  void share() {
    std::vector<Message*> rising;
    for (Message& m : messages_) {
      m.rate = 0;
      if (m.state == State::flowing) rising.push_back(&m);
    }
    const auto links = scenario_.machine.topology.links().size();
    while (!rising.empty()) {
      std::vector<double> rest(links), weight(links);
      for (std::size_t l = 0; l < links; ++l) {
        rest[l] = scenario_.machine.topology.capacity(static_cast<LinkId>(l));
      }
      for (const Message& m : messages_) {
        for (const LinkId link : m.route) rest[link] -= m.rate;
      }
      for (const Message* m : rising) {
        for (const LinkId link : m->route) ++weight[link];
      }
      double step = never;
      for (std::size_t l = 0; l < links; ++l) {
        if (weight[l] > 0) step = std::min(step, std::max(0.0, rest[l]) / weight[l]);
      }
      for (const Message* m : rising) step = std::min(step, m->limit - m->rate);
      for (Message* m : rising) m->rate += step;
      const auto full = [&](const Message* m) {
        if (m->limit - m->rate <= 1e-12 * m->limit) return true;
        return std::any_of(m->route.begin(), m->route.end(), [&](LinkId l) {
          const double capacity = scenario_.machine.topology.capacity(l);
          return rest[l] - weight[l] * step <= 1e-12 * capacity;
        });
      };
      std::erase_if(rising, full);
    }
  }

  double next_event() const {
    double next = never;
    for (int p = 0; p < static_cast<int>(positions_.size()); ++p) {
      next = std::min(next, leaves(p));
    }
    for (const Message& m : messages_) {
      if (m.state == State::latent && (!due(m.begins) || is_next(m)))
        next = std::min(next, m.begins);
      if (m.state == State::flowing) next = std::min(next, now_ + m.left / m.rate);
    }
    return next;
  }

  void pass(double next) {
    std::vector<bool> busy(result_.link_busy.size(), false);
    for (Message& m : messages_) {
      if (m.state != State::flowing) continue;
      for (const LinkId link : m.route) busy[link] = true;
      const bool ends = now_ + m.left / m.rate <= next + 1e-13 * next;
      m.left = ends ? 0 : m.left - m.rate * (next - now_);
    }
    for (std::size_t l = 0; l < busy.size(); ++l) {
      if (busy[l]) result_.link_busy[l] += next - now_;
    }
    now_ = next;
  }

  const Scenario& scenario_;
  std::vector<Schedule> tracks_;
  std::vector<Position> positions_;  // track by track
  std::vector<double> starts_;
  std::vector<Message> messages_;
  double now_ = 0;
  ReferenceResult result_;
};

}  // namespace

ReferenceResult reference_flows(const Scenario& scenario) { return Reference(scenario).run(); }

}  // namespace collbench
