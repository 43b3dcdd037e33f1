#include "heuristics/policies/policy.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/registry.h"
#include "algorithms/synthesised.h"
#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

constexpr std::array<Policy, 9> table{{
    {"auto", "measured where there are measurements, otherwise the model, otherwise a short rule",
     "collbench", ask_auto, true},
    {"model", "the fastest by the cost model of heuristics/predict.h on a machine", "collbench",
     ask_model, true},
    {"measured", "the fastest of those measured, interpolated between sizes", "collbench",
     ask_measured, true},
    {"oracle", "the fastest of those measured at exactly this point", "collbench", ask_oracle,
     true},
    {"nccl", "NCCL's tuner: ring, double tree or NVLS with a protocol, by its cost model",
     "NVIDIA NCCL 2.28.9, src/graph/tuning.cc and src/enqueue.cc", ask_nccl},
    {"ompi", "Open MPI's fixed rules of coll/tuned",
     "Open MPI 4.1, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c", ask_ompi},
    {"tf2", "TensorFlow 2's CommunicationImplementation.AUTO, which is RING",
     "TensorFlow 2.20, core/common_runtime/collective_param_resolver_local.cc:686-705", ask_tf2},
    {"tf2-mirrored", "TensorFlow 2's MirroredStrategy: NCCL on GPUs, RING on CPUs, else one device",
     "TensorFlow 2.20, python/distribute/mirrored_strategy.py:373-406", ask_tf2_mirrored},
    {"tf1-dgx1", "TensorFlow 1.8 to 1.13: hierarchical copy on a DGX-1, NCCL elsewhere",
     "TensorFlow 1.13, python/distribute/cross_device_ops.py", ask_tf1_dgx1},
}};

// The names of one algorithm, those of the registry first, then of libraries and measured tables.
struct Names {
  std::string_view ours;
  std::array<std::string_view, 6> others;
};
constexpr std::array<Names, 9> names_table{{
    {"ring", {"nccl:ring", "allreduce_nccl_ring", "ring_ompi", "default-ring", "tf-ring"}},
    {"segmented-ring", {"ring_segmented_ompi", "default-segmented_ring"}},
    {"double-tree", {"nccl:tree", "allreduce_nccl_tree"}},
    {"nvls", {"nccl:nvls", "allreduce_nccl_nvls"}},
    {"nvls-tree", {"nccl:nvlstree", "allreduce_nccl_nvlstree"}},
    {"recursive-doubling", {"recursive_doubling_ompi", "default-recursive_doubling"}},
    {"halving-doubling", {"rabenseifner", "rabenseifner_ompi", "rabenseifner_mpich"}},
    {"bine", {"bine_bdw_remap_over", "bine_bdw_static_over", "bine_bdw_remap_segmented_over"}},
    {"nonoverlapping", {"nonoverlapping_ompi", "default-nonoverlapping"}},
}};

bool contains(std::span<const std::string> list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// What runs beside our schedules, choosing for itself or by switches that add.
constexpr std::array<std::string_view, 6> black_boxes{"nccl", "mpi",       "gloo",
                                                      "nvls", "nvls-tree", "all-pairs"};

/// "recursive-doubling" for "recursive_doubling_mpich" and "default-recursive_doubling".
std::string plain_name(std::string_view measured) {
  if (measured.starts_with("default-")) measured.remove_prefix(8);
  for (const std::string_view whose : {"_ompi", "_mpich", "_over"}) {
    if (measured.ends_with(whose)) measured.remove_suffix(whose.size());
  }
  std::string plain(measured);
  std::ranges::replace(plain, '_', '-');
  return plain;
}

/// Whether a measured name is another one for one of ours. NCCL's kernels are not what libraries
/// play that send messages, though some are called alike.
bool is_name_for(std::string_view measured, std::string_view ours) {
  if (measured.find("nccl") != measured.npos) return false;
  const std::string plain = plain_name(measured);
  if (plain == ours) return true;
  const auto names = std::ranges::find(names_table, ours, &Names::ours);
  return names != names_table.end() && (std::ranges::count(names->others, measured) > 0 ||
                                        std::ranges::count(names->others, plain) > 0);
}

bool is_ours(std::string_view name) {
  return std::any_of(algorithms().begin(), algorithms().end(),
                     [&](const AlgorithmInfo& info) { return info.name == name; });
}

bool is_implemented(std::string_view name) {
  return is_ours(name.substr(0, name.find(':'))) ||
         std::find(black_boxes.begin(), black_boxes.end(), name) != black_boxes.end();
}

/// Of a time: what is no further behind is as fast, and rounding no reason to prefer the other.
constexpr double as_fast = 1e-6;

/// Fastest first, then those without a time, then the refused ones. Those as fast as the fastest
/// stay as they were.
void sort_candidates(std::vector<Candidate>& candidates) {
  const auto rank = [](const Candidate& c) { return !c.refused.empty() ? 2 : c.time ? 0 : 1; };
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& c : candidates) {
    if (rank(c) == 0) least = std::min(least, c.time->count());
  }
  const auto time = [&](const Candidate& c) {
    return c.time ? std::max(c.time->count(), least * (1 + as_fast)) : 0;
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) {
                     return std::pair{rank(a), time(a)} < std::pair{rank(b), time(b)};
                   });
}

/// How far ahead the first of these, as sorted, is, and of which: "ring with 2 us is as fast as
/// swing, and 50 % ahead of tree with 3 us".
std::string lead_of(const std::vector<Candidate>& candidates) {
  const Candidate& best = candidates.front();
  std::vector<std::string> leads;
  std::vector<std::string> equals;
  for (const Candidate& other : std::span(candidates).subspan(1)) {
    if (!other.refused.empty() || !other.time) break;
    const double lead = other.time->count() / best.time->count() - 1;
    if (lead > as_fast) {
      leads.push_back(fmt::format("{:.3g} % ahead of {} with {}", 100 * lead, name_of(other),
                                  to_string(*other.time)));
      break;
    }
    equals.push_back(name_of(other));
  }
  if (!equals.empty()) {
    leads.insert(leads.begin(), fmt::format("as fast as {}", fmt::join(equals, " and ")));
  }
  if (leads.empty()) return fmt::format("{} is the only candidate", name_of(best));
  return fmt::format("{} with {} is {}", name_of(best), to_string(*best.time),
                     fmt::join(leads, ", and "));
}

/// "nothing is known of 'foo'" for each name that is available, but no algorithm of ours or of a
/// library, nor one that was measured and is a candidate therefore.
std::vector<std::string> unknown_names(const Question& question,
                                       const std::vector<Candidate>& candidates) {
  std::vector<std::string> unknown;
  for (const std::string& name : question.available) {
    const std::string base = name.substr(0, name.find(':'));
    const bool is_in_table = std::ranges::any_of(names_table, [&](const Names& names) {
      return names.ours == name || std::ranges::find(names.others, name) != names.others.end();
    });
    const bool is_candidate = std::ranges::any_of(
        candidates, [&](const Candidate& each) { return each.algorithm == name; });
    if (is_in_table || is_candidate || is_implemented(name) || base == synthesised_row().name) {
      continue;
    }
    unknown.push_back(fmt::format("nothing is known of '{}'", name));
  }
  return unknown;
}

}  // namespace

std::string name_of(const Candidate& candidate) {
  const std::string name = full_name(candidate.algorithm, candidate.protocol);
  return candidate.library.empty() ? name : candidate.library + " " + name;
}

void Answer::take(const Candidate& candidate) {
  library = candidate.library;
  algorithm = candidate.algorithm;
  protocol = candidate.protocol;
}

std::string fullest_system(const std::map<std::string, std::size_t>& points, std::string_view of,
                           std::vector<std::string>& warnings) {
  const auto most = std::ranges::max_element(
      points, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (points.size() > 1) {
    warnings.push_back(fmt::format("{} {} systems; this is '{}', which has the most points", of,
                                   points.size(), most->first));
  }
  return most->first;
}

std::span<const Policy> policies() { return table; }

const Policy& find_policy(std::string_view name) { return find_row("policy", name, table); }

Answer ask(const Policy& policy, const Question& question) {
  const auto [workers, nodes] = std::pair{question.workers, question.nodes};
  require(workers >= 1, fmt::format("workers must be at least 1, not {}", workers));
  require(nodes >= 1 && workers % nodes == 0,
          fmt::format("{} workers cannot be spread evenly over {} nodes", workers, nodes));
  require(question.bytes.count >= 0,
          fmt::format("a vector cannot have {} bytes", question.bytes.count));
  require(policy.any_collective || question.collective == CollectiveKind::all_reduce,
          fmt::format("{} is a rule for all-reduces and says nothing of a {}", policy.name,
                      to_string(question.collective)));
  if (workers == 1) {
    return {"none", "", "one worker has the sum already", {}, {}};
  }
  try {
    Answer answer = policy.ask(question);
    for (const std::string& name : unknown_names(question, answer.candidates)) {
      answer.warnings.push_back(name + ", which is named as available");
    }
    return answer;
  } catch (const InvalidArgument& error) {
    const std::vector<std::string> unknown = unknown_names(question, {});
    if (unknown.size() < question.available.size() || unknown.empty()) throw;
    throw InvalidArgument(fmt::format("{}; {}", error.what(), fmt::join(unknown, "; ")));
  }
}

std::optional<std::string> known_as(std::string_view algorithm,
                                    std::span<const std::string> available) {
  if (available.empty() || contains(available, algorithm)) return std::string(algorithm);
  for (const Names& names : names_table) {
    if (names.ours != algorithm) continue;
    for (const std::string_view other : names.others) {
      if (!other.empty() && contains(available, other)) return std::string(other);
    }
  }
  return {};
}

std::map<std::string, std::string> listed_names(const NameCounts& measured,
                                                std::span<const std::string> available) {
  std::map<std::string, std::string> listed;
  for (const std::string& name : available) {
    if (measured.count(name) > 0) listed.emplace(name, name);
  }
  for (const std::string& name : available) {
    if (measured.count(name) > 0) continue;
    auto most = measured.end();
    for (auto each = measured.begin(); each != measured.end(); ++each) {
      if (!is_name_for(each->first, name)) continue;
      if (most == measured.end() || each->second > most->second) most = each;
    }
    if (most != measured.end()) listed.try_emplace(most->first, name);
  }
  return listed;
}

std::set<std::string> libraries_listed(const std::map<std::string, NameCounts>& measured,
                                       std::span<const std::string> available,
                                       std::vector<std::string>& warnings) {
  std::map<std::pair<std::ptrdiff_t, std::size_t>, std::set<std::string>> by_names;
  for (const auto& [library, names] : measured) {
    const std::map<std::string, std::string> listed = listed_names(names, available);
    const auto there = std::ranges::count_if(
        listed, [&, &own = names](const auto& each) { return own.at(each.first).first > 0; });
    by_names[{there, listed.size()}].insert(library);
  }
  if (by_names.empty()) return {};
  const auto& [most, libraries] = *by_names.rbegin();
  for (const auto& [counts, fewer] : by_names) {
    if (counts == most || counts.second == 0) continue;
    warnings.push_back(fmt::format("left out: {}, of which fewer names are available than of {}",
                                   fmt::join(fewer, ", "), fmt::join(libraries, ", ")));
  }
  return libraries;
}

std::string refusal(const Question& question, std::string_view algorithm, bool was_measured) {
  if (!known_as(algorithm, question.available)) return "not available";
  // A library's own kernel, under whatever name, is taken for consistent.
  const std::string_view name = algorithm.substr(0, algorithm.find(':'));
  const bool ours = is_ours(name);
  if (ours && !was_measured && !find_algorithm(name).implements(question.collective)) {
    return fmt::format("has no {}", to_string(question.collective));
  }
  if (ours && !question.replicas_may_differ &&
      !is_replica_consistent(parse_algorithm_spec(algorithm))) {
    return "replicas would differ in rounding";
  }
  return {};
}

Answer take_first(const Question& question, std::span<const std::string_view> wanted,
                  std::string reason) {
  Answer answer;
  answer.reason = std::move(reason);
  for (const std::string_view name : wanted) {
    std::string refused = refusal(question, name);
    if (question.available.empty() && !is_implemented(name)) refused = "not implemented here";
    const std::string known = known_as(name, question.available).value_or(std::string(name));
    answer.candidates.push_back({known, "", {}, "", refused});
    if (!refused.empty()) continue;
    answer.algorithm = known;
    if (name != wanted.front()) {
      answer.warnings.push_back(
          fmt::format("the rule chooses {}, which is refused ({}); {} is taken", wanted.front(),
                      answer.candidates.front().refused, known));
    }
    sort_candidates(answer.candidates);
    return answer;
  }
  throw InvalidArgument(fmt::format("none of {} may be taken; available are {}",
                                    fmt::join(wanted, ", "), fmt::join(question.available, ", ")));
}

void warn_of_counts(const Question& question, Answer& answer) {
  if (!question.counts.empty()) answer.warnings.emplace_back("the choice is that of equal shares");
}

Answer take_fastest(std::vector<Candidate> candidates) {
  sort_candidates(candidates);
  require(!candidates.empty() && candidates.front().refused.empty(),
          candidates.empty()
              ? "there are no candidates"
              : fmt::format("no candidate may be taken; {}: {}", name_of(candidates.front()),
                            candidates.front().refused));
  Answer answer;
  answer.take(candidates.front());
  answer.reason = lead_of(candidates);
  answer.candidates = std::move(candidates);
  return answer;
}

}  // namespace collbench
