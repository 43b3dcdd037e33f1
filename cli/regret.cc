// `collbench regret`: how far policies are from the best that was measured.
#include "heuristics/policies/regret.h"

#include <iostream>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/fit_tables.h"
#include "cli/measured_files.h"
#include "cli/run_options.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr OptionRow regret_rows[] = {
    {arguments_group, "FILE", "", "FILE...", "",
     "tables of several algorithms, or folders of them, as for calibrate", Presence::required},
    {options_group, "policy", "p", "NAMES", "default,oracle,measured,model",
     "comma-separated: default (the library's own choice), oracle, measured, "
     "largest-scale (the best of the largest scale known), model (fitted to the tables), and "
     "those of select"},
    {options_group, "fit", "", "FILE", "", fit_help},
    {options_group, "collective", "", "NAME", "all-reduce", "collective whose rows to judge"},
    {options_group, "held-out", "", "", "",
     "hide the measurements of the size in question from the policy"},
    {options_group, "regions", "", "", "", "show regret by size and number of ranks too"},
    {options_group, "points", "", "", "", "print every point"},
};

void print_summary(const std::string& name, const RegretSummary& summary, std::size_t width) {
  const auto of_points = [&](double share) { return summary.points > 0 ? percent(share) : "-"; };
  std::cout << fmt::format("{:<{}} {:>6} {:>9} {:>9} {:>9} {:>10}\n", name, width, summary.points,
                           of_points(summary.mean), of_points(summary.p95),
                           of_points(summary.worst), summary.unanswered);
}

void print_points(const std::string& policy, const std::vector<RegretPoint>& points) {
  for (const RegretPoint& point : points) {
    const MeasuredTime& best = point.best;
    std::cout << fmt::format("{} | {} {} | {} | {} | best {} {} | ", policy, best.system,
                             best.library, to_string(best.scale), to_string(best.bytes),
                             best.algorithm, to_string(best.time));
    std::cout << (point.chosen.empty()
                      ? "no answer: " + point.why_not
                      : fmt::format("chose {} +{}", point.chosen, percent(point.regret())))
              << '\n';
  }
}

std::string knowledge_line(const RegretKnowledge& knowledge, std::size_t judged) {
  if (knowledge.size_held_out) return "# held out: policies do not know the size asked for";
  if (!knowledge.fitted_to) return "# in sample: policies know the measurements they are judged by";
  return sample_line(std::ssize(*knowledge.fitted_to), 0, judged);
}

int regret(const Settings& settings) {
  const CollectiveKind kind = collective_asked(settings);
  const std::vector<MeasuredTime> rows =
      all_rows(read_measured_files(settings.words("FILE"), kind));
  RegretKnowledge knowledge;
  knowledge.size_held_out = settings.flag("held-out");
  require(!knowledge.size_held_out || !settings.given("fit"),
          "regret: --held-out leaves sizes of FILE out, --fit all of it; give one of them");
  if (settings.given("fit")) knowledge.fitted_to = rows_to_fit(settings.text("fit"), kind, rows);
  std::set<std::string> reasons;
  constexpr std::size_t width = 30;
  bool is_first = true;
  for (const std::string& name : settings.list("policy")) {
    const std::vector<RegretPoint> points = regret_of(name, rows, knowledge);
    require(!points.empty(), "no point was measured with at least two algorithms to compare");
    if (std::exchange(is_first, false)) {
      std::cout << knowledge_line(knowledge, points.size()) << '\n'
                << fmt::format("{:<{}} {:>6} {:>9} {:>9} {:>9} {:>10}\n", "policy", width, "points",
                               "mean", "p95", "worst", "no answer");
    }
    print_summary(name, summarize_regret(points), width);
    if (settings.flag("regions")) {
      for (const auto& [band, ranks, summary] : regret_by_region(points)) {
        print_summary(fmt::format("  {}, {} ranks", band, ranks), summary, width);
      }
    }
    if (settings.flag("points")) print_points(name, points);
    for (const RegretPoint& point : points) {
      if (!point.why_not.empty()) reasons.insert(name + ": " + point.why_not);
    }
  }
  int told = 0;
  for (const std::string& reason : reasons) {
    if (++told <= 5) std::cerr << "no answer: " << reason << '\n';
  }
  return exit_ok;
}

}  // namespace

void add_regret(CLI::App& app, Action& action) {
  add_command(app, "regret", "show how much slower a policy's choice is than the best measured",
              regret_rows, action, regret);
}

}  // namespace collbench
