// How often diagnoses are wrong: the figures of results/studies/diagnosis.
//
//   collbench_diagnosis_experiment LIST FAULTS SEED [fit] [plain] [known]
//
// LIST names tables of known health (diagnosis_tables.h). Healthy ones are judged as they are, and
// FAULTS tables are made of them with one fault each. With `fit`, the distribution of the model's
// errors is fitted to the healthy tables of all other systems before a table is judged, and
// printed; else the one that is shipped is used. With `plain`, faults are those of plain_faults.h,
// made without a model. With `known`, tables with a fault are judged by another run of the healthy
// table of their system, whose times differ by 3 %.
#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/bench/diagnosis_tables.h"
#include "tests/bench/plain_faults.h"

#include "core/error.h"
#include "heuristics/diagnosis/table_cases.h"
#include "heuristics/diagnosis/weighing.h"

namespace collbench {
namespace {

using Curve = std::vector<Deviation>;

Curve healthy_curve(const KnownTable& known) {
  const DiagnosisCase given = case_of(known);
  const Diagnosis found = diagnose(given);
  // Of the healthy suspicions, the nearest: on two nodes rings may have been asked for.
  Curve best;
  double least = 0;
  for (const Suspicion& suspicion : given.suspicions) {
    if (suspicion.cause != nullptr) continue;
    Curve curve;
    double sum = 0;
    for (std::size_t i = 0; i < found.sizes.size(); ++i) {
      const Seconds time = suspicion.times[i];
      const double ratio = std::log(found.sizes[i].measured / time);
      curve.push_back({std::log2(static_cast<double>(found.sizes[i].bytes.count)),
                       std::min(1.0, suspicion.latency / time), ratio});
      sum += std::abs(ratio);
    }
    if (best.empty() || sum < least) {
      best = curve;
      least = sum;
    }
  }
  return best;
}

/// Not the noise: a table shows one run, and others of that system would lie elsewhere. Nor the
/// reach, which like the trust says how much a form that is known roughly is believed.
constexpr std::array<double ModelError::*, 7> fitted{
    &ModelError::latency,     &ModelError::latency_wide, &ModelError::rate,
    &ModelError::rate_wide,   &ModelError::wide_share,   &ModelError::local_ends,
    &ModelError::local_middle};

/// Sum over systems of the mean over their tables, with a weak prior that keeps each parameter
/// within about a factor two of where it starts.
double score(const ModelError& error, const std::map<std::string, std::vector<Curve>>& systems) {
  const ModelError start;
  double sum = 0;
  for (const auto& [system, curves] : systems) {
    double of_system = 0;
    for (const Curve& curve : curves) of_system += log_likelihood(error, curve);
    sum += of_system / static_cast<double>(curves.size());
  }
  for (const auto member : fitted) {
    const double from_start = std::log(error.*member / (start.*member)) / 0.7;
    sum -= 0.5 * from_start * from_start;
  }
  return sum;
}

/// One parameter after the other, by steps that shrink.
ModelError fit_errors(const std::map<std::string, std::vector<Curve>>& systems) {
  ModelError best;
  double highest = score(best, systems);
  for (double step = 1.5; step > 1.04; step = std::sqrt(step)) {
    for (const auto member : fitted) {
      for (const double factor : {step, 1 / step}) {
        ModelError tried = best;
        tried.*member *= factor;
        if (tried.wide_share > 0.5) continue;
        const double reached = score(tried, systems);
        if (reached <= highest) continue;
        highest = reached;
        best = tried;
        break;
      }
    }
  }
  return best;
}

std::string to_text(const ModelError& e) {
  return fmt::format(
      "latency {:.3f} / {:.3f}, rate {:.3f} / {:.3f}, wide share {:.3f}, local {:.3f} to {:.3f}, "
      "reach {:.2f}, noise {:.3f}",
      e.latency, e.latency_wide, e.rate, e.rate_wide, e.wide_share, e.local_ends, e.local_middle,
      e.reach, e.noise);
}

/// The errors to judge a system with.
class Errors {
 public:
  Errors(const std::vector<KnownTable>& tables, bool fit) {
    if (!fit) return;
    std::map<std::string, std::vector<Curve>> all;
    for (const KnownTable& known : tables) {
      if (known.healthy && !known.sample) all[known.system].push_back(healthy_curve(known));
    }
    std::cout << "all systems: " << to_text(fit_errors(all)) << '\n';
    for (const auto& [system, curves] : all) {
      auto others = all;
      others.erase(system);
      of_[system] = fit_errors(others);
      std::cout << "without " << system << ": " << to_text(of_[system]) << '\n';
    }
  }
  ModelError of(const std::string& system) const {
    const auto found = of_.find(system);
    return found == of_.end() ? ModelError{} : found->second;
  }

 private:
  std::map<std::string, ModelError> of_;
};

std::string first_cause(const Diagnosis& found) {
  return found.causes.empty() ? "-" : found.causes.front().cause->name;
}

void judge_real(const std::vector<KnownTable>& tables, const Errors& errors) {
  int healthy = 0, false_alarms = 0, within = 0, points = 0;
  for (const KnownTable& known : tables) {
    const Diagnosis found = diagnose(case_of(known), errors.of(known.system));
    int inside = 0;
    for (const JudgedSize& size : found.sizes) inside += size.verdict == "as expected" ? 1 : 0;
    std::cout << fmt::format(
        "{:<40} is {:<9} said {:<9} {:.2f} {:<16} busbw {:.2f}, inside {}/{}\n", known.name,
        known.healthy ? "healthy" : "unhealthy", found.healthy ? "healthy" : "unhealthy",
        found.sure, first_cause(found),
        found.busbw.bytes_per_second / found.expected_busbw.bytes_per_second, inside,
        found.sizes.size());
    if (!known.healthy || known.sample) continue;
    ++healthy;
    false_alarms += found.healthy ? 0 : 1;
    within += inside;
    points += static_cast<int>(found.sizes.size());
  }
  std::cout << fmt::format(
      "healthy tables called unhealthy: {} of {}; their points in the 80 % interval: {:.1f} % of "
      "{}\n",
      false_alarms, healthy, 100.0 * within / points, points);
}

MeasuredTable another_run(const KnownTable& of, const std::vector<KnownTable>& healthy,
                          RandomEngine& random) {
  constexpr double noise = 0.03;
  const auto base = std::find_if(healthy.begin(), healthy.end(),
                                 [&](const KnownTable& each) { return each.name == of.name; });
  MeasuredTable table = base->table;
  for (MeasuredTime& row : table.times) {
    // Even between -sqrt(3) and sqrt(3): a deviation of 1.
    row.time = row.time * std::exp(noise * std::sqrt(3.0) * (2 * uniform(random) - 1));
  }
  return table;
}

struct FaultTally {
  int all = 0;
  int unhealthy = 0;
  int first = 0;
  int alike = 0;  // the first leaves the curve of the right cause
  int told = 0;   // named alone
  int among = 0;  // one of a group that cannot be told apart
  int wrong = 0;  // called unhealthy, but neither
  int names = 0;  // in all groups
  std::map<std::string, int> said;

  void add(const std::string& cause, const Diagnosis& found) {
    ++all;
    ++said[found.healthy ? "healthy" : first_cause(found)];
    if (found.healthy) return;
    const std::vector<std::string>& group = found.cause_group;
    const bool right = std::find(group.begin(), group.end(), cause) != group.end();
    ++unhealthy;
    first += group.front() == cause ? 1 : 0;
    alike += curve_of(group.front()) == curve_of(cause) ? 1 : 0;
    told += right && group.size() == 1 ? 1 : 0;
    among += right && group.size() > 1 ? 1 : 0;
    wrong += right ? 0 : 1;
    names += static_cast<int>(group.size());
  }
};

void judge_faults(const std::vector<KnownTable>& tables, const Errors& errors, int faults,
                  std::uint64_t seed, bool plain, bool known_system) {
  std::vector<KnownTable> healthy;
  for (const KnownTable& known : tables) {
    if (known.healthy) healthy.push_back(known);
  }
  std::map<std::string, FaultTally> tallies;
  FaultTally sum;
  RandomEngine random = random_engine(seed, "faults");
  const std::vector<std::string>& names = plain ? plain_causes() : injected_causes();
  while (sum.all < faults) {
    const auto at = static_cast<std::size_t>(uniform(random) * static_cast<double>(names.size()));
    const std::optional<TableFault> fault =
        (plain ? inject_plain : inject)(names[at], healthy, random);
    if (!fault) continue;
    DiagnosisCase given = case_of(fault->table);
    if (known_system) judge_by_healthy(given, another_run(fault->table, healthy, random));
    const Diagnosis found = diagnose(given, errors.of(fault->table.system));
    sum.add(fault->cause, found);
    tallies[fault->cause].add(fault->cause, found);
    if (fault->shown_at <= mild_at) tallies["mild"].add(fault->cause, found);
    std::cout << fmt::format("# {} ({}) of {}: {} {} {:.2f}\n", fault->cause, fault->words,
                             fault->table.name, found.healthy ? "healthy" : "unhealthy",
                             fmt::join(found.cause_group, "|"), found.sure);
  }
  tallies["all"] = sum;
  std::cout
      << "| cause | tables | unhealthy | first | alike | told | among those that fit | wrong | "
         "names | said |\n";
  for (const auto& [name, tally] : tallies) {
    std::string said;
    for (const auto& [other, count] : tally.said) said += fmt::format(" {} {}", other, count);
    std::cout << fmt::format("| {} | {} |", name, tally.all);
    for (const int count :
         {tally.unhealthy, tally.first, tally.alike, tally.told, tally.among, tally.wrong}) {
      std::cout << fmt::format(" {:.1f} % |", 100.0 * count / tally.all);
    }
    std::cout << fmt::format(" {:.1f} |{} |\n", 1.0 * tally.names / std::max(1, tally.unhealthy),
                             name == "all" ? "" : said);
  }
}

int experiment(const std::vector<std::string>& words) {
  if (words.size() < 3) {
    std::cerr << "usage: collbench_diagnosis_experiment LIST FAULTS SEED [fit] [plain] [known]\n";
    return 2;
  }
  const std::vector<KnownTable> tables = read_known_tables(words[0]);
  const auto has = [&](const char* word) {
    return std::find(words.begin() + 3, words.end(), word) != words.end();
  };
  const Errors errors(tables, has("fit"));
  judge_real(tables, errors);
  judge_faults(tables, errors, std::stoi(words[1]), std::stoull(words[2]), has("plain"),
               has("known"));
  return 0;
}

}  // namespace
}  // namespace collbench

int main(int argc, char** argv) {
  try {
    return collbench::experiment({argv + 1, argv + argc});
  } catch (const collbench::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
