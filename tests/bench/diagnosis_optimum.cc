// How often the cause of a drawn fault could be named at best: Bayes' rule with the generator's own
// draws (diagnosis_tables.h) as the hypotheses, each as likely as the generator makes it.
//
//   collbench_diagnosis_optimum LIST FAULTS SEED [DRAWS]
//
// Two bounds. "system known": what the healthy table of that very system took is known, so that the
// only error is the noise put in. "system unknown": the healthy times are the model's, and differ
// from the system's by errors as diagnose() expects them.
#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>

#include <fmt/format.h>

#include "tests/bench/diagnosis_tables.h"

#include "core/error.h"

namespace collbench {
namespace {

double log_sum(const std::vector<double>& logs) {
  if (logs.empty()) return -1e300;
  const double largest = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double each : logs) sum += std::exp(each - largest);
  return largest + std::log(sum);
}

/// Of `seen` around `foretold`, for the noise that the generator puts on rows.
double noise_density(const std::vector<double>& seen, const std::vector<double>& foretold) {
  constexpr std::array<double, 4> deviations{0.008, 0.016, 0.028, 0.042};
  double squares = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) squares += std::pow(seen[i] - foretold[i], 2);
  std::vector<double> logs;
  for (const double deviation : deviations) {
    logs.push_back(-0.5 * squares / (deviation * deviation) -
                   static_cast<double>(seen.size()) * std::log(deviation));
  }
  return log_sum(logs);
}

/// What the generator can do to one table.
struct Hypotheses {
  const KnownTable* table = nullptr;
  std::map<std::string, std::vector<std::vector<double>>> effects;
};

struct Optimum {
  int all = 0;
  int known_system = 0;
  std::map<std::string, int> said;
};

/// The cause whose draws, weighed by how often the generator gives them to this table, fit best.
std::string likeliest(const Hypotheses& hypotheses, const std::map<std::string, double>& accepted,
                      const std::vector<double>& seen, int draws) {
  std::string best;
  double highest = -1e300;
  for (const auto& [cause, effects] : hypotheses.effects) {
    if (effects.empty()) continue;
    std::vector<double> logs;
    for (const std::vector<double>& effect : effects) logs.push_back(noise_density(seen, effect));
    const double log = log_sum(logs) - std::log(draws * accepted.at(cause));
    if (log <= highest) continue;
    highest = log;
    best = cause;
  }
  return best;
}

int optimum(const std::vector<std::string>& words) {
  if (words.size() < 3) {
    std::cerr << "usage: collbench_diagnosis_optimum LIST FAULTS SEED [DRAWS]\n";
    return 2;
  }
  const int draws = words.size() > 3 ? std::stoi(words[3]) : 300;
  std::vector<KnownTable> healthy;
  for (KnownTable& known : read_known_tables(words[0])) {
    if (known.healthy) healthy.push_back(std::move(known));
  }
  RandomEngine of_hypotheses = random_engine(std::stoull(words[2]), "hypotheses");
  std::map<std::string, Hypotheses> by_table;
  std::map<std::string, double> accepted;  // tables' shares of draws that show, summed
  for (const KnownTable& known : healthy) {
    Hypotheses& one = by_table[known.name];
    one.table = &known;
    for (const std::string& cause : injected_causes()) {
      one.effects[cause] = drawn_effects(cause, known, draws, of_hypotheses);
      accepted[cause] += static_cast<double>(one.effects[cause].size()) / draws;
    }
  }
  RandomEngine random = random_engine(std::stoull(words[2]), "faults");
  const std::vector<std::string>& names = injected_causes();
  std::map<std::string, Optimum> tallies;
  while (tallies["all"].all < std::stoi(words[1])) {
    const auto at = static_cast<std::size_t>(uniform(random) * static_cast<double>(names.size()));
    const std::optional<TableFault> fault = inject(names[at], healthy, random);
    if (!fault) continue;
    const Hypotheses& hypotheses = by_table.at(fault->table.name);
    std::vector<double> seen;
    for (std::size_t i = 0; i < fault->table.table.times.size(); ++i) {
      seen.push_back(
          std::log(fault->table.table.times[i].time / hypotheses.table->table.times[i].time));
    }
    const std::string best = likeliest(hypotheses, accepted, seen, draws);
    for (Optimum* tally : {&tallies["all"], &tallies[fault->cause]}) {
      ++tally->all;
      tally->known_system += best == fault->cause ? 1 : 0;
      ++tally->said[best];
    }
  }
  for (const auto& [name, tally] : tallies) {
    std::cout << fmt::format("| {} | {} | {:.0f} % |", name, tally.all,
                             100.0 * tally.known_system / tally.all);
    for (const auto& [other, count] : tally.said) {
      if (name != "all") std::cout << ' ' << other << ' ' << count;
    }
    std::cout << " |\n";
  }
  return 0;
}

}  // namespace
}  // namespace collbench

int main(int argc, char** argv) {
  try {
    return collbench::optimum({argv + 1, argv + argc});
  } catch (const collbench::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
