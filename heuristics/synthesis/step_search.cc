#include "heuristics/synthesis/step_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/combinators.h"
#include "algorithms/verify.h"
#include "core/error.h"
#include "heuristics/synthesis/bound.h"
#include "heuristics/synthesis/capacity_graph.h"
#include "heuristics/synthesis/certificate.h"
#include "heuristics/synthesis/rank_paths.h"

namespace collbench {
namespace {

constexpr int most_step_ranks = 8;
constexpr int most_step_chunks = 6;
constexpr int most_more_steps = 4;  // than the fewest

/// Ranks, the ways between them, and what links carry in a round.
class LaneNetwork {
 public:
  explicit LaneNetwork(const Topology& topology) : paths_(topology) {
    std::map<LinkId, double> used;
    for (Rank from = 0; from < ranks(); ++from) {
      for (Rank to = 0; to < ranks(); ++to) {
        for (const LinkId link : paths_.links(from, to)) used[link] = topology.capacity(link);
        const double latency = summarize(topology, paths_.links(from, to)).latency.count();
        latency_ = std::max(latency_, latency);
      }
    }
    for (const auto& [link, rate] : used) rate_ = std::min(rate_, rate);
    for (const auto& [link, rate] : used) {
      lanes_[link] = static_cast<int>(std::min(1e6, rate / rate_ * (1 + 1e-9)));
    }
  }

  int ranks() const { return paths_.ranks(); }
  double lane_rate() const { return rate_; }  // bytes per second
  double latency() const { return latency_; }
  const std::map<LinkId, int>& lanes() const { return lanes_; }
  std::span<const LinkId> links(Rank from, Rank to) const { return paths_.links(from, to); }
  bool is_way(Rank from, Rank to) const { return from != to && !links(from, to).empty(); }

  /// The fewest steps from a rank to each.
  std::vector<int> steps_from(Rank rank) const {
    std::vector<int> steps(ranks(), ranks());
    steps[rank] = 0;
    std::vector<Rank> order{rank};
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (Rank r = 0; r < ranks(); ++r) {
        if (!is_way(order[i], r) || steps[r] < ranks()) continue;
        steps[r] = steps[order[i]] + 1;
        order.push_back(r);
      }
    }
    return steps;
  }
  int fewest_steps() const {
    int most = 1;
    for (Rank r = 0; r < ranks(); ++r) {
      const std::vector<int> steps = steps_from(r);
      most = std::max(most, *std::max_element(steps.begin(), steps.end()));
    }
    return most;
  }

 private:
  RankPaths paths_;
  std::map<LinkId, int> lanes_;
  double rate_ = std::numeric_limits<double>::infinity();
  double latency_ = 0;
};

/// A message of a question: `chunk` from `from` to `to` in `step`, from 1 on.
struct StepMessage {
  int chunk;
  Rank from;
  Rank to;
  int step;
};

std::string name_of(const StepMessage& m) {
  return fmt::format("m_{}_{}_{}_{}", m.chunk, m.from, m.to, m.step);
}
std::string name_of_presence(int chunk, Rank rank, int step) {
  return fmt::format("h_{}_{}_{}", chunk, rank, step);
}

/// All messages that can be of use at a point, in the order of chunks, receivers and steps.
std::vector<StepMessage> messages_of(const LaneNetwork& network, const StepPoint& point) {
  std::vector<StepMessage> messages;
  for (int chunk = 0; chunk < network.ranks() * point.chunks; ++chunk) {
    const Rank owner = chunk / point.chunks;
    const std::vector<int> steps = network.steps_from(owner);
    for (Rank to = 0; to < network.ranks(); ++to) {
      if (to == owner) continue;
      for (int step = steps[to]; step <= point.steps; ++step) {
        for (Rank from = 0; from < network.ranks(); ++from) {
          if (network.is_way(from, to) && steps[from] < step) {
            messages.push_back({chunk, from, to, step});
          }
        }
      }
    }
  }
  return messages;
}

/// The text of a question, line by line.
class StepQuestion {
 public:
  StepQuestion(const LaneNetwork& network, const StepPoint& point)
      : network_(network), point_(point), messages_(messages_of(network, point)) {
    out_ << "(set-logic QF_FD)\n";
    for (const StepMessage& message : messages_) declare(name_of(message));
    state_presence();
    state_rounds();
    state_lanes();
    out_ << "(check-sat)\n";
  }
  std::string text() const { return out_.str(); }

 private:
  void declare(const std::string& name) { out_ << "(declare-const " << name << " Bool)\n"; }
  void claim(const std::string& what) { out_ << "(assert " << what << ")\n"; }

  // A rank has a chunk after a step if it had it before or got it there; it gets it once, and sends
  // only what it had before.
  void state_presence() {
    std::map<std::tuple<int, Rank, int>, std::string> got;
    std::map<std::pair<int, Rank>, std::string> ever;
    for (const StepMessage& message : messages_) {
      got[{message.chunk, message.to, message.step}] += " " + name_of(message);
      ever[{message.chunk, message.to}] += " " + name_of(message);
    }
    for (const auto& [place, names] : ever) {
      const auto [chunk, rank] = place;
      std::string before = "false";
      for (int step = 1; step <= point_.steps; ++step) {
        const std::string now = name_of_presence(chunk, rank, step);
        declare(now);
        const auto here = got.find({chunk, rank, step});
        claim(fmt::format("(= {} (or {}{}))", now, before, here == got.end() ? "" : here->second));
        before = now;
      }
      claim(before);
      claim(fmt::format("((_ at-most 1){})", names));
    }
    for (const StepMessage& message : messages_) {
      if (message.from == message.chunk / point_.chunks) continue;
      claim(message.step == 1
                ? fmt::format("(not {})", name_of(message))
                : fmt::format("(=> {} {})", name_of(message),
                              name_of_presence(message.chunk, message.from, message.step - 1)));
    }
  }

  int most_of_step() const { return point_.rounds - point_.steps + 1; }
  static std::string name_of_round(int step, int round) {
    return fmt::format("r_{}_{}", step, round);
  }

  // r_s_k: step s has at least k rounds. Each has one.
  void state_rounds() {
    std::string all;
    for (int step = 1; step <= point_.steps; ++step) {
      for (int round = 2; round <= most_of_step(); ++round) {
        declare(name_of_round(step, round));
        all += " " + name_of_round(step, round);
      }
    }
    if (!all.empty()) claim(fmt::format("((_ at-most {}){})", point_.rounds - point_.steps, all));
  }

  // What crosses a link in a step, and its lanes times the rounds that the step does not have, are
  // at most its lanes times the most rounds.
  void state_lanes() {
    std::map<std::pair<LinkId, int>, std::vector<std::string>> crossing;
    for (const StepMessage& message : messages_) {
      for (const LinkId link : network_.links(message.from, message.to)) {
        crossing[{link, message.step}].push_back(name_of(message));
      }
    }
    for (const auto& [place, names] : crossing) {
      const auto [link, step] = place;
      const int lanes = network_.lanes().at(link);
      std::string factors = fmt::format("{}", lanes * most_of_step());
      std::string terms;
      for (const std::string& name : names) {
        factors += " 1";
        terms += " " + name;
      }
      for (int round = 2; round <= most_of_step(); ++round) {
        factors += fmt::format(" {}", lanes);
        terms += fmt::format(" (not {})", name_of_round(step, round));
      }
      claim(fmt::format("((_ pble {}){})", factors, terms));
    }
  }

  const LaneNetwork& network_;
  StepPoint point_;
  std::vector<StepMessage> messages_;
  std::ostringstream out_;
};

/// Names that a model says are true: "(define-fun NAME () Bool true)".
std::set<std::string> true_names(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '(' || c == ')'; }, ' ');
  std::istringstream words(text);
  std::set<std::string> names;
  std::string word, name, type, value;
  while (words >> word) {
    if (word == "define-fun" && words >> name >> type >> value && value == "true") {
      names.insert(name);
    }
  }
  return names;
}

/// The all-gather of a model, proven.
Schedule schedule_of_model(const LaneNetwork& network, const StepPoint& point,
                           const std::string& answer) {
  const std::set<std::string> sent = true_names(answer);
  // By rank and step. Messages are of one chunk: sums of ranges that overlap would be refused.
  const auto rows = std::make_shared<std::vector<std::vector<std::vector<Op>>>>(
      network.ranks(), std::vector<std::vector<Op>>(point.steps));
  for (const StepMessage& message : messages_of(network, point)) {
    if (!sent.contains(name_of(message))) continue;
    const int t = message.step - 1;
    (*rows)[message.from][t].push_back({OpKind::send, message.to, {message.chunk, 1}});
    (*rows)[message.to][t].push_back({OpKind::recv, message.from, {message.chunk, 1}});
  }
  const auto play = [rows](Rank r, int t, Round& out) {
    for (const Op& op : (*rows)[r][t]) out.push(op);
  };
  const Shape shape{network.ranks(), network.ranks() * point.chunks, point.steps};
  Schedule schedule("synth", shape, play, share_partition(shape.ranks, point.chunks));
  const Verification proof = verify(schedule, {CollectiveKind::all_gather});
  if (!proof.ok()) {
    throw Error(
        fmt::format("the solver's model of {} chunks, {} steps, {} rounds is not an all-gather: {}",
                    point.chunks, point.steps, point.rounds, proof.violations.front().what));
  }
  return schedule;
}

/// What a point costs, of the whole collective.
double seconds_per_byte_of(const LaneNetwork& network, CollectiveKind goal,
                           const StepPoint& point) {
  const double times = goal == CollectiveKind::all_reduce ? 2 : 1;
  return times * point.rounds / (network.lane_rate() * network.ranks() * point.chunks);
}
int steps_of(CollectiveKind goal, const StepPoint& point) {
  return goal == CollectiveKind::all_reduce ? 2 * point.steps : point.steps;
}

/// What points are put in order by: of 0 bytes steps, else seconds; then seconds a byte, chunks.
using PricedPoint = std::tuple<double, double, int, StepPoint>;

/// Cheapest first. No point has fewer rounds than the bound of the network asks for.
std::vector<PricedPoint> priced_points(const Topology& topology, const LaneNetwork& network,
                                       CollectiveKind goal, Bytes bytes) {
  const double bound =
      certify(topology, CollectiveKind::all_gather).bound.seconds_per_gigabyte.value() / 1e9;
  const int fewest = network.fewest_steps();
  std::vector<PricedPoint> points;
  for (int chunks = 1; chunks <= most_step_chunks; ++chunks) {
    const double least = bound * network.lane_rate() * network.ranks() * chunks;
    const int rounds = static_cast<int>(std::ceil(least * (1 - 1e-9)));
    for (int steps = fewest; steps <= fewest + most_more_steps; ++steps) {
      for (int more = 0; more <= most_more_rounds; ++more) {
        const StepPoint point{chunks, steps, std::max(rounds, steps) + more};
        const double per_byte = seconds_per_byte_of(network, goal, point);
        const double seconds =
            steps_of(goal, point) * network.latency() + static_cast<double>(bytes.count) * per_byte;
        points.emplace_back(bytes.count == 0 ? steps : seconds, per_byte, chunks, point);
      }
    }
  }
  const auto key = [](const PricedPoint& p) {
    return std::tuple(std::get<0>(p), std::get<1>(p), std::get<2>(p));
  };
  std::ranges::sort(points, {}, key);
  return points;
}

Schedule whole_of(const Schedule& gather, CollectiveKind goal) {
  if (goal == CollectiveKind::all_gather) return gather;
  const Schedule scatter = mirrored(gather, OpKind::recv_reduce).with_partition(gather.partition());
  if (goal == CollectiveKind::reduce_scatter) return scatter;
  return sequence("synth", {scatter, gather}).with_partition(gather.partition());
}

}  // namespace

std::string no_steps_because(const Topology& topology, CollectiveKind goal) {
  if (topology.hosts() > most_step_ranks) {
    return fmt::format("{} ranks are more than {}", topology.hosts(), most_step_ranks);
  }
  if (adds(goal) && !capacity_graph(topology).is_bidirectional()) {
    return "links are not alike in both directions";
  }
  return {};
}

StepSearch search_steps(const Topology& topology, CollectiveKind goal, Bytes bytes, Seconds limit,
                        const AskSolver& ask) {
  const LaneNetwork network(topology);
  StepSearch found;
  for (const auto& [cost, per_byte, chunks, point] :
       priced_points(topology, network, goal, bytes)) {
    if (bytes.count > 0 && cost >= limit.count()) break;
    const std::string answer = ask(StepQuestion(network, point).text());
    if (answer.starts_with("unsat")) {
      ++found.refuted;
    } else if (answer.starts_with("unknown") || answer.starts_with("timeout")) {
      ++found.left_open;
    } else if (!answer.starts_with("sat")) {
      throw Error(fmt::format("the solver answered '{}', which is neither sat nor unsat",
                              answer.substr(0, answer.find('\n'))));
    } else {
      found.point = point;
      found.schedule = whole_of(schedule_of_model(network, point, answer), goal);
      found.seconds_per_byte = per_byte;
      found.time = Seconds{steps_of(goal, point) * network.latency() +
                           static_cast<double>(bytes.count) * per_byte};
      break;
    }
  }
  return found;
}

}  // namespace collbench
