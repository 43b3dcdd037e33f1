#include "core/suggest.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {

namespace {

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<int> d((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> int& { return d[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replace = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.size(), b.size());
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  int best_distance = 3;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(name, candidate);
    if (distance < best_distance && distance < static_cast<int>(name.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string best = nearest_name(name, candidates);
  return best.empty() ? "" : " Did you mean '" + best + "'?";
}

std::string unknown_name(std::string_view kind, std::string_view name,
                         const std::vector<std::string>& known) {
  return fmt::format("unknown {}{}'{}'.{} Known are {}", kind, kind.empty() ? "" : " ", name,
                     did_you_mean(name, known), fmt::join(known, ", "));
}

std::size_t index_of(std::string_view kind, std::string_view name,
                     const std::vector<std::string>& known) {
  const auto found = std::find(known.begin(), known.end(), name);
  require(found != known.end(), unknown_name(kind, name, known));
  return static_cast<std::size_t>(found - known.begin());
}

std::size_t index_of(std::string_view kind, std::string_view name,
                     std::span<const std::string_view> known) {
  return index_of(kind, name, std::vector<std::string>(known.begin(), known.end()));
}

std::size_t require_known(const std::string& label, std::string_view name,
                          const std::vector<std::string>& known, std::string_view kind) {
  const auto found = std::find(known.begin(), known.end(), name);
  require(found != known.end(), label + ": " + unknown_name(kind, name, known));
  return static_cast<std::size_t>(found - known.begin());
}

}  // namespace collbench
