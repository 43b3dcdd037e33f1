// How often verdicts are wrong: the figures of results/verdicts-*/README.md.
//
//   collbench_verdict_experiment synthetic JOBS        made-up noise
//   collbench_verdict_experiment trace DIR...          rounds kept by `collbench ab --keep DIR`
//   collbench_verdict_experiment sequential JOBS SECONDS [CASE_MS [FIRST_SEED]]   made-up noise,
//   the sequential design; a case takes so long in a process (30 ms)
//   collbench_verdict_experiment redraw JOBS SECONDS DIR [S]   the same over kept rounds, drawn at
//   random; a process of another program (ab --read) takes S seconds whatever is open, and is
//   slower in all its cases, as a library preloaded to it makes it
//
// For every slowdown of head, as a share of cases and of jobs (a job is one comparison, flagged if
// any of its cases is): called slower, called faster, called the same; and what a job cost in
// processes.
#include <array>
#include <filesystem>
#include <iostream>
#include <map>

#include <fmt/format.h>

#include "tests/bench/verdict_runs.h"

#include "bench/records/record_file.h"
#include "core/error.h"

namespace collbench {
namespace {

struct Tally {
  int jobs = 0;
  int jobs_slower = 0;
  int jobs_faster = 0;
  int cases = 0;
  int slower = 0;
  int faster = 0;
  int same = 0;
  double processes = 0;

  void add(const Comparison& comparison, int processes_used) {
    ++jobs;
    processes += processes_used;
    cases += static_cast<int>(comparison.verdicts.size());
    slower += count(comparison, VerdictOutcome::slower);
    faster += count(comparison, VerdictOutcome::faster);
    same += count(comparison, VerdictOutcome::same);
    jobs_slower += count(comparison, VerdictOutcome::slower) > 0 ? 1 : 0;
    jobs_faster += count(comparison, VerdictOutcome::faster) > 0 ? 1 : 0;
  }
  void print(const std::string& what, double slowdown) const {
    const auto share = [](int part, int whole) { return 100.0 * part / whole; };
    std::cout << fmt::format(
        "| {} | {:.0f} % | {} | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % | {:.0f} |\n",
        what, slowdown * 100, jobs, share(slower, cases), share(jobs_slower, jobs),
        share(faster, cases), share(jobs_faster, jobs), share(same, cases), processes / jobs);
  }
};

void print_heading() {
  std::cout
      << "| noise | slowdown | jobs | slower, of cases | of jobs | faster, of cases | of jobs "
         "| same, of cases | processes a job |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n";
}

constexpr double slowdowns[] = {0, 0.1, 0.2, 0.5};

std::map<std::string, Noise> made_up_noises() {
  return {{"1 quiet (sigma 2 %, drift 0.5 %)", {0.02, 0.005, 0.98, 0.02, 0.3}},
          {"2 shared (sigma 8 %, drift 3 %, spikes 10 %)", {0.08, 0.03, 0.98, 0.10, 0.7}},
          {"3 bad (sigma 20 %, drift 8 %, spikes 20 %)", {0.20, 0.08, 0.98, 0.20, 1.0}},
          {"4 sigma 20 % alone", {0.20, 0, 0, 0, 0}}};
}

void synthetic(int jobs) {
  print_heading();
  for (const auto& [name, noise] : made_up_noises()) {
    for (const double slowdown : slowdowns) {
      Tally tally;
      for (int job = 0; job < jobs; ++job) {
        const auto seed = static_cast<std::uint64_t>(job);
        SyntheticRuns runs(noise, 6, slowdown, 6, seed);
        const Comparison comparison = run_ab(plan_over(runs, seed));
        tally.add(comparison, runs.processes());
      }
      tally.print(name.substr(2), slowdown);
    }
  }
}

constexpr double sequential_slowdowns[] = {0, 0.1, 0.2};
constexpr int sequential_cases = 12;

/// One case of twelve is slowed.
void sequential(int jobs, Seconds budget, Seconds case_cost, int first_seed) {
  print_heading();
  std::map<std::string, Noise> noises = made_up_noises();
  for (auto& [name, noise] : noises) {
    noise.case_cost = case_cost;
    for (const double slowdown : sequential_slowdowns) {
      Tally tally;
      for (int job = 0; job < jobs; ++job) {
        const auto seed = static_cast<std::uint64_t>(first_seed + job);
        SyntheticRuns runs(noise, sequential_cases, slowdown, 1, seed);
        const Comparison comparison = run_ab(sequential_over(runs, seed, budget));
        tally.add(comparison, runs.processes());
      }
      tally.print(name.substr(2), slowdown);
    }
  }
}

/// The rounds of one kept job, by arm: one file of records per process.
struct KeptJob {
  std::map<std::string, std::vector<RecordFile>> arms;
};

std::vector<RecordFile> rounds_of(const RecordFile& file) {
  std::vector<RecordFile> rounds;
  std::map<std::string, std::size_t> seen;
  for (const Record& record : file.records) {
    const std::size_t round = seen[to_json(record.point)]++;
    if (rounds.size() <= round) rounds.resize(round + 1);
    rounds[round].records.push_back(record);
  }
  return rounds;
}

void keep_wanted(RecordFile& file, const AbTask& task) {
  if (task.only.empty()) return;
  std::erase_if(file.records, [&](const Record& record) {
    return std::none_of(task.only.begin(), task.only.end(),
                        [&](const Case& one) { return to_json(one) == to_json(record.point); });
  });
}

/// Replays job `first`; fresh rounds are those of the jobs after it, so that every slowdown has
/// some, whatever the machine called suspect at the time.
class KeptRuns {
 public:
  KeptRuns(const std::vector<KeptJob>& jobs, std::size_t first, double slowdown)
      : jobs_(jobs), first_(first), slowdown_(slowdown) {}

  std::optional<RecordFile> measure(const AbTask& task) {
    ++processes_;
    const std::string arm(to_string(task.arm));
    std::string stream = arm;
    if (!task.only.empty()) stream += to_json(task.only.front());
    std::size_t round = places_[stream]++;
    std::size_t job = first_ + (task.confirms ? 1 : 0);
    while (round >= jobs_[job % jobs_.size()].arms.at(arm).size()) {
      round -= jobs_[job % jobs_.size()].arms.at(arm).size();
      ++job;
    }
    RecordFile file = jobs_[job % jobs_.size()].arms.at(arm)[round];
    keep_wanted(file, task);
    if (task.arm != AbArm::head) return file;
    for (Record& record : file.records) {
      for (std::int64_t& sample : record.measurement.latency_ns) {
        sample = std::llround(static_cast<double>(sample) * (1 + slowdown_));
      }
    }
    return file;
  }
  int processes() const { return processes_; }

 private:
  const std::vector<KeptJob>& jobs_;
  std::size_t first_;
  double slowdown_;
  std::map<std::string, std::size_t> places_;
  int processes_ = 0;
};

std::vector<KeptJob> read_jobs(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (std::filesystem::exists(entry.path() / "out")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<KeptJob> jobs;
  for (const std::string& path : paths) {
    KeptJob job;
    for (const char* arm : {"base", "head", "again"}) {
      job.arms[arm] = rounds_of(read_records(path + "/" + arm + ".jsonl"));
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

void trace(const std::string& folder) {
  const std::vector<KeptJob> jobs = read_jobs(folder);
  require(jobs.size() > 4, "a trace needs five jobs at least");
  for (const double slowdown : slowdowns) {
    Tally tally;
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      KeptRuns runs(jobs, job, slowdown);
      AbPlan plan = plan_over(runs, job);
      plan.rounds = static_cast<int>(jobs[job].arms.at("base").size());
      const Comparison comparison = run_ab(plan);
      tally.add(comparison, runs.processes());
    }
    tally.print(std::filesystem::path(folder).filename(), slowdown);
  }
}

/// Rounds of a kept job of one binary against itself, drawn with replacement: a round of two starts
/// of each side is two kept rounds that followed each other, since what the machine did then is in
/// both; base and head of each change sides at random.
class RedrawnRuns {
 public:
  RedrawnRuns(const KeptJob& job, double slowdown, std::uint64_t seed,
              std::optional<Seconds> process)
      : job_(job),
        slowdown_(slowdown),
        random_(random_engine(seed, "redrawn")),
        process_(process) {}

  std::optional<RecordFile> measure(const AbTask& task) {
    if (processes_++ % (2 * starts) == 0) draw();
    const bool head = task.arm == AbArm::head;
    const std::size_t start = places_[head ? 1 : 0]++;
    RecordFile file = job_.arms.at(head != swapped_[start] ? "head" : "base")[first_ + start];
    keep_wanted(file, task);
    const Seconds of_cases = case_cost * static_cast<double>(file.records.size());
    elapsed_ += process_.value_or(start_cost + of_cases);
    const std::string slowed = to_json(job_.arms.at("base")[0].records[0].point);
    for (Record& record : file.records) {
      if (!head || (!process_ && to_json(record.point) != slowed)) continue;
      for (std::int64_t& sample : record.measurement.latency_ns) {
        sample = std::llround(static_cast<double>(sample) * (1 + slowdown_));
      }
    }
    return file;
  }
  int processes() const { return processes_; }
  Seconds elapsed() const { return elapsed_; }

 private:
  static constexpr std::size_t starts = 2;  // AbPlan's
  static constexpr Seconds start_cost{0.03};
  static constexpr Seconds case_cost{0.03};

  void draw() {
    const std::size_t rounds = std::min(job_.arms.at("base").size(), job_.arms.at("head").size());
    first_ = std::uniform_int_distribution<std::size_t>(0, rounds - starts)(random_);
    for (bool& swapped : swapped_) swapped = std::bernoulli_distribution()(random_);
    places_ = {};
  }

  const KeptJob& job_;
  double slowdown_;
  RandomEngine random_;
  std::optional<Seconds> process_;  // what one of another program takes
  std::size_t first_ = 0;           // the first of the two kept rounds
  std::array<bool, starts> swapped_{};
  std::array<std::size_t, 2> places_{};  // of the next start of base and head
  int processes_ = 0;
  Seconds elapsed_{0};
};

void redraw(int jobs, Seconds budget, const std::string& folder, std::optional<Seconds> process) {
  KeptJob kept;
  for (const char* arm : {"base", "head"}) {
    kept.arms[arm] = rounds_of(read_records(folder + "/" + arm + ".jsonl"));
  }
  print_heading();
  for (const double slowdown : sequential_slowdowns) {
    Tally tally;
    for (int job = 0; job < jobs; ++job) {
      const auto seed = static_cast<std::uint64_t>(job);
      RedrawnRuns runs(kept, slowdown, seed, process);
      const Comparison comparison = run_ab(sequential_over(runs, seed, budget));
      tally.add(comparison, runs.processes());
    }
    tally.print(std::filesystem::path(folder).filename(), slowdown);
  }
}

int experiment(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == "synthetic") {
    synthetic(std::stoi(words[1]));
    return 0;
  }
  if (words.size() >= 2 && words[0] == "trace") {
    print_heading();
    for (std::size_t i = 1; i < words.size(); ++i) trace(words[i]);
    return 0;
  }
  if (words.size() >= 3 && words[0] == "sequential") {
    const double case_ms = words.size() > 3 ? std::stod(words[3]) : 30;
    sequential(std::stoi(words[1]), Seconds{std::stod(words[2])}, Seconds{case_ms / 1000},
               words.size() > 4 ? std::stoi(words[4]) : 0);
    return 0;
  }
  if (words.size() >= 4 && words[0] == "redraw") {
    std::optional<Seconds> process;
    if (words.size() > 4) process = Seconds{std::stod(words[4])};
    redraw(std::stoi(words[1]), Seconds{std::stod(words[2])}, words[3], process);
    return 0;
  }
  std::cerr << "usage: collbench_verdict_experiment synthetic JOBS | trace DIR... |\n"
               "       sequential JOBS SECONDS | redraw JOBS SECONDS DIR [S]\n";
  return 2;
}

}  // namespace
}  // namespace collbench

int main(int argc, char** argv) {
  try {
    return collbench::experiment({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
