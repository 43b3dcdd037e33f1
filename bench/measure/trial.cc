#include "bench/measure/trial.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/records/record.h"
#include "core/error.h"

namespace collbench {
namespace {

// Many short turns, since machines have modes that last for a turn or for seconds.
constexpr int rounds = 12;              // the first drops candidates that are far behind
constexpr int fewest_probes = 2;        // iterations of a turn in the first round
constexpr int shortest_turn = 4;        // iterations, of later rounds
constexpr int longest_turn = 64;        // iterations
constexpr double worth_leaving = 0.03;  // what a rival must gain on the policy's choice
// A candidate that takes this many times as long as the fastest is out. The limit falls from the
// first to the second value as rounds pass.
constexpr double hopeless_first = 2.0;
constexpr double hopeless = 1.25;
constexpr double for_first_turns = 2.0 / 3;  // of the time, at most
// Preparing buffers and synchronising take about as long as what is timed.
constexpr double wall_of_timed = 2.0;

struct Entrant {
  std::string algorithm;
  std::vector<std::int64_t> latency_ns = {};
  double time_ns = 0;  // of all its samples
  bool out = false;
};

double trimean(const std::vector<std::int64_t>& samples_ns) {
  const Summary summary = summarize(samples_ns);
  return (summary.p25_ns + 2 * summary.median_ns + summary.p75_ns) / 4;
}

double least(const std::vector<std::int64_t>& samples_ns) {
  return static_cast<double>(*std::min_element(samples_ns.begin(), samples_ns.end()));
}

class Trial {
 public:
  Trial(const Case& point, const Choice& choice, const Sampling& sampling, Team& team)
      : point_(point),
        choice_(choice),
        sampling_(sampling),
        team_(team),
        left_ns_(std::min(sampling.trial, sampling.max_time).count() * 1e9 / wall_of_timed) {
    entrants_.push_back({choice.algorithm});
    for (const std::string& rival : choice.rivals) entrants_.push_back({rival});
  }

  Choice run(const std::function<bool()>& stopped) {
    if (stopped()) return choice_;
    // The first to play finds connections and caches cold: its turn is thrown away.
    Entrant cold{choice_.algorithm};
    take_turn(cold, 1, 0);
    if (left_ns_ <= 0) return {choice_.algorithm, too_slow(cold)};
    for (Entrant& entrant : entrants_) entrant.time_ns = cold.time_ns;
    wall_left_ns_ = std::min(sampling_.trial, sampling_.max_time).count() * 1e9;
    for (int round = 0; round < rounds && racing() > 1 && left_ns_ > 0; ++round) {
      const int iterations = iterations_of(round);
      for (Entrant& entrant : entrants_) {
        if (entrant.out) continue;
        if (stopped()) return choice_;
        // Where others use the machine, what is not timed takes many times as long as what is.
        if (wall_left_ns_ <= 0) return give_up(round);
        // The first turns were cold, so that longer ones replace them.
        if (round == 1 && iterations >= std::ssize(entrant.latency_ns)) entrant.latency_ns.clear();
        take_turn(entrant, iterations, round);
        if (round == 0 && &entrant == &entrants_.front() && !keep_affordable(iterations)) {
          return {choice_.algorithm, too_slow(entrant)};
        }
      }
      drop_behind(round);
    }
    return verdict();
  }

 private:
  std::ptrdiff_t racing() const {
    return std::count_if(entrants_.begin(), entrants_.end(), [](const auto& e) { return !e.out; });
  }

  // Of each turn in a round: what is left is shared by the rounds to come, but turns of very few
  // iterations would measure their beginnings. The first round has a fourth.
  int iterations_of(int round) const {
    double all_once = 0;
    for (const Entrant& entrant : entrants_) all_once += entrant.out ? 0 : entrant.time_ns;
    const double fitting = left_ns_ / all_once;
    const double share =
        round == 0 ? std::max<double>(fitting / 4, fewest_probes)
                   : std::min(std::max<double>(fitting / (rounds - round), shortest_turn), fitting);
    const int most = sampling_.iterations > 0 ? sampling_.iterations : longest_turn;
    return std::clamp(static_cast<int>(std::min<double>(share, longest_turn)), 1, most);
  }

  void take_turn(Entrant& entrant, int iterations, int round) {
    Case turn = point_;
    turn.algorithm = entrant.algorithm;
    Sampling sampling = sampling_;
    sampling.iterations = iterations;
    sampling.warmup = std::max(1, iterations / 8);  // each turn begins with new buffers
    sampling.check = sampling.back_to_back = false;
    Measurement measured;
    try {
      measured = team_.measure(turn, sampling);
    } catch (const Unavailable&) {
      if (entrant.algorithm == choice_.algorithm) throw;
      refuse(entrant);
      return;
    }
    require_unstopped(measured);
    entrant.latency_ns.insert(entrant.latency_ns.end(), measured.latency_ns.begin(),
                              measured.latency_ns.end());
    wall_left_ns_ -= static_cast<double>(measured.spent_ns);
    left_ns_ -= trimean(measured.latency_ns) * (iterations + sampling.warmup);
    // Few and cold samples hold spikes, which must not cost a place.
    entrant.time_ns = round == 0 ? least(entrant.latency_ns) : trimean(entrant.latency_ns);
  }

  static void refuse(Entrant& entrant) {
    entrant.out = true;
    entrant.time_ns = 0;  // unknown
  }

  // Keeps the rivals, ordered by predicted time, whose first turns fit into most of the time left
  // if each takes as long as the policy's choice. False if none fit.
  bool keep_affordable(int iterations) {
    const double each_ns = entrants_.front().time_ns * (iterations + 1);
    double left_ns = left_ns_ * for_first_turns;
    for (Entrant& rival : std::span(entrants_).subspan(1)) {
      left_ns -= each_ns;
      if (left_ns < 0) refuse(rival);
    }
    return racing() > 1;
  }

  // The verdict on those that have played.
  Choice give_up(int round) {
    for (Entrant& entrant : entrants_) {
      if (entrant.latency_ns.empty()) refuse(entrant);
    }
    if (round == 0 && racing() < 2) return {choice_.algorithm, too_slow(entrants_.front())};
    return verdict();
  }

  const Entrant& fastest() const {
    return *std::min_element(
        entrants_.begin(), entrants_.end(),
        [](const Entrant& a, const Entrant& b) { return place(a) < place(b); });
  }

  // Those that are out, and those that never played, come last.
  static double place(const Entrant& entrant) {
    return entrant.out ? std::numeric_limits<double>::max() : entrant.time_ns;
  }

  void drop_behind(int round) {
    const double factor = hopeless + (hopeless_first - hopeless) / (round + 1);
    const double limit = fastest().time_ns * factor;
    for (Entrant& entrant : entrants_) entrant.out |= entrant.time_ns > limit;
    if (round == 0) entrants_.front().out = false;  // it played when all was coldest
  }

  static std::string words(const Entrant& entrant) {
    return fmt::format("{} {}{}", entrant.algorithm, to_string(Seconds{entrant.time_ns * 1e-9}),
                       entrant.out ? " when dropped" : "");
  }

  std::string too_slow(const Entrant& first) const {
    return fmt::format("{}; at {} it is too slow to try close rivals", choice_.reason,
                       to_string(Seconds{first.time_ns * 1e-9}));
  }

  Choice verdict() const {
    const Entrant& first = entrants_.front();
    const Entrant& best = fastest();
    const bool stays = !first.out && first.time_ns <= best.time_ns * (1 + worth_leaving);
    const Entrant& taken = stays ? first : best;
    std::vector<std::string> others;
    for (const Entrant& entrant : entrants_) {
      if (&entrant != &taken && entrant.time_ns > 0) others.push_back(words(entrant));
    }
    std::string reason =
        fmt::format("{} when tried here, {}", words(taken), fmt::join(others, ", "));
    reason += stays ? fmt::format("; {}", choice_.reason)
                    : fmt::format("; without a trial {}: {}", first.algorithm, choice_.reason);
    return {taken.algorithm, reason};
  }

  const Case& point_;
  const Choice& choice_;
  const Sampling& sampling_;
  Team& team_;
  double left_ns_;           // of timed iterations
  double wall_left_ns_ = 0;  // by rank 0's clock, so that all ranks end it alike
  std::vector<Entrant> entrants_;
};

}  // namespace

Choice try_out(const Case& point, const Choice& choice, const Sampling& sampling, Team& team,
               const std::function<bool()>& stopped) {
  const bool wanted = sampling.trial > Seconds{0} && point.inject.empty();
  if (!wanted || choice.rivals.empty()) return choice;
  return Trial(point, choice, sampling, team).run(stopped);
}

}  // namespace collbench
