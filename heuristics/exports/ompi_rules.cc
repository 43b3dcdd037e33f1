#include "heuristics/exports/ompi_rules.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

/// One of its algorithms: its name there, and ours for it, the nearest first.
struct OmpiInfo {
  std::string_view theirs;
  std::array<std::string_view, 4> ours;
};
constexpr std::array<OmpiInfo, 7> infos{
    {{},
     {"linear", {"reduce-broadcast", "default-basic_linear"}},
     {"nonoverlapping", {"nonoverlapping", "tree", "double-tree", "recursive-doubling"}},
     {"recursive doubling", {"recursive-doubling"}},
     {"ring", {"ring"}},
     {"segmented ring", {"segmented-ring", "ring"}},
     {"Rabenseifner", {"halving-doubling"}}}};

constexpr std::int64_t usual_segment = 131072;  // bytes, of its segmented ring

/// "recursive-doubling" for "recursive doubling", "rabenseifner" for "Rabenseifner".
std::string as_option(std::string_view name) {
  std::string word = lower_case(name);
  std::ranges::replace(word, ' ', '-');
  return word;
}

/// Of a name behind "mpi:".
std::optional<OmpiRule> library_rule(std::string_view name) {
  constexpr std::string_view option = ":segment=";
  const std::size_t at = name.find(option);
  std::int64_t segment = usual_segment;
  if (at != name.npos) {
    segment = parse_size_option("segment", std::string(name.substr(at + option.size()))).count;
  }
  for (std::size_t number = 1; number < infos.size(); ++number) {
    if (as_option(infos[number].theirs) != name.substr(0, at)) continue;
    const bool has_segments = number == static_cast<std::size_t>(OmpiAlgorithm::segmented_ring);
    if (at != name.npos && !has_segments) return {};
    return OmpiRule{static_cast<int>(number), has_segments ? segment : 0};
  }
  return {};
}

const OmpiInfo& info_of(OmpiAlgorithm algorithm) {
  return infos[static_cast<std::size_t>(algorithm)];
}

}  // namespace

std::string_view to_string(OmpiAlgorithm algorithm) { return info_of(algorithm).theirs; }

std::optional<OmpiRule> ompi_rule_of(std::string_view algorithm) {
  constexpr std::string_view library = "mpi";
  if (algorithm == library) return OmpiRule{};
  if (algorithm.starts_with(library) && algorithm[library.size()] == ':') {
    return library_rule(algorithm.substr(library.size() + 1));
  }
  const std::optional<OmpiAlgorithm> number = ompi_algorithm_of(algorithm);
  if (!number) return {};
  // Its fixed rules name no segment, so a file that repeats them does not either.
  const bool has_segments =
      *number == OmpiAlgorithm::segmented_ring && algorithm != "segmented-ring";
  return OmpiRule{static_cast<int>(*number), has_segments ? usual_segment : 0};
}

std::optional<OmpiAlgorithm> ompi_algorithm_of(std::string_view algorithm) {
  const AlgorithmSpec spec = parse_algorithm_spec(algorithm);
  if (spec.name == "ring" || spec.name == "tf-ring") {
    return spec.options.count("segments") > 0 ? OmpiAlgorithm::segmented_ring : OmpiAlgorithm::ring;
  }
  if (spec.name == "segmented-ring") return OmpiAlgorithm::segmented_ring;
  if (spec.name == "reduce-broadcast") return OmpiAlgorithm::linear;
  if (spec.name == "tree" || spec.name == "nonoverlapping") return OmpiAlgorithm::nonoverlapping;
  if (spec.name == "recursive-doubling") return OmpiAlgorithm::recursive_doubling;
  if (spec.name == "halving-doubling") return OmpiAlgorithm::rabenseifner;
  return {};
}

Answer ask_ompi(const Question& question) {
  const OmpiAlgorithm chosen = ompi_fixed_rule(question.workers, question.bytes);
  const std::int64_t elements = question.bytes.count / size_of(question.type);
  const OmpiAlgorithm played = ompi_played(chosen, question.workers, elements);
  std::string reason =
      fmt::format("the fixed rule for {} ranks and {} is algorithm {}, {}", question.workers,
                  to_string(question.bytes), static_cast<int>(chosen), to_string(chosen));
  if (played != chosen) {
    reason += fmt::format(", which plays {} for so few elements", to_string(played));
  }
  const auto& ours = info_of(played).ours;
  const auto end = std::find(ours.begin(), ours.end(), std::string_view());
  return take_first(question, {ours.begin(), end}, std::move(reason));
}

}  // namespace collbench
