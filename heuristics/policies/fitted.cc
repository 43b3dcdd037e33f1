// The choice on a fitted machine: among the methods that were measured there, by the calibration of
// its file, and among names that it can price by their schedules.
#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/plain_text.h"
#include "heuristics/calibration/fitted_choice.h"
#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

/// What may be chosen, and what each is called in `available`.
struct AskedMethods {
  std::vector<MethodKey> methods;
  std::map<MethodKey, std::string> names;
  std::vector<Candidate> refused;

  void add(const MethodKey& method, const std::string& name) {
    if (names.emplace(method, name).second) methods.push_back(method);
  }
};

/// Points with as many ranks and nodes as are asked for.
std::size_t points_there(const Question& question, const MeasuredMethod& measured) {
  return static_cast<std::size_t>(std::ranges::count_if(measured.points, [&](const auto& row) {
    return row.scale.ranks == question.workers && row.scale.nodes == question.nodes;
  }));
}

/// The system that has the most points, measured at the scale asked for if any was; a warning names
/// it if there are several.
std::string system_asked(const Question& question, std::vector<std::string>& warnings) {
  std::map<std::string, std::size_t> points;
  std::map<std::string, std::size_t> there;
  for (const MeasuredMethod& each : question.fitted->measured()) {
    points[each.method.system] += each.points.size();
    const std::size_t count = points_there(question, each);
    if (count > 0) there[each.method.system] += count;
  }
  if (there.size() == 1 && points.size() > 1) {
    warnings.push_back(
        fmt::format("the machine was fitted to {} systems; this is '{}', the only one measured on "
                    "as many ranks and nodes",
                    points.size(), there.begin()->first));
  }
  return there.empty()
             ? fullest_system(points, "the machine was fitted to", warnings)
             : fullest_system(there, "as many ranks and nodes were measured on", warnings);
}

/// Those of one system, of the type and operator asked for where there are any.
std::vector<MeasuredMethod> measured_of_work(const Question& question, Answer& answer) {
  const std::span<const MeasuredMethod> measured = question.fitted->measured();
  const std::string system = system_asked(question, answer.warnings);
  const auto same_work = [&](const MethodKey& method) {
    return method.type == question.type && method.op == question.op;
  };
  const bool exact = std::any_of(measured.begin(), measured.end(), [&](const auto& each) {
    return each.method.system == system && same_work(each.method);
  });
  std::vector<MeasuredMethod> found;
  for (const MeasuredMethod& each : measured) {
    if (each.method.system == system && (!exact || same_work(each.method))) found.push_back(each);
  }
  if (!exact) {
    answer.warnings.push_back(fmt::format("fitted to another type or operator than {} {}",
                                          to_string(question.type), to_string(question.op)));
  }
  return found;
}

/// What a name that was not measured is taken to be of: of the libraries' methods measured with as
/// many ranks and nodes, else of all, that with the most points.
MethodKey method_like_asked(const Question& question, const std::vector<MeasuredMethod>& measured,
                            const std::set<std::string>& libraries) {
  const auto nearness = [&](const MeasuredMethod& each) {
    return std::tuple(libraries.count(each.method.library), points_there(question, each) > 0,
                      each.points.size());
  };
  return std::ranges::max_element(measured, {}, nearness)->method;
}

/// By library, the names of the collective asked for.
std::map<std::string, NameCounts> names_measured(const Question& question,
                                                 const std::vector<MeasuredMethod>& measured) {
  std::map<std::string, NameCounts> names;
  for (const MeasuredMethod& each : measured) {
    if (each.method.collective != question.collective) continue;
    auto& [there, all] = names[each.method.library][each.method.algorithm];
    there += points_there(question, each);
    all += each.points.size();
  }
  return names;
}

/// What a measured method goes by: of a library that is available by its name, its own choice.
std::string name_asked(const Question& question, const MethodKey& method, const MethodKey& nearest,
                       const std::map<std::string, std::string>& listed) {
  const auto own = listed.find(method.algorithm);
  if (own != listed.end() && method.library == nearest.library) return own->second;
  const bool is_library = is_library_default(method.algorithm) &&
                          std::ranges::count(question.available, method.library) > 0;
  return is_library ? method.library : method.algorithm;
}

/// Those of the names asked for, measured or priced by their schedules; of a method measured in
/// place and out of place, the latter. Only of the nearest library names stand for others, so that
/// a table of rules is of one.
AskedMethods methods_asked(const Question& question, Answer& answer) {
  const std::vector<MeasuredMethod> measured = measured_of_work(question, answer);
  std::map<std::string, NameCounts> names = names_measured(question, measured);
  const std::set<std::string> libraries =
      libraries_listed(names, question.available, answer.warnings);
  const MethodKey nearest = method_like_asked(question, measured, libraries);
  const std::map<std::string, std::string> listed =
      listed_names(names[nearest.library], question.available);
  AskedMethods asked;
  std::set<std::tuple<std::string, std::string, std::string>> taken;
  NameCounts known;
  for (const MeasuredMethod& each : measured) {
    const MethodKey& method = each.method;
    if (method.collective != question.collective || libraries.count(method.library) == 0) continue;
    const std::string name = name_asked(question, method, nearest, listed);
    if (!refusal(question, name, true).empty()) continue;
    ++known[name].first;
    if (!taken.insert({method.library, method.algorithm, method.protocol}).second) continue;
    asked.add(method, name);
  }
  for (const std::string& name : question.available) {
    if (known.count(name) > 0) continue;
    std::string why = refusal(question, name);
    const auto same = listed_names(known, std::span(&name, 1));
    if (why.empty() && !same.empty()) why = "measured as " + same.begin()->first;
    if (!why.empty()) {
      asked.refused.push_back({name, "", {}, "", std::move(why)});
      continue;
    }
    MethodKey other = nearest;
    other.collective = question.collective;
    other.algorithm = name;
    other.protocol.clear();
    asked.add(other, name);
  }
  return asked;
}

std::string interval_text(const FittedCandidate& candidate) {
  return fmt::format("80 % within {} to {}; {}{}", to_string(candidate.estimate.low),
                     to_string(candidate.estimate.high), candidate.method.library,
                     candidate.is_measured ? "" : ", by its schedule, not measured");
}

/// In the order of `ranked`, and behind them the methods that it lacks.
std::vector<Candidate> candidates_of(const std::vector<FittedCandidate>& ranked,
                                     const AskedMethods& asked) {
  const std::vector<MethodKey>& methods = asked.methods;
  const bool several = std::ranges::any_of(
      methods, [&](const MethodKey& method) { return method.library != methods.front().library; });
  const auto candidate = [&](const MethodKey& method) {
    const std::string& name = asked.names.at(method);
    const bool says_whose = several && name != method.library;
    return Candidate{name, method.protocol, {}, "", "", says_whose ? method.library : ""};
  };
  std::vector<Candidate> candidates;
  for (const FittedCandidate& each : ranked) {
    candidates.push_back(candidate(each.method));
    candidates.back().time = each.estimate.time;
    candidates.back().terms = interval_text(each);
  }
  for (const MethodKey& method : methods) {
    if (std::ranges::find(ranked, method, &FittedCandidate::method) != ranked.end()) continue;
    candidates.push_back(candidate(method));
    candidates.back().refused = "not priced by the fit at this scale";
  }
  candidates.insert(candidates.end(), asked.refused.begin(), asked.refused.end());
  return candidates;
}

void explain_ties(const std::vector<FittedCandidate>& ranked,
                  const std::vector<Candidate>& candidates, Answer& answer) {
  std::vector<std::string> tied;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (ranked[i].is_tied) tied.push_back(name_of(candidates[i]));
  }
  if (tied.size() < 2) return;
  answer.reason += fmt::format("; within {:.0f} %, which is noise: {}", 100 * tie,
                               fmt::join(tied.begin() + 1, tied.end(), ", "));
}

/// Of the host that is asked about; a warning names the one that is taken of several. 0: no host.
int cores_of_host(const Question& question, const std::string& system, Answer& answer) {
  const int cores = question.fitted->cores_of(system);
  if (cores == 0 || question.cores > 0) return cores == 0 ? 0 : question.cores;
  std::set<int> kinds;
  for (const StructuralModel& structure : question.fitted->structures()) {
    if (structure.system() == system && structure.cores() > 0) kinds.insert(structure.cores());
  }
  if (kinds.size() > 1) {
    answer.warnings.push_back(
        fmt::format("fitted to hosts of {} cores; this is one of {}, which have the most points",
                    fmt::join(kinds, " and "), cores));
  }
  return cores;
}

/// Why the calibration has no method for a question.
std::string why_none(const Question& question, const Scale& scale) {
  const auto have = [&](const auto& is_asked) {
    return std::ranges::any_of(question.fitted->points(), is_asked);
  };
  if (!have([&](const auto& row) { return row.collective == question.collective; })) {
    return fmt::format("no {} was measured", to_string(question.collective));
  }
  const int each = scale.ranks_per_node();
  if (!have([&](const auto& row) { return row.scale.ranks_per_node() == each; })) {
    return fmt::format("{} per node were not measured", counted(each, "rank"));
  }
  if (question.available.empty()) {
    return fmt::format("the fit has no method for {}", to_string(scale));
  }
  return fmt::format("the fit cannot price {}", fmt::join(question.available, ", "));
}

}  // namespace

std::optional<Answer> ask_fitted(const Question& question, std::string& why_not) {
  if (question.fitted == nullptr) return {};
  if (!question.counts.empty()) {
    why_not = "unequal shares were not measured";
    return {};
  }
  Scale scale{question.workers, question.nodes, question.shape};
  Answer noted;
  const AskedMethods asked = methods_asked(question, noted);
  if (scale.nodes == 1 && !asked.methods.empty()) {
    scale.cores = cores_of_host(question, asked.methods.front().system, noted);
  }
  const auto ranked = rank_methods(*question.fitted, asked.methods, scale, question.bytes,
                                   ReductionAsked{question.type, question.op});
  if (ranked.empty()) {
    noted.warnings.insert(noted.warnings.begin(), why_none(question, scale));
    why_not = fmt::format("{}", fmt::join(noted.warnings, "; "));
    return {};
  }
  const std::vector<Candidate> candidates = candidates_of(ranked, asked);
  const FittedCandidate& best = ranked.front();
  Answer answer = take_fastest(candidates);
  answer.warnings = std::move(noted.warnings);
  answer.take(candidates.front());
  answer.reason = fmt::format("{} with {} (80 % within {} to {}) by the fit to {}",
                              name_of(candidates.front()), to_string(best.estimate.time),
                              to_string(best.estimate.low), to_string(best.estimate.high),
                              best.method.system.empty() ? "measurements" : best.method.system);
  if (best.is_kept) {
    answer.reason += fmt::format("; kept as the fastest that was measured: {} is not surely faster",
                                 name_of(candidates[1]));
  } else if (best.is_default) {
    answer.reason += fmt::format(
        "; the library's own choice, which {} does not beat by enough at a size that was not "
        "measured",
        name_of(candidates[1]));
  } else {
    explain_ties(ranked, candidates, answer);
  }
  if (!best.is_measured) {
    answer.warnings.push_back(
        fmt::format("{} was not measured; its time is by its schedule", name_of(candidates[0])));
  }
  if (!best.estimate.extrapolates.empty()) {
    answer.warnings.push_back("extrapolates: " + best.estimate.extrapolates);
  }
  return answer;
}

}  // namespace collbench
