#include "bench/trial.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/record.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr int rounds = 3;               // after the probes
constexpr int probes = 2;               // iterations, which tell how many fit into a turn
constexpr int longest_turn = 256;       // iterations
constexpr double worth_leaving = 0.03;  // what a rival must gain on the policy's choice
// Who takes so many times as long as the fastest is out: after the probes, and after each round.
constexpr double hopeless_probe = 2.0;
constexpr double hopeless = 1.25;
// Preparing buffers and meeting take about as long as what is timed.
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

class Trial {
 public:
  Trial(const Case& which, const Choice& choice, const Sampling& sampling, Team& team)
      : which_(which),
        choice_(choice),
        sampling_(sampling),
        team_(team),
        left_ns_(std::min(sampling.trial, sampling.max_time).count() * 1e9 / wall_of_timed) {
    entrants_.push_back({choice.algorithm});
    for (const std::string& rival : choice.rivals) entrants_.push_back({rival});
  }

  Choice run(const std::function<bool()>& stopped) {
    for (int round = 0; round <= rounds && racing() > 1 && left_ns_ > 0; ++round) {
      const int iterations = iterations_of(round);
      for (Entrant& entrant : entrants_) {
        if (entrant.out) continue;
        if (stopped()) return choice_;
        take_turn(entrant, iterations);
        if (round == 0 && !affordable()) return {choice_.algorithm, too_slow()};
      }
      drop_behind(round == 0 ? hopeless_probe : hopeless);
    }
    return verdict();
  }

 private:
  std::ptrdiff_t racing() const {
    return std::count_if(entrants_.begin(), entrants_.end(), [](const auto& e) { return !e.out; });
  }

  // Of each turn in a round: what is left is shared by the rounds to come.
  int iterations_of(int round) const {
    if (round == 0) return probes;
    double all_once = 0;
    for (const Entrant& entrant : entrants_) all_once += entrant.out ? 0 : entrant.time_ns;
    const double fitting = left_ns_ / (rounds - round + 1) / all_once;
    const int most = sampling_.iterations > 0 ? sampling_.iterations : longest_turn;
    return static_cast<int>(std::clamp<double>(fitting, 1, std::min(most, longest_turn)));
  }

  void take_turn(Entrant& entrant, int iterations) {
    Case turn = which_;
    turn.algorithm = entrant.algorithm;
    Sampling sampling = sampling_;
    sampling.iterations = iterations;
    sampling.warmup = std::max(1, iterations / 8);  // each turn begins with new buffers
    sampling.check = sampling.back_to_back = false;
    Measurement measured;
    try {
      measured = team_.measure(turn, sampling);
    } catch (const Unavailable&) {
      if (&entrant == &entrants_.front()) throw;
      entrant.out = true;
      return;
    }
    // Probes are cold, so that longer turns replace them.
    if (iterations > probes && entrant.latency_ns.size() == probes) entrant.latency_ns.clear();
    entrant.latency_ns.insert(entrant.latency_ns.end(), measured.latency_ns.begin(),
                              measured.latency_ns.end());
    entrant.time_ns = trimean(entrant.latency_ns);
    left_ns_ -= entrant.time_ns * (iterations + sampling.warmup);
  }

  // Whether the probes of those that come next fit, if they take as long as the first.
  bool affordable() const {
    const double each = entrants_.front().time_ns * (probes + 1);
    const auto waiting = std::count_if(entrants_.begin(), entrants_.end(), [](const Entrant& e) {
      return e.latency_ns.empty() && !e.out;
    });
    return left_ns_ > each * static_cast<double>(waiting);
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

  void drop_behind(double factor) {
    const double least = fastest().time_ns;
    for (Entrant& entrant : entrants_) entrant.out |= entrant.time_ns > least * factor;
  }

  static std::string words(const Entrant& entrant) {
    return fmt::format("{} {}", entrant.algorithm, to_string(Seconds{entrant.time_ns * 1e-9}));
  }

  std::string too_slow() const {
    return fmt::format("{}; with {} it is too slow to try what is close", choice_.reason,
                       to_string(Seconds{entrants_.front().time_ns * 1e-9}));
  }

  Choice verdict() const {
    const Entrant& first = entrants_.front();
    const Entrant& best = fastest();
    const bool stays = first.time_ns <= best.time_ns * (1 + worth_leaving);
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

  const Case& which_;
  const Choice& choice_;
  const Sampling& sampling_;
  Team& team_;
  double left_ns_;  // of timed iterations
  std::vector<Entrant> entrants_;
};

}  // namespace

Choice try_out(const Case& which, const Choice& choice, const Sampling& sampling, Team& team,
               const std::function<bool()>& stopped) {
  const bool wanted = sampling.trial > Seconds{0} && which.inject.empty();
  if (!wanted || choice.rivals.empty()) return choice;
  return Trial(which, choice, sampling, team).run(stopped);
}

}  // namespace collbench
